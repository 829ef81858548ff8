/**
 * Which tenants have blocked tasks.
 *
 * @module
 */

/**
 * Knows who may have blocked tasks, so that the end of a task of anybody else
 * needs no question to the store. Until the first count everybody may.
 */
export class BlockedCensus {
  #tenants: Set<string> | undefined;
  /** Tenants that were heard of since the count under way began. */
  #since: Set<string> | undefined;

  /** Whether a tenant may have blocked tasks. */
  mayHave(tenantId: string): boolean {
    return this.#tenants === undefined || this.#tenants.has(tenantId);
  }

  /** A task of a tenant is blocked. */
  add(tenantId: string): void {
    this.#tenants?.add(tenantId);
    this.#since?.add(tenantId);
  }

  /** A count of all blocked tasks begins. */
  begin(): void {
    this.#since = new Set();
  }

  /** It has ended, and found blocked tasks of these tenants. */
  end(found: Iterable<string>): void {
    this.#tenants = new Set([...found, ...this.#since ?? []]);
    this.#since = undefined;
  }
}
