/**
 * Conformance tests of claims at several stores on the same data at once.
 *
 * @module
 */

import { assert, assertEquals, assertRejects } from "@std/assert";
import type { Task } from "../../../domain/task.ts";
import type {
  ClaimScope,
  ClaimView,
  Store,
  Transaction,
  Write,
} from "../../store.ts";
import {
  change,
  changed,
  SAMPLE_MS,
  sampleAttempt,
  sampleIds,
  sampleTask,
} from "../sample_tasks.ts";
import { type ConformanceSubject, create } from "./store_case.ts";

const TENANT = "tnt_a";
const WORKERS = ["wrk_a", "wrk_b"] as const;
const GROUPS = ["a", "b"] as const;
/** The most starts, or running tasks, that the limits of these tests allow. */
const LIMIT = 7;

/** Stores under test that share their data. */
export interface SeveralStores extends ConformanceSubject {
  /** Opens another store on the same data; `close()` stops it, too. */
  another(): Promise<Store>;
}

/** A conformance test of several stores. */
export interface SeveralStoresCase {
  /** The title of the test. */
  readonly title: string;
  /** Checks the stores. */
  run(subject: SeveralStores): Promise<void>;
}

/** The tests of claims at several stores. */
export function severalStoresCases(): readonly SeveralStoresCase[] {
  return [
    {
      title: "start no task twice when they claim at once",
      run: async (subject) => {
        const stores = await openThree(subject);
        const tasks = await createTasks(stores[0], 120);
        const started = await claimAtOnce(stores, {
          limits: "none",
          room: () => Promise.resolve(6),
        });
        assertEquals(new Set(started).size, started.length);
        assert(started.length > 0);
        const all = await subject.store.running(TENANT, "wrk_a");
        const other = await subject.store.running(TENANT, "wrk_b");
        assertEquals(all.all + other.all, started.length);
        assert(started.length <= tasks.length);
      },
    },
    {
      title: "keep a rate of each worker when they claim at once",
      run: async (subject) => {
        const stores = await openThree(subject);
        await createTasks(stores[0], 120);
        const started = await claimAtOnce(stores, {
          limits: "worker",
          counts: (workerId) => ({ tenantId: TENANT, workerId, group: "" }),
        });
        assertEquals(started.length, 2 * LIMIT);
        for (const workerId of WORKERS) {
          const key = { tenantId: TENANT, workerId, group: "" };
          assertEquals(await countStarts(subject.store, key), LIMIT);
        }
      },
    },
    {
      title:
        "keep a rate of a group that workers share when they claim at once",
      run: async (subject) => {
        const stores = await openThree(subject);
        await createTasks(stores[0], 120);
        const key = { tenantId: TENANT, workerId: "", group: "a" };
        const started = await claimAtOnce(stores, {
          limits: "tenant",
          group: "a",
          counts: () => key,
        });
        assertEquals(started.length, LIMIT);
        assertEquals(await countStarts(subject.store, key), LIMIT);
      },
    },
    {
      title: "keep the concurrency of each worker when they claim at once",
      run: async (subject) => {
        const stores = await openThree(subject);
        await createTasks(stores[0], 120);
        const started = await claimAtOnce(stores, {
          limits: "worker",
          room: async (view, workerId) =>
            LIMIT - (await view.running(TENANT, workerId)).all,
        });
        assertEquals(started.length, 2 * LIMIT);
      },
    },
    {
      title: "keep the concurrency of a worker's group when they claim at once",
      run: async (subject) => {
        const stores = await openThree(subject);
        await createTasks(stores[0], 120);
        const started = await claimAtOnce(stores, {
          limits: "worker",
          group: "a",
          room: async (view, workerId) => {
            const { groups } = await view.running(TENANT, workerId);
            return LIMIT - (groups.get("a") ?? 0);
          },
        });
        assertEquals(started.length, 2 * LIMIT);
      },
    },
    {
      title:
        "keep the concurrency of a group that workers share when they claim at once",
      run: async (subject) => {
        const stores = await openThree(subject);
        await createTasks(stores[0], 120);
        const started = await claimAtOnce(stores, {
          limits: "tenant",
          group: "a",
          room: async (view) => {
            const running = await view.runningGroups(TENANT);
            return running.filter(({ group }) => group === "a")
              .reduce((left, { count }) => left - count, LIMIT);
          },
        });
        assertEquals(started.length, LIMIT);
      },
    },
    {
      title: "decide one after the other within the same limits",
      run: async (subject) => {
        const stores = await openThree(subject);
        await createTasks(stores[0], 12);
        for (const limits of ["worker", "tenant"] as const) {
          let deciding = 0;
          await claimAtOnce(stores, {
            limits,
            workers: limits === "worker" ? ["wrk_a"] : WORKERS,
            room: async (view) => {
              // From the first answer on it is alone, though not before.
              await view.running(TENANT, "wrk_a");
              assertEquals(++deciding, 1);
              // It may ask for several things at once.
              await Promise.all([
                view.runningGroups(TENANT),
                ...GROUPS.map((group) =>
                  countStarts(view, { tenantId: TENANT, workerId: "", group })
                ),
              ]);
              deciding--;
              return 1;
            },
          });
        }
      },
    },
    {
      title:
        "write nothing of a claim whose decision throws, and free its lock",
      run: async (subject) => {
        const [store, other] = await openThree(subject);
        const [task] = await createTasks(store, 1);
        assert(task !== undefined);
        const key = { tenantId: TENANT, workerId: task.workerId, group: "" };
        for (const limits of ["none", "worker", "tenant"] as const) {
          const scope: ClaimScope = {
            tenantId: TENANT,
            workerId: task.workerId,
            limits,
          };
          await assertRejects(
            () =>
              store.claim(scope, async (view) => {
                await countStarts(view, key);
                await view.candidates({ ...scope, limit: 1 });
                throw new RangeError("nobody waits any more");
              }),
            RangeError,
          );
          await other.claim(scope, async (view) => {
            const found = await view.candidates({ ...scope, limit: 9 });
            assertEquals(found.map(({ id }) => id), [task.id]);
            assertEquals(await countStarts(view, key), 0);
            return [];
          });
        }
      },
    },
    {
      title: "claim for a worker while the claim of another one decides",
      run: async (subject) => {
        const [store, other] = await openThree(subject);
        await createTasks(store, 4);
        for (const limits of ["worker", "tenant"] as const) {
          const scope = { tenantId: TENANT, workerId: "wrk_a", limits };
          await store.claim(scope, async (view) => {
            await view.running(TENANT, "wrk_a");
            // It would never end if it had to wait.
            const started = await claimOnce(other, "wrk_b", {
              limits: "worker",
              room: () => Promise.resolve(1),
            });
            assertEquals(started.length, 1);
            return [];
          });
        }
      },
    },
  ];
}

/** A rate whose starts are counted. */
type Rate = Pick<
  Extract<Write, { kind: "start" }>,
  "tenantId" | "workerId" | "group"
>;

/** The claims of a test. */
interface Claiming extends Pick<ClaimScope, "limits"> {
  /**
   * The workers.
   *
   * @default both
   */
  readonly workers?: readonly string[];
  /**
   * The only group to take tasks of.
   *
   * @default all
   */
  readonly group?: string;
  /**
   * How many tasks may start.
   *
   * @default any number
   */
  readonly room?: (view: ClaimView, workerId: string) => Promise<number>;
  /**
   * The starts of which there may be {@linkcode LIMIT}.
   *
   * @default starts are not counted
   */
  readonly counts?: (workerId: string) => Rate;
}

async function openThree(
  { store, another }: SeveralStores,
): Promise<readonly [Store, Store, Store]> {
  return [store, await another(), await another()];
}

/** Creates tasks of both workers and both groups. */
async function createTasks(
  store: Store,
  count: number,
): Promise<readonly Task[]> {
  const ids = sampleIds(31);
  const tasks = Array.from({ length: count }, (_, index) =>
    sampleTask({
      id: ids.next(),
      workerId: WORKERS[index % 2]!,
      group: GROUPS[(index >> 1) % 2]!,
    }));
  await create(store, ...tasks);
  return tasks;
}

/** Claims at all stores at once, and returns the ids of what was started. */
async function claimAtOnce(
  stores: readonly Store[],
  claiming: Claiming,
): Promise<readonly string[]> {
  const { workers = WORKERS } = claiming;
  const started = await Promise.all(
    Array.from({ length: 18 }, (_, index) =>
      claimOnce(
        stores[index % stores.length]!,
        workers[(index >> 2) % workers.length]!,
        claiming,
      )),
  );
  return started.flat();
}

/** Claims at most three tasks, and returns the ids of those that started. */
async function claimOnce(
  store: Store,
  workerId: string,
  { limits, group, room, counts }: Claiming,
): Promise<readonly string[]> {
  const of = { tenantId: TENANT, workerId };
  const rate = counts?.(workerId);
  let tasks: readonly Task[] = [];
  const results = await store.claim({ ...of, limits }, async (view) => {
    const limit = Math.min(
      3,
      await room?.(view, workerId) ?? Infinity,
      rate === undefined ? Infinity : LIMIT - await countStarts(view, rate),
    );
    if (limit <= 0) return [];
    tasks = await view.candidates({
      ...of,
      limit,
      ...(group === undefined
        ? {}
        : { room: (name: string) => name === group ? limit : 0 }),
    });
    return tasks.map((task): Transaction => ({
      writes: [
        change(
          changed(task, { status: "running", attempt: sampleAttempt(task) }),
        ),
        ...(rate === undefined ? [] : [{
          kind: "start" as const,
          ...rate,
          atMs: SAMPLE_MS,
          expiresAtMs: Date.UTC(2090, 0, 1),
        }]),
      ],
    }));
  });
  return tasks.filter((_, index) => results[index]?.kind === "ok")
    .map(({ id }) => id);
}

/** How many starts of a rate are counted. */
async function countStarts(
  view: Pick<ClaimView, "starts">,
  { group, ...of }: Rate,
): Promise<number> {
  const { starts } = await view.starts({ ...of, afterNumber: 0, limit: 999 });
  return starts.filter((one) => one.group === group)
    .reduce((sum, { count }) => sum + count, 0);
}
