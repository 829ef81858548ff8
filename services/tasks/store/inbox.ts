/**
 * The part of a store's interface for requests that others than the service put
 * into it: programs that make a task in the same transaction as rows of their
 * own. A store that only the service writes to has none.
 *
 * @module
 */

/** Requests that wait to become tasks, and those that were refused. */
export interface Inbox {
  /**
   * Looks for requests and calls `handle` with some of them, if there are any:
   * those of a tenant in the order of their numbers. Until `handle` settles, no
   * other instance is shown requests of the same tenants, so that their order is
   * kept. A request stays until a write of kind `request`, or `refuse()`, removes
   * it; only this decides who has taken it over.
   *
   * @param except the numbers of requests that are left out
   * @throws what `handle` throws
   * @throws {StoreFailedError} when the store fails
   */
  take(
    handle: (requests: readonly InboxRequest[]) => Promise<void>,
    except?: ReadonlySet<number>,
  ): Promise<InboxLook>;
  /**
   * Removes requests and keeps why; those that are no longer there are left out.
   *
   * @returns how many were removed
   * @throws {StoreFailedError} when the store fails
   */
  refuse(refusals: readonly Refusal[]): Promise<number>;
  /** A page of requests that were refused, the newest first. */
  refused(query: RefusedQuery): Promise<readonly RefusedRequest[]>;
  /**
   * Removes all that the inbox has of a tenant, and who may add to it.
   *
   * @returns how many rows were removed
   */
  erase(tenantId: string): Promise<number>;
}

/** The result of a look. */
export interface InboxLook {
  /** Whether some role may put requests in, so that frequent looks are worthwhile. */
  readonly isOpen: boolean;
  /**
   * For how many milliseconds the oldest request waits that was found, by the
   * store's time; 0 without one.
   */
  readonly waitedMs: number;
  /** How many requests `handle` was called with. */
  readonly shown: number;
}

/** A request for a task, but for what may be large. */
export interface RequestHead {
  /** Its number, unique in the store, by which its sender knows it. */
  readonly number: number;
  /** The tenant. */
  readonly tenantId: string;
  /** The role of the database that has sent it. */
  readonly role: string;
  /** When it was sent, in milliseconds since the epoch. */
  readonly askedAtMs: number;
  /** The name or the id of a worker. */
  readonly worker: string;
  /** The task's key. */
  readonly key?: string | undefined;
}

/** A request for a task. */
export interface InboxRequest extends RequestHead {
  /** The task's data, as JSON text. */
  readonly dataJson?: string | undefined;
  /** The other fields of the task: an object, as JSON text. */
  readonly optionsJson: string;
}

/** Why no task became of a request. */
export interface Refusal {
  /** The request. */
  readonly number: number;
  /** The problem, as JSON text (RFC 9457). */
  readonly problem: string;
}

/** A query for refused requests. */
export interface RefusedQuery {
  /** The tenant. */
  readonly tenantId: string;
  /** The most requests of the page. */
  readonly limit: number;
  /** Only requests with lower numbers. */
  readonly before?: number | undefined;
}

/** A request that was refused. */
export interface RefusedRequest extends RequestHead, Refusal {
  /** When it was refused, in milliseconds since the epoch. */
  readonly refusedAtMs: number;
}
