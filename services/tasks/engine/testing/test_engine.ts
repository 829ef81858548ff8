/**
 * An engine with a store in memory, for tests.
 *
 * @module
 */

import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import type { UserMirror } from "../../access/identity_provider.ts";
import {
  type Actor,
  type PlanLimits,
  UNLIMITED_PLAN,
  type WorkerDefinition,
} from "../../domain/records.ts";
import type { Task, TaskDefinition } from "../../domain/task.ts";
import type { Store, Write } from "../../store/store.ts";
import { TaskIds } from "../../store/task_id.ts";
import { createMemoryStore } from "../../store/testing/memory_store.ts";
import {
  type ConflictingStoreOptions,
  createConflictingStore,
} from "../../store/testing/conflicting_store.ts";
import type { LeaseProof, TaskEvent } from "../../domain/task_event.ts";
import type { EventOutcome } from "../changes.ts";
import type { Grant } from "../waiter.ts";
import { Engine } from "../engine.ts";
import { leaseHolder, type LeaseOutcome, type Leases } from "../leases.ts";
import { type EngineParts, openParts } from "../parts.ts";
import { createTask } from "./create_tasks.ts";
import { sampleDefinition, sampleWorker } from "./samples.ts";
import { SteppingClock } from "../../../../tests/support/stepping_clock.ts";

/** The user who owns the tasks of tests. */
export const OWNER: Actor = { type: "user", id: "usr_test" };

/** The id of the tenant of tests. */
export const TENANT_ID = "ten_test";

/** Options of {@linkcode openTestEngine}. */
export interface TestEngineOptions {
  /**
   * The store of the engine.
   *
   * @default a new one in memory
   */
  readonly store?: Store;
  /**
   * The clock of the engine.
   *
   * @default a new one
   */
  readonly clock?: SteppingClock;
  /** Limits that differ from those of the unlimited plan. */
  readonly limits?: Partial<PlanLimits>;
  /**
   * The seed of the engine's random numbers.
   *
   * @default {1}
   */
  readonly seed?: number;
  /** The faults that the store adds to the engine's commits. */
  readonly trouble?: Omit<ConflictingStoreOptions, "random">;
  /**
   * Wraps the store that the engine gets.
   *
   * @default no wrapper
   */
  readonly wrap?: (store: Store) => Store;
  /**
   * The mirror of users.
   *
   * @default users are not mirrored
   */
  readonly mirror?: UserMirror;
}

/** An engine with its parts, and shortcuts for tests. */
export interface TestEngine {
  /** The engine. */
  readonly engine: Engine;
  /** Its parts. */
  readonly parts: EngineParts;
  /** The store without the added faults. */
  readonly store: Store;
  /** The time. */
  readonly clock: SteppingClock;
  /** The log of the engine. */
  readonly logger: RecordingLogger;
  /** Adds a worker. */
  worker(patch?: Partial<WorkerDefinition>): Promise<WorkerDefinition>;
  /** Changes a worker. */
  changeWorker(
    worker: WorkerDefinition,
    patch: Partial<WorkerDefinition>,
  ): Promise<WorkerDefinition>;
  /** Adds a task. */
  task(worker: WorkerDefinition, patch?: TaskPatch): Promise<Task>;
  /** Applies an event to a task. */
  apply(task: Pick<Task, "id">, event: TaskEvent): Promise<EventOutcome>;
  /** Leases waiting tasks; one at most unless told otherwise. */
  lease(
    worker: WorkerDefinition,
    wish?: Partial<Parameters<Leases["lease"]>[0]>,
  ): Promise<readonly Grant[]>;
  /** Reports an event of a lease. */
  say(
    grant: Grant | undefined,
    event: (lease: LeaseProof) => TaskEvent,
  ): Promise<LeaseOutcome>;
  /** Reports that an attempt succeeded. */
  complete(grant: Grant | undefined): Promise<LeaseOutcome>;
  /** Reports that an attempt failed. */
  fail(grant: Grant | undefined): Promise<LeaseOutcome>;
  /** Reads the current task. */
  read(task: Pick<Task, "id">): Promise<Task>;
  /** The types of the records in a task's history. */
  history(task: Pick<Task, "id">): Promise<readonly string[]>;
  /**
   * Lets the process die: its beats, commits and notices reach nobody any more,
   * and it hears none.
   */
  die(): void;
}

/** The fields in which a test's task differs from the sample. */
export type TaskPatch = Partial<TaskDefinition> & {
  readonly dateMs?: number;
  readonly isPaused?: boolean;
};

/** Opens an engine without starting it. */
export async function openTestEngine(
  options: TestEngineOptions = {},
): Promise<TestEngine> {
  const clock = options.clock ?? new SteppingClock();
  const random = new SeededRandom(options.seed ?? 1);
  const logger = new RecordingLogger();
  const ids = new TaskIds(
    clock,
    (length) =>
      Uint8Array.from({ length }, () => Math.floor(random.next() * 256)),
  );
  const store = options.store ?? createMemoryStore({ clock });
  await store.start();
  const troubled = options.trouble === undefined
    ? store
    : createConflictingStore(store, {
      random: () => random.next(),
      ...options.trouble,
    });
  const limits = { ...UNLIMITED_PLAN.limits, ...options.limits };
  const mortal = mortalStore(options.wrap?.(troubled) ?? troubled);
  const parts = openParts({
    store: mortal.store,
    limitsOfPlan: () => limits,
    clock: store.clock,
    random: () => random.next(),
    newId: ids.newId,
    logger,
  });
  const engine = new Engine(parts, options.mirror);
  const worked: TestEngine = {
    engine,
    die: mortal.die,
    parts,
    store,
    clock,
    logger,
    async worker(patch = {}) {
      const worker = sampleWorker(parts, { tenantId: TENANT_ID, ...patch });
      await commitRecord(parts.repositories.workers.insert(worker));
      return worker;
    },
    async changeWorker(worker, patch) {
      const previous = await parts.workers.get(TENANT_ID, worker.id) ?? worker;
      const next = { ...previous, ...patch, version: previous.version + 1 };
      await commitRecord(parts.repositories.workers.update(previous, next));
      return next;
    },
    async apply({ id }, event) {
      const tenantId = TENANT_ID;
      return await engine.changes.apply({ tenantId, id, event, actor: OWNER });
    },
    async lease({ id }, wish = {}) {
      const tries = options.trouble?.conflictShare === undefined ? 1 : 50;
      let grants: readonly Grant[] = [];
      // A start that conflicts leaves the task for the next claim.
      for (let count = 0; count < tries && grants.length === 0; count++) {
        grants = await engine.leases.lease({
          tenantId: TENANT_ID,
          workerId: id,
          max: 1,
          waitMs: 0,
          ...wish,
        });
      }
      return grants;
    },
    async say(grant, event) {
      return await engine.leases.report({
        holder: leaseHolder({
          tenantId: TENANT_ID,
          leaseId: grant?.task.attempt?.id ?? "",
          token: grant?.token ?? "",
        }),
        event,
      });
    },
    async complete(grant) {
      return await worked.say(grant, (lease) => ({ kind: "complete", lease }));
    },
    async fail(grant) {
      return await worked.say(grant, (lease) => ({
        kind: "fail",
        lease,
        failure: { code: "broken" },
        message: "it broke",
      }));
    },
    async task(worker, { dateMs, isPaused = false, ...patch } = {}) {
      return await createTask(engine, {
        tenantId: TENANT_ID,
        worker,
        definition: sampleDefinition({ workerId: worker.id, ...patch }),
        dateMs,
        isPaused,
        actor: OWNER,
      });
    },
    async read({ id }) {
      const task = await store.task(TENANT_ID, id);
      if (task === undefined) throw new Error(`no task ${id}`);
      return task;
    },
    async history({ id }) {
      const page = await store.history({
        tenantId: TENANT_ID,
        taskId: id,
        order: "asc",
        limit: 1_000,
      });
      return page.records.map(({ text }) => JSON.parse(text).type);
    },
  };
  return worked;

  /**
   * Commits through the record cache, and tries again while the store has
   * faults.
   */
  async function commitRecord(write: Write): Promise<void> {
    for (let tries = 0; tries < 100; tries++) {
      const [result] = await parts.store.commit([{ writes: [write] }]);
      if (result?.kind === "ok") return;
    }
    throw new Error("Cannot write worker: the store has too many troubles");
  }
}

/** Wraps a store so that its user can die. */
function mortalStore(
  inner: Store,
): { readonly store: Store; readonly die: () => void } {
  let isDead = false;
  const unlessDead = <Args extends unknown[], Answer>(
    method: (...of: Args) => Promise<Answer>,
  ) =>
  (...of: Args): Promise<Answer> =>
    isDead ? new Promise<never>(() => {}) : method(...of);
  return {
    store: {
      ...inner,
      beat: unlessDead(inner.beat),
      commit: unlessDead(inner.commit),
      claim: unlessDead(inner.claim),
      tell: (notices) => isDead ? undefined : inner.tell(notices),
      onNotice: (listen) =>
        inner.onNotice((notice) => isDead ? undefined : listen(notice)),
    },
    die: () => void (isDead = true),
  };
}
