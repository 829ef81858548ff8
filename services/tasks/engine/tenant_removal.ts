/**
 * Removes tenants. The request marks the tenant, reserves its domain and
 * destroys its data keys, all in one commit; from then on the tenant is not
 * served, and no secret of it can be decrypted, not even from a backup. The
 * rest is erased in the background, page by page: its tasks are canceled, so
 * that running work is stopped, then tasks and records are removed. The mark
 * stays until all is erased, so a restart continues the work. The audit log
 * stays.
 *
 * @module
 */

import { type Actor, SYSTEM_ACTOR, type Tenant } from "../domain/records.ts";
import { LIVE_STATUSES, type Task, type TaskStatus } from "../domain/task.ts";
import type { TaskPosition } from "../store/queries.ts";
import type {
  RecordKind,
  StoredRecord,
  Transaction,
  Write,
} from "../store/store.ts";
import { Maintainer } from "./maintainer.ts";
import { auditWrite, serviceWrite } from "./record_writes.ts";
import type { Engine } from "./engine.ts";
import type { EngineParts } from "./parts.ts";
import { REGISTRY } from "./repositories.ts";
import { buildRemoval } from "./task_writes.ts";
import type { Vault } from "./vault.ts";
import { internalTenant } from "./workers.ts";

/** How long the domain is reserved, in milliseconds: 30 days. */
const RESERVED_MS = 30 * 86_400_000;

/** The prefix of the ids of the marks of tenants that are not erased yet. */
const ERASURE_PREFIX = "closing:";

/** Options of {@linkcode removalWrites}. */
interface RemovalOptions {
  /** The time. */
  readonly nowMs: number;
  /** Who removes the tenant. */
  readonly actor: Actor;
}

/**
 * The writes that take a tenant out of service; they belong into one
 * transaction.
 */
export async function removalWrites(
  { repositories }: Pick<EngineParts, "repositories">,
  tenant: Tenant,
  { nowMs, actor }: RemovalOptions,
): Promise<readonly Write[]> {
  const { id, domain } = tenant;
  const [dataKeys, reserved] = await Promise.all([
    repositories.dataKeys.all(id),
    repositories.reservedDomains.get(REGISTRY, domain),
  ]);
  const untilMs = nowMs + RESERVED_MS;
  return [
    repositories.tenants.update(tenant, {
      ...tenant,
      version: tenant.version + 1,
      status: "closing",
      updatedAtMs: nowMs,
    }),
    reserved === undefined
      ? repositories.reservedDomains.insert({ id: domain, version: 1, untilMs })
      : repositories.reservedDomains.update(reserved, {
        ...reserved,
        version: reserved.version + 1,
        untilMs,
      }),
    ...dataKeys.map((dataKey) => repositories.dataKeys.remove(dataKey)),
    eraseMark(id, true),
    auditWrite(id, {
      atMs: nowMs,
      action: "tenant.removed",
      actor,
      target: id,
      detail: { domain },
    }),
  ];
}

/**
 * The write that adds or removes the mark of a tenant that has to be erased.
 */
function eraseMark(tenantId: string, isSet: boolean): Write {
  const place = { tenantId: REGISTRY, id: ERASURE_PREFIX + tenantId };
  return isSet
    ? serviceWrite(place, tenantId)
    : serviceWrite(place, undefined, 1);
}

/**
 * How many tasks or records are written at once, so that other work gets its
 * turn.
 */
const PAGE = 200;
/** The time until a failed erasure is tried again, in milliseconds. */
const INTERVAL_MS = 60_000;

/** The kinds of records that a tenant has, those of its secrets first. */
const KINDS: readonly RecordKind[] = [
  "data_key",
  "secret",
  "retired_secrets",
  "credential",
  "key",
  "worker",
  "operation",
  "calendar",
  "calendar_file",
  "webhook",
  "alert",
  "user",
  "service",
];

interface TenantEraserOptions {
  /**
   * Cancels tasks, and removes users from the mirror, which may take longer than
   * the rest; `engine.parts` has the store.
   */
  readonly engine: Pick<Engine, "parts" | "changes" | "mirroring">;
  /**
   * Holds decrypted secrets, which it has to forget.
   *
   * @default there are no secrets to forget
   */
  readonly vault?: Pick<Vault, "forget"> | undefined;
}

/**
 * Erases removed tenants. One instance does it. Two would remove the same rows,
 * and the mark and the audit log's entry once, since both are of one commit.
 */
export class TenantEraser extends Maintainer {
  readonly #options: TenantEraserOptions;

  /** Creates the eraser without starting it. */
  constructor(options: TenantEraserOptions) {
    super({
      parts: options.engine.parts,
      intervalMs: INTERVAL_MS,
      failure: "Cannot erase removed tenants; retrying in a minute",
      duty: "erase",
    });
    this.#options = options;
  }

  /**
   * Erases all marked tenants.
   *
   * @returns how many tenants were erased
   * @throws {Error} when the store fails
   */
  override async runOnce(): Promise<number> {
    const { store } = this.#options.engine.parts;
    let erased = 0;
    while (!this.stopping.aborted) {
      // The prefix sorts before all ids that begin with it, so the marks come
      // first.
      const { records } = await store.records({
        kind: "service",
        tenantId: REGISTRY,
        limit: PAGE,
        afterId: ERASURE_PREFIX,
      });
      const marks = records.filter(({ id }) => id.startsWith(ERASURE_PREFIX));
      if (marks.length === 0) break;
      for (const { text: tenantId } of marks) {
        if (await this.#erase(tenantId)) erased++;
        if (this.stopping.aborted) break;
      }
    }
    return erased;
  }

  async #erase(tenantId: string): Promise<boolean> {
    const { store, clock, logger } = this.#options.engine.parts;
    // Requests that began before the removal may still have added something.
    while (await this.#sweep(tenantId) > 0 && !this.stopping.aborted);
    if (this.stopping.aborted) return false;
    this.#options.vault?.forget(tenantId);
    await store.commit([{
      writes: [
        eraseMark(tenantId, false),
        auditWrite(tenantId, {
          atMs: clock.nowMs(),
          action: "tenant.erased",
          actor: SYSTEM_ACTOR,
          target: tenantId,
        }),
        // Its events go with the next sweep.
        { kind: "listen", tenantId, untilMs: 0 },
      ],
    }]);
    logger.info("Erased a removed tenant", { tenant: tenantId });
    return true;
  }

  /**
   * Removes everything that it finds of a tenant; returns how many items that
   * were.
   */
  async #sweep(tenantId: string): Promise<number> {
    let done = 0;
    // The callbacks of canceled tasks are tasks of the service itself.
    for (const owner of [tenantId, internalTenant(tenantId)]) {
      done += await this.#eachTask(
        owner,
        LIVE_STATUSES,
        (tasks) => this.#cancel(tasks),
      );
      done += await this.#eachTask(
        owner,
        undefined,
        (tasks) => this.#remove(tasks),
      );
    }
    const { inbox } = this.#options.engine.parts.store;
    done += await inbox?.erase(tenantId) ?? 0;
    for (const kind of KINDS) done += await this.#removeRecords(tenantId, kind);
    return done;
  }

  /**
   * Calls `run` with all tasks of these statuses, page by page; returns the sum
   * of its results.
   */
  async #eachTask(
    tenantId: string,
    statuses: readonly TaskStatus[] | undefined,
    run: (tasks: readonly Task[]) => Promise<number>,
  ): Promise<number> {
    const { store } = this.#options.engine.parts;
    let done = 0;
    let after: TaskPosition | undefined;
    do {
      const page = await store.listTasks({
        tenantId,
        statuses,
        by: "created_at",
        sort: "created_at",
        order: "asc",
        limit: PAGE,
        after,
      });
      if (page.tasks.length > 0) done += await run(page.tasks);
      after = page.next;
    } while (after !== undefined && !this.stopping.aborted);
    return done;
  }

  /** Cancels tasks; returns how many changed. */
  async #cancel(tasks: readonly Task[]): Promise<number> {
    const outcomes = await this.#options.engine.changes.applyAll(
      tasks.map(({ tenantId, id }) => ({
        tenantId,
        id,
        event: { kind: "cancel", reason: "the tenant was removed" } as const,
        actor: SYSTEM_ACTOR,
      })),
    );
    return outcomes.filter(({ kind }) => kind === "changed").length;
  }

  /** Removes tasks with their history; returns how many. */
  async #remove(tasks: readonly Task[]): Promise<number> {
    const { parts: { store }, changes } = this.#options.engine;
    const results = await store.commit(
      tasks.map((task): Transaction => ({ writes: [buildRemoval(task)] })),
    );
    const removed = tasks.filter((_, index) => results[index]?.kind === "ok");
    for (const task of removed) changes.announce(task, undefined);
    return removed.length;
  }

  /** Removes all records of a kind; returns how many. */
  async #removeRecords(tenantId: string, kind: RecordKind): Promise<number> {
    const { store } = this.#options.engine.parts;
    let done = 0;
    while (!this.stopping.aborted) {
      const { records } = await store.records({ kind, tenantId, limit: PAGE });
      if (records.length === 0) break;
      const transactions = await Promise.all(records.map(async (record) => ({
        writes: [
          {
            kind: "record",
            recordKind: kind,
            tenantId,
            id: record.id,
            expectedVersion: record.version,
            next: undefined,
          },
          ...await this.#unmirroring(record),
        ],
      } satisfies Transaction)));
      const results = await store.commit(transactions);
      done += results.filter((result) => result.kind === "ok").length;
    }
    return done;
  }

  /** The writes by which a user is removed from the mirror. */
  async #unmirroring(
    { kind, tenantId, id: userId }: StoredRecord,
  ): Promise<readonly Write[]> {
    if (kind !== "user") return [];
    const { mirroring } = this.#options.engine;
    return (await mirroring.remove({ tenantId, userId })).writes;
  }
}
