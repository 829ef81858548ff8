/**
 * The inbox of a store in memory: requests that users' transactions have
 * committed, and those that were refused.
 *
 * @module
 */

import type {
  Inbox,
  InboxLook,
  InboxRequest,
  Refusal,
  RefusedRequest,
} from "../inbox.ts";

/** The state that all handles of an inbox share. */
export interface InboxTables {
  /** Requests that wait, by number. */
  readonly requests: Map<number, InboxRequest>;
  /** Requests that were refused, in the order of that. */
  readonly refused: RefusedRequest[];
  /** The tenants whose requests an instance is shown. */
  readonly shown: Set<string>;
}

/** The most requests that are handled at once. */
const MAX_SHOWN = 50;

/** A handle of an inbox. */
export class MemoryInbox implements Inbox {
  readonly #tables: InboxTables;
  readonly #nowMs: () => number;

  /** Takes the shared tables and the store's time. */
  constructor(tables: InboxTables, nowMs: () => number) {
    this.#tables = tables;
    this.#nowMs = nowMs;
  }

  /** See {@linkcode Inbox.take}. Looks are as rare as if no role could enqueue. */
  take = async (
    handle: (requests: readonly InboxRequest[]) => Promise<void>,
    except: ReadonlySet<number> = new Set(),
  ): Promise<InboxLook> => {
    const { requests, shown } = this.#tables;
    const all = [...requests.values()].sort((a, b) => a.number - b.number);
    const nowMs = this.#nowMs();
    const oldestMs = Math.min(nowMs, ...all.map((one) => one.askedAtMs));
    const waitedMs = nowMs - oldestMs;
    const some = all.filter(({ number, tenantId }) =>
      !shown.has(tenantId) && !except.has(number)
    ).slice(0, MAX_SHOWN);
    const tenants = new Set(some.map(({ tenantId }) => tenantId));
    for (const tenantId of tenants) shown.add(tenantId);
    try {
      if (some.length > 0) await handle(some);
    } finally {
      for (const tenantId of tenants) shown.delete(tenantId);
    }
    return { isOpen: false, waitedMs, shown: some.length };
  };

  /** See {@linkcode Inbox.refuse}. */
  refuse = (refusals: readonly Refusal[]): Promise<number> => {
    const { requests, refused } = this.#tables;
    let count = 0;
    for (const { number, problem } of refusals) {
      const request = requests.get(number);
      if (request === undefined) continue;
      requests.delete(number);
      refused.push({ ...request, problem, refusedAtMs: this.#nowMs() });
      count++;
    }
    return Promise.resolve(count);
  };

  /** See {@linkcode Inbox.refused}. */
  refused: Inbox["refused"] = ({ tenantId, limit, before = Infinity }) =>
    Promise.resolve(
      this.#tables.refused.filter((one) =>
        one.tenantId === tenantId && one.number < before
      ).sort((a, b) => b.number - a.number).slice(0, limit),
    );

  /** See {@linkcode Inbox.erase}. */
  erase = (tenantId: string): Promise<number> => {
    const { requests, refused } = this.#tables;
    let erased = 0;
    for (const request of requests.values()) {
      if (request.tenantId !== tenantId) continue;
      requests.delete(request.number);
      erased++;
    }
    const kept = refused.filter((one) => one.tenantId !== tenantId);
    erased += refused.length - kept.length;
    refused.splice(0, refused.length, ...kept);
    return Promise.resolve(erased);
  };
}
