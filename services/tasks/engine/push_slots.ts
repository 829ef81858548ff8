/**
 * How many push calls may be under way, and whose turn it is.
 *
 * @module
 */

/**
 * Bounds the calls of all tenants together. While there is room for all,
 * everybody takes what they want; when it becomes scarce, nobody takes more than
 * an equal share.
 */
export class PushSlots {
  readonly #max: number;
  readonly #taken = new Map<string, number>();
  #all = 0;
  #isScarce = false;

  /** Room for `max` calls at once. */
  constructor(max: number) {
    this.#max = max;
  }

  /** Calls under way. */
  get taken(): number {
    return this.#all;
  }

  /** How many more calls a tenant may begin. */
  free(tenantId: string): number {
    const mine = this.#taken.get(tenantId) ?? 0;
    const tenants = this.#taken.size + (mine === 0 ? 1 : 0);
    const share = Math.max(1, Math.floor(this.#max / tenants));
    const free = Math.max(0, Math.min(this.#max - this.#all, share - mine));
    if (free === 0) this.#isScarce = true;
    return free;
  }

  /** Whether somebody was told that there is no room, since this was last asked. */
  takeScarcity(): boolean {
    const wasScarce = this.#isScarce;
    this.#isScarce = false;
    return wasScarce;
  }

  /** A call begins. */
  take(tenantId: string): void {
    this.#all++;
    this.#taken.set(tenantId, (this.#taken.get(tenantId) ?? 0) + 1);
  }

  /** A call has ended. */
  giveBack(tenantId: string): void {
    this.#all--;
    const left = (this.#taken.get(tenantId) ?? 1) - 1;
    if (left === 0) this.#taken.delete(tenantId);
    else this.#taken.set(tenantId, left);
  }
}
