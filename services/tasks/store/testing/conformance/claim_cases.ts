/**
 * Conformance tests of claims: ranks, groups and their room, jobs, and turns.
 *
 * @module
 */

import { assertEquals, assertRejects } from "@std/assert";
import { type Task, TASK_STATUSES } from "../../../domain/task.ts";
import { SeededRandom } from "../../../../../tests/support/seeded_random.ts";
import type { Store } from "../../store.ts";
import type { Claim, WorkerName } from "../../queries.ts";
import {
  change,
  changed,
  removal,
  SAMPLE_MS,
  sampleIds,
  sampleTask,
  toTransactions,
} from "../sample_tasks.ts";
import {
  collectCases,
  commitEach,
  create,
  listIds,
  type StoreCase,
  update,
} from "./store_case.ts";

const TENANT = "tnt_a";

/** The tests of candidates for claims. */
export function claimCases(): readonly StoreCase[] {
  return collectCases((check) => {
    check("proposes in the order of rank, then of id", async (store) => {
      const ids = sampleIds();
      const dated = (dateMs: number, priority = 0) =>
        sampleTask({ id: ids.next(), dateMs, priority });
      const late = dated(SAMPLE_MS + 1_000);
      const early = dated(SAMPLE_MS - 1_000);
      const tied = dated(SAMPLE_MS - 1_000);
      const urgent = dated(SAMPLE_MS + 60_000, 2);
      const patient = dated(SAMPLE_MS - 540_000, -9);
      await create(store, late, early, tied, urgent, patient);
      const wanted = [urgent, early, tied, patient, late];
      assertEquals(await candidates(store, {}), wanted);
      assertEquals(await candidates(store, { limit: 2 }), wanted.slice(0, 2));
      assertEquals(await candidates(store, { limit: 0 }), []);
      assertEquals(await candidates(store, { workerId: "wrk_b" }), []);
      const moved = await update(store, urgent, { priority: -9 });
      assertEquals(await candidates(store, {}), [...wanted.slice(1), moved]);
    });

    check(
      "proposes the first to expire when waiting made up for priority",
      async (store) => {
        const ids = sampleIds();
        const waited = [3, 0, 9, -9, 1].map((priority) =>
          sampleTask({
            id: ids.next(),
            dateMs: SAMPLE_MS + priority * 60_000,
            priority,
          })
        );
        await create(store, ...waited);
        const byDate = waited.toSorted((left, right) =>
          left.dateMs - right.dateMs
        );
        assertEquals(await candidates(store, {}), byDate);
        assertEquals(
          await candidates(store, { jobs: ["default"], limit: 3 }),
          byDate.slice(0, 3),
        );
      },
    );

    check("proposes only what may be taken", async (store) => {
      const ids = sampleIds();
      const tasks = TASK_STATUSES.flatMap((status) =>
        [true, false].map((isDue) =>
          sampleTask({ id: ids.next(), status, isDue })
        )
      );
      await create(store, ...tasks);
      const found = await candidates(store, { limit: 100 });
      assertEquals(
        found.map(({ status, isDue }) => [status, isDue]),
        [["waiting", true], ["retry", true], ["done", true]],
      );
      for (const task of found) await update(store, task, { isDue: false });
      assertEquals(await candidates(store, {}), []);
    });

    check("lets groups take turns after the one that had it", async (store) => {
      const tasks = await createGroups(store, { a: 3, b: 1, c: 2, d: 4 });
      const groups = async (claim: Partial<Claim>) =>
        (await candidates(store, claim)).map(({ group }) => group).join("");
      assertEquals(await groups({}), "abcdacdadd");
      assertEquals(await groups({ limit: 5 }), "abcda");
      assertEquals(await groups({ limit: 5, afterGroup: "a" }), "bcdac");
      assertEquals(await groups({ limit: 1, afterGroup: "c" }), "d");
      assertEquals(await groups({ limit: 3, afterGroup: "d" }), "abc");
      assertEquals(await groups({ limit: 2, afterGroup: "bb" }), "cd");
      assertEquals(await groups({ limit: 2, afterGroup: "zz" }), "ab");
      const inGroup = (await candidates(store, {}))
        .filter(({ group }) => group === "d");
      assertEquals(inGroup, tasks.filter(({ group }) => group === "d"));
    });

    check("counts tasks without a group as one in turn", async (store) => {
      await createGroups(store, { "": 2, g: 2 });
      const found = await candidates(store, {});
      assertEquals(found.map(({ group }) => group), ["", "g", "", "g"]);
      const next = await candidates(store, { afterGroup: "" });
      assertEquals(next.map(({ group }) => group), ["g", "", "g", ""]);
    });

    check(
      "leaves out full groups and keeps within their room",
      async (store) => {
        await createGroups(store, { "": 2, a: 5, b: 5, c: 5 });
        const groups = async (claim: Partial<Claim>) =>
          (await candidates(store, claim)).map(({ group }) => group || "-")
            .join("");
        assertEquals(
          await groups({ room: (group) => "acx".includes(group) ? 0 : 9 }),
          "-b-bbbb",
        );
        assertEquals(
          await groups({ room: (group) => group === "a" ? 0 : 2 }),
          "-bc-bc",
        );
        assertEquals(
          await groups({
            limit: 3,
            room: () => 0,
            afterGroup: "b",
          }),
          "--",
        );
        assertEquals(
          await groups({
            limit: 4,
            room: (group) => group === "b" ? 0 : 1,
            afterGroup: "a",
          }),
          "c-a-",
        );
      },
    );

    check("proposes only tasks of the jobs asked for", async (store) => {
      const ids = sampleIds();
      const jobs = ["mail", "pdf", "sms"];
      const tasks = Array.from({ length: 12 }, (_, index) =>
        sampleTask({
          id: ids.next(),
          job: jobs[index % 3] ?? "",
          group: index < 6 ? "" : `g${index % 2}`,
          dateMs: SAMPLE_MS - index,
        }));
      await create(store, ...tasks);
      const listJobs = async (claim: Partial<Claim>) =>
        (await candidates(store, claim)).map(({ job }) => job);
      assertEquals(
        new Set(await listJobs({ jobs: ["pdf"] })),
        new Set(["pdf"]),
      );
      assertEquals((await listJobs({ jobs: ["pdf"] })).length, 4);
      assertEquals((await listJobs({ jobs: ["pdf", "sms"] })).length, 8);
      assertEquals((await listJobs({ jobs: ["pdf", "pdf"] })).length, 4);
      assertEquals(await listJobs({ jobs: ["fax"] }), []);
      assertEquals(await listJobs({ jobs: [] }), []);
      const ungrouped = await candidates(store, {
        jobs: ["sms", "mail"],
        room: () => 0,
      });
      assertEquals(
        listIds(ungrouped),
        listIds([5, 3, 2, 0].map((index) => tasks[index])),
      );
    });

    check("gives every group its turn when claims are small", async (store) => {
      const names = Array.from({ length: 40 }, (_, index) => `g${index}`);
      await createGroups(
        store,
        Object.fromEntries(names.map((name) => [name, 5])),
      );
      const turns = new Map<string, number>();
      let afterGroup: string | undefined;
      for (let count = 0; count < 80; count++) {
        const found = await candidates(store, {
          limit: 1,
          ...(afterGroup === undefined ? {} : { afterGroup }),
        });
        for (const task of found) {
          afterGroup = task.group;
          turns.set(task.group, (turns.get(task.group) ?? 0) + 1);
          await commitEach(store, removal(task));
        }
      }
      assertEquals(new Set(turns.values()), new Set([2]));
      assertEquals(turns.size, 40);
    });

    check("proposes as the rules say, whatever the claim", async (store) => {
      const random = new SeededRandom(7);
      const ids = sampleIds();
      const groups = ["", "a", "b", "ä", "c d"];
      const jobs = ["x", "y", "z"];
      const tasks = Array.from({ length: 120 }, () =>
        sampleTask({
          id: ids.next(),
          group: random.pick(groups),
          job: random.pick(jobs),
          dateMs: SAMPLE_MS - random.below(20) * 1_000,
          priority: random.below(19) - 9,
          isDue: random.chance(0.9),
        }));
      await create(store, ...tasks);
      for (let round = 0; round < 60; round++) {
        const room = random.below(6);
        const full = new Set(groups.filter(() => random.chance(0.3)));
        const claim: Claim = {
          tenantId: TENANT,
          workerId: "wrk_a",
          limit: random.below(40),
          ...(random.chance(0.5)
            ? { jobs: jobs.filter(() => random.chance(0.6)) }
            : {}),
          ...(random.chance(0.5)
            ? { room: (group) => full.has(group) ? 0 : room }
            : {}),
          ...(random.chance(0.7) ? { afterGroup: random.pick(groups) } : {}),
        };
        const found = await store.candidates(claim);
        assertEquals(listIds(found), listIds(expected(tasks, claim)));
      }
    });

    check(
      "writes nothing of a claim whose decision throws, and claims again",
      async (store) => {
        const task = sampleTask({ id: sampleIds().next() });
        await create(store, task);
        const next = changed(task, { run: 1 });
        for (const limits of ["none", "worker", "tenant"] as const) {
          const scope = { tenantId: TENANT, workerId: "wrk_a", limits };
          await assertRejects(
            () =>
              store.claim(scope, async (view) => {
                await view.candidates({ ...scope, limit: 1 });
                throw new RangeError("nobody waits any more");
              }),
            RangeError,
          );
          assertEquals(await store.task(TENANT, task.id), task);
        }
        const scope = { tenantId: TENANT, workerId: "wrk_a" } as const;
        const results = await store.claim(
          { ...scope, limits: "tenant" },
          async (view) => {
            const found = await view.candidates({ ...scope, limit: 9 });
            assertEquals(found, [task!]);
            return toTransactions(change(next));
          },
        );
        assertEquals(results, [{ kind: "ok" }]);
        assertEquals(await store.task(TENANT, task.id), next);
      },
    );

    check("names the workers that have tasks to take", async (store) => {
      const ids = sampleIds();
      // Workers of different tenants may have the same id, as the service's own
      // do.
      const workers = Array.from({ length: 11 }, (_, index) => ({
        tenantId: `tnt_${index}`,
        workerId: index % 2 === 0 ? "wrk_shared" : `wrk_${index}`,
      }));
      const sibling = { tenantId: "tnt_0", workerId: "wrk_0" };
      const all = [...workers, sibling];
      const idle = { tenantId: TENANT, workerId: "wrk_idle" };
      await create(
        store,
        ...[...all, ...all].map((worker) =>
          sampleTask({ id: ids.next(), ...worker, group: ids.next() })
        ),
        sampleTask({ id: ids.next(), ...idle, isDue: false }),
      );
      const formatName = ({ tenantId, workerId }: WorkerName) =>
        `${tenantId} ${workerId}`;
      for (const limit of [1, 4, 100]) {
        const found: WorkerName[] = [];
        let after: WorkerName | undefined;
        do {
          const page = await store.workersWithDueTasks({
            limit,
            ...(after === undefined ? {} : { after }),
          });
          assertEquals(page.length <= limit, true);
          found.push(...page);
          after = page.at(-1);
        } while (after !== undefined && found.length < 40);
        assertEquals(found.map(formatName).sort(), all.map(formatName).sort());
      }
    });
  });
}

async function candidates(
  store: Store,
  claim: Partial<Claim>,
): Promise<readonly Task[]> {
  return await store.candidates(
    { tenantId: TENANT, workerId: "wrk_a", limit: 100, ...claim },
  );
}

async function createGroups(
  store: Store,
  sizes: Readonly<Record<string, number>>,
): Promise<readonly Task[]> {
  const ids = sampleIds();
  const tasks = Object.entries(sizes).flatMap(([group, size]) =>
    Array.from({ length: size }, () => sampleTask({ id: ids.next(), group }))
  );
  await create(store, ...tasks);
  return tasks;
}

/** The rules of claims again, in their simplest implementation. */
function expected(tasks: readonly Task[], claim: Claim): readonly Task[] {
  const { limit, jobs, room, afterGroup } = claim;
  const rank = (task: Task) => task.dateMs - task.priority * 60_000;
  const open = tasks
    .filter((task) => task.isDue && (jobs?.includes(task.job) ?? true))
    .sort((left, right) =>
      rank(left) - rank(right) || left.dateMs - right.dateMs ||
      (left.id < right.id ? -1 : 1)
    );
  const names = [...new Set(open.map(({ group }) => group))].sort();
  const order = afterGroup === undefined ? names : [
    ...names.filter((name) => name > afterGroup),
    ...names.filter((name) => name <= afterGroup),
  ];
  const turns = order.flatMap((name, place) =>
    open.filter(({ group }) => group === name)
      .slice(0, name === "" ? undefined : room?.(name))
      .map((task, round) => ({ task, round, place }))
  );
  return turns
    .sort((left, right) => left.round - right.round || left.place - right.place)
    .slice(0, limit)
    .map(({ task }) => task);
}
