/**
 * Conformance tests of lists by tags, while tasks and their tags change.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { countRounds } from "../../../../../tests/support/rounds.ts";
import { SeededRandom } from "../../../../../tests/support/seeded_random.ts";
import type { Task } from "../../../domain/task.ts";
import type { TaskQuery } from "../../queries.ts";
import {
  change,
  changed,
  creation,
  removal,
  SAMPLE_MS,
  sampleIds,
  sampleTask,
  type TaskWrite,
  toTransactions,
} from "../sample_tasks.ts";
import {
  collectCases,
  commitTransaction,
  create,
  listIds,
  readList,
  type StoreCase,
  update,
} from "./store_case.ts";

const TENANTS = ["tnt_a", "tnt_b"];
const WORKERS = ["wrk_a", "wrk_b"];
const STATUSES = ["waiting", "running", "retry", "complete"] as const;
/** The later ones are rarer. */
const TAGS = ["all", "some", 'qu"ote', "\\", "😀", "{[", "new\u2028line"];
const SEED = 7;

/** The tests of lists by tags. */
export function tagCases(): readonly StoreCase[] {
  return collectCases((check) => {
    check("lists tasks by the tags that they have now", async (store) => {
      const random = new SeededRandom(SEED);
      const ids = sampleIds();
      const live = new Map<string, Task>();
      const rounds = countRounds(12);
      let found = 0;
      for (let round = 0; round < rounds; round++) {
        // A group inserts several tasks, and changes one that it inserts.
        const writes = random.list(20, () => drawWrite(random, live, ids));
        const results = await store.commit(toTransactions(...writes));
        assert(results.every(({ kind }) => kind === "ok"));
        for (let asked = 0; asked < 6; asked++) {
          const query = drawQuery(random);
          const wanted = [...live.values()]
            .filter((task) => isWanted(task, query))
            .toSorted((left, right) => compareBy(query, left, right));
          const { tasks, count } = await readList(store, query);
          const about = `round ${round}, ${JSON.stringify(query)}`;
          assertEquals(listIds(tasks), listIds(wanted), about);
          assertEquals(
            count,
            { value: wanted.length, isExact: true },
            about,
          );
          found += wanted.length;
        }
      }
      assert(found > 0);
    });

    check("lists no task by a tag of a write that conflicts", async (store) => {
      const ids = sampleIds();
      const task = sampleTask({ id: ids.next(), tags: ["old"], key: "key" });
      await create(store, task);
      const next = { ...task, tags: ["new"] };
      const rival = sampleTask({ ...next, id: ids.next() });
      const outdated = change({ ...next, version: task.version + 2 });
      const another = creation(sampleTask({ id: ids.next(), tags: ["new"] }));
      const results = [
        await commitTransaction(store, creation(rival)),
        await commitTransaction(store, outdated),
        await commitTransaction(store, another, outdated),
      ];
      assertEquals(
        results.map((result) => result?.kind),
        ["conflict", "conflict", "conflict"],
      );
      const list = (tag: string) => readList(store, { ...LIST, tags: [tag] });
      assertEquals((await list("new")).tasks, []);
      assertEquals(listIds((await list("old")).tasks), [task.id]);
      const last = await update(store, task, { tags: [] });
      assertEquals((await list("old")).tasks, []);
      await update(store, last, { tags: ["old", "new"] });
      assertEquals(listIds((await list("new")).tasks), [task.id]);
    });
  });
}

const LIST = {
  tenantId: "tnt_a",
  by: "date",
  sort: "date",
  order: "asc",
  limit: 50,
} as const satisfies TaskQuery;

/** Draws a write that succeeds, and does it to the model. */
function drawWrite(
  random: SeededRandom,
  live: Map<string, Task>,
  ids: { next(): string },
): TaskWrite {
  const task = live.size === 0 ? undefined : random.pick([...live.values()]);
  if (task === undefined || random.chance(0.4)) {
    const id = ids.next();
    const made = sampleTask({
      id,
      tenantId: random.pick(TENANTS),
      createdAtMs: SAMPLE_MS + random.below(30),
      ...drawState(random),
      tags: drawTags(random),
    });
    live.set(id, made);
    return creation(made);
  }
  if (random.chance(0.2)) {
    live.delete(task.id);
    return removal(task);
  }
  const next = changed(task, {
    ...(random.chance(0.7) ? drawState(random) : {}),
    ...(random.chance(0.5) ? { tags: drawTags(random) } : {}),
  });
  live.set(task.id, next);
  return change(next);
}

function drawState(random: SeededRandom): Partial<Task> {
  return {
    workerId: random.pick(WORKERS),
    status: random.pick(STATUSES),
    dateMs: SAMPLE_MS + random.below(8),
    group: random.pick(["", "g"]),
  };
}

function drawTags(random: SeededRandom): readonly string[] {
  return TAGS.filter((_, index) => random.chance(0.8 / (index + 1)));
}

function drawQuery(random: SeededRandom): TaskQuery {
  const fromMs = SAMPLE_MS + random.below(10) - 2;
  return {
    tenantId: random.pick(TENANTS),
    by: random.pick(["date", "created_at"] as const),
    sort: random.pick(["date", "created_at"] as const),
    order: random.pick(["asc", "desc"] as const),
    limit: 1 + random.below(9),
    count: true,
    tags: random.chance(0.7)
      ? [random.pick([...TAGS, "none"])]
      : [random.pick(TAGS), random.pick(TAGS)],
    ...(random.chance(0.2) ? { workerIds: [random.pick(WORKERS)] } : {}),
    ...(random.chance(0.2) ? { statuses: [random.pick(STATUSES)] } : {}),
    ...(random.chance(0.2) ? { group: "g" } : {}),
    ...(random.chance(0.2) ? { fromMs } : {}),
    ...(random.chance(0.2) ? { toMs: fromMs + random.below(9) } : {}),
  };
}

function isWanted(task: Task, query: TaskQuery): boolean {
  const { fromMs = -Infinity, toMs = Infinity } = query;
  const ms = query.by === "date" ? task.dateMs : task.createdAtMs;
  return task.tenantId === query.tenantId && ms >= fromMs && ms <= toMs &&
    (query.tags ?? []).every((tag) => task.tags.includes(tag)) &&
    (query.workerIds ?? WORKERS).includes(task.workerId) &&
    (query.statuses ?? STATUSES).includes(task.status) &&
    (query.group ?? task.group) === task.group;
}

function compareBy(query: TaskQuery, left: Task, right: Task): number {
  const byTime = query.sort === "date"
    ? left.dateMs - right.dateMs
    : left.createdAtMs - right.createdAtMs;
  const rising = byTime !== 0 ? byTime : left.id < right.id ? -1 : 1;
  return query.order === "asc" ? rising : -rising;
}
