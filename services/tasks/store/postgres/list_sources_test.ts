import { assertEquals, assertMatch } from "@std/assert";
import { serviceTest } from "../../../../tests/support/services.ts";
import { systemClock } from "../../../shared/clock.ts";
import { SqlBuilder } from "../../../shared/postgres/sql_builder.ts";
import {
  creation,
  HOURLY,
  SAMPLE_MS,
  sampleIds,
  sampleTask,
  toTransactions,
} from "../testing/sample_tasks.ts";
import { MAX_RARE } from "../list_query.ts";
import type { TaskQuery } from "../queries.ts";
import { readList } from "../testing/conformance/store_case.ts";
import { isFiltered, type ListSubject, lookSql } from "./list_sources.ts";
import { withSchema } from "./schema_access.ts";
import {
  openSubject,
  SILENT,
  TEST_SERVER,
} from "./testing/postgres_subject.ts";

const AWAITS = {
  for: {
    kind: "approval",
    by: "admin",
    byAnother: false,
    sinceMs: SAMPLE_MS,
    onTimeout: "resume",
  },
} as const;

serviceTest(["postgres"], {
  name:
    "lookSql() reads only tasks that repeat, wait or have a tag, when the list is of them",
  async fn() {
    const { store, schema, close } = await openSubject();
    const ids = sampleIds();
    await store.commit(toTransactions(
      ...Array.from({ length: 4_000 }, (_, index) =>
        creation(sampleTask({
          id: ids.next(),
          createdAtMs: SAMPLE_MS + index,
          dateMs: SAMPLE_MS + index,
          ...(index % 500 === 499 ? { repeat: HOURLY } : {}),
          ...(index % 500 === 498 ? { wait: AWAITS } : {}),
          tags: index % 500 === 497 ? ["rare", "frequent"] : ["frequent"],
        }))),
    ));
    await withSchema({
      connection: TEST_SERVER.connection(),
      schema,
      clock: systemClock,
      logger: SILENT,
    }, async (pool) => {
      const [name] = await pool.query<{ tenant: number }>(
        "SELECT tenant FROM task_state LIMIT 1",
      );
      // Plans must not depend on what the database knows of the tables.
      for (
        const prepare of ["SELECT 1", "ANALYZE task_state, tasks, task_tags"]
      ) {
        await pool.query(prepare);
        for (const sort of ["date", "created_at"] as const) {
          for (const order of ["asc", "desc"] as const) {
            const query: ListSubject["query"] = {
              ...{ tenantId: "tnt_a", by: "date", sort, order, limit: 50 },
            };
            const subject: ListSubject = {
              query: { ...query, repeats: true },
              tenant: name?.tenant ?? 0,
              lanes: undefined,
              statuses: undefined,
              window: {
                fromMs: undefined,
                toMs: undefined,
                isAfterInside: true,
              },
              tag: undefined,
              after: { sortMs: SAMPLE_MS + 700, id: "tsk_" },
            };
            assertEquals(isFiltered(subject), false);
            const explain = async (subject: ListSubject): Promise<string> => {
              const builder = new SqlBuilder();
              const sql = lookSql(builder, subject, { rows: 51, pairs: 51 });
              return JSON.stringify(
                await pool.query(`EXPLAIN ${sql}`, builder.parameters),
              );
            };
            const plan = await explain(subject);
            const [index, others] = sort === "date"
              ? [/state_repeating/, /state_by_date|Seq Scan on task_state/]
              : [/tasks_repeating/, /tasks_by_creation|Seq Scan on tasks/];
            assertMatch(plan, index);
            assertEquals(others.test(plan), false, plan);
            for (const tag of ["rare", "frequent"]) {
              for (const job of [undefined, "none"]) {
                const plan = await explain({
                  ...subject,
                  query: { ...query, job, tags: ["rare", "frequent"] },
                  tag,
                });
                assertMatch(plan, /task_tags_of/);
                assertMatch(plan, /task_state_pkey/);
                const walks = /Seq Scan|Hash|state_by_date|tasks_by_creation/;
                assertEquals(walks.test(plan), false, plan);
              }
            }
            if (sort !== "date") continue;
            assertMatch(
              await explain({
                ...subject,
                query: { ...query, awaits: "approval" },
              }),
              /state_awaiting/,
            );
          }
        }
      }
    });
    await close();
  },
});

serviceTest(["postgres"], {
  name:
    "PostgresStore lists tasks by tags that more of them have than are sorted",
  async fn() {
    const { store, close } = await openSubject();
    const ids = sampleIds();
    const tasks = Array.from(
      { length: MAX_RARE + 300 },
      (_, index) =>
        sampleTask({
          id: ids.next(),
          createdAtMs: SAMPLE_MS + index % 997,
          dateMs: SAMPLE_MS + index * 7_919 % 1_009,
          group: index % 400 === 3 ? "few" : "",
          tags: index % 700 === 3 ? ["frequent", "rare"] : ["frequent"],
        }),
    );
    await store.commit(toTransactions(...tasks.map(creation)));
    for (const sort of ["date", "created_at"] as const) {
      for (const order of ["asc", "desc"] as const) {
        for (
          const filter of [
            { tags: ["frequent"] },
            { tags: ["frequent"], group: "few" },
            { tags: ["frequent", "rare"] },
          ] satisfies readonly Partial<TaskQuery>[]
        ) {
          const query = { tenantId: "tnt_a", by: "date", sort, order } as const;
          const found = await readList(store, {
            ...{ ...query, ...filter, limit: 1_000, count: true },
          });
          const wanted = tasks
            .filter(({ tags, group }) =>
              filter.tags.every((tag) => tags.includes(tag)) &&
              (filter.group ?? group) === group
            )
            .map(({ id, dateMs, createdAtMs }) => ({
              id,
              at: sort === "date" ? dateMs : createdAtMs,
            }))
            .toSorted((left, right) =>
              left.at - right.at || (left.id < right.id ? -1 : 1)
            ).map(({ id }) => id);
          const about = JSON.stringify({ ...query, ...filter });
          assertEquals(
            found.tasks.map(({ id }) => id),
            order === "asc" ? wanted : wanted.toReversed(),
            about,
          );
          assertEquals(found.count?.value, wanted.length, about);
        }
      }
    }
    await close();
  },
});
