/**
 * A store whose commits the memory in front of its records hears of.
 *
 * @module
 */

import type { Store } from "../store/store.ts";
import type { RecordCache } from "./record_repository.ts";

/** The same store, but that commits go through `cache`. */
export function cachedStore(
  store: Store,
  cache: Pick<RecordCache, "commit">,
): Store {
  return {
    commit: (transactions) => cache.commit(transactions),
    start: () => store.start(),
    stop: () => store.stop(),
    check: () => store.check(),
    task: (tenantId, id) => store.task(tenantId, id),
    tasks: (tenantId, ids) => store.tasks(tenantId, ids),
    taskByKey: (options) => store.taskByKey(options),
    listTasks: (query) => store.listTasks(query),
    history: (query) => store.history(query),
    dependents: (options) => store.dependents(options),
    candidates: (claims) => store.candidates(claims),
    workersWithDueTasks: (options) => store.workersWithDueTasks(options),
    waking: (nowMs, limit) => store.waking(nowMs, limit),
    nextWakeMs: () => store.nextWakeMs(),
    running: (tenantId, workerId) => store.running(tenantId, workerId),
    scan: (options) => store.scan(options),
    counts: (options) => store.counts(options),
    proveCounts: () => store.proveCounts(),
    record: (kind, tenantId, id) => store.record(kind, tenantId, id),
    recordByAlias: (kind, tenantId, alias) =>
      store.recordByAlias(kind, tenantId, alias),
    records: (query) => store.records(query),
    idempotency: (tenantId, key, nowMs) =>
      store.idempotency(tenantId, key, nowMs),
    usage: (tenantId, period) => store.usage(tenantId, period),
    audit: (options) => store.audit(options),
    sweep: (nowMs, limit) => store.sweep(nowMs, limit),
  };
}
