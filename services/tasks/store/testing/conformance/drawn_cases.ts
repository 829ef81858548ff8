/**
 * Conformance tests that compare a store with the store in memory, after random
 * writes.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../../../tests/support/fake_clock.ts";
import { countRounds } from "../../../../../tests/support/rounds.ts";
import { SeededRandom } from "../../../../../tests/support/seeded_random.ts";
import { type Task, TASK_STATUSES } from "../../../domain/task.ts";
import type { Store, Transaction, Write } from "../../store.ts";
import { createMemoryStore } from "../memory_store.ts";
import {
  change,
  changed,
  creation,
  removal,
  SAMPLE_MS,
  sampleIds,
  sampleTask,
  withHistory,
} from "../sample_tasks.ts";
import { collectCases, readList, type StoreCase } from "./store_case.ts";

const TENANTS = ["tnt_a", "tnt_b"];
const WORKERS = ["wrk_a", "wrk_b"];
const SEED = 42;

/** The tests with random writes. */
export function drawnCases(): readonly StoreCase[] {
  return collectCases((check) => {
    check("does what a plain store does, whatever is drawn", async (store) => {
      const rounds = countRounds(30);
      const random = new SeededRandom(SEED);
      const model = createMemoryStore({ clock: new FakeClock(SAMPLE_MS) });
      const pool = new TaskPool(random);
      for (let round = 0; round < rounds; round++) {
        const commits = random.list(5, () => pool.drawTransactions());
        const expected = [];
        for (const transactions of commits) {
          const results = await model.commit(transactions);
          expected.push(results);
          transactions.forEach((transaction, index) => {
            if (results[index]?.kind === "ok") pool.note(transaction);
          });
        }
        const results = await Promise.all(
          commits.map((transactions) => store.commit(transactions)),
        );
        assertEquals(
          results,
          expected,
          `round ${round + 1} of ${rounds}, seed ${SEED}`,
        );
        if (round % 20 === 19) await compare(store, model);
      }
      await compare(store, model);
    });
  });
}

/** The tasks as the test knows them; some of its states are outdated. */
class TaskPool {
  readonly #random: SeededRandom;
  readonly #ids = sampleIds(42);
  readonly #tasks: Task[] = [];

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  drawTransactions(): readonly Transaction[] {
    return this.#random.list(12, () => {
      const tenantId = this.#random.pick(TENANTS);
      return {
        writes: this.#random.list(4, () => this.#drawWrite(tenantId)),
      };
    });
  }

  /** Remembers what was written, and often the older state with it. */
  note(transaction: Transaction): void {
    for (const write of transaction.writes) {
      if (write.kind !== "task" || write.next === undefined) continue;
      const index = this.#tasks.findIndex(({ id }) => id === write.id);
      if (index >= 0 && this.#random.chance(0.8)) this.#tasks.splice(index, 1);
      this.#tasks.push(write.next);
    }
  }

  #drawWrite(tenantId: string): Write {
    const random = this.#random;
    const tasks = this.#tasks.filter((task) => task.tenantId === tenantId);
    const draw = random.next();
    if (draw < 0.35 || tasks.length === 0) return this.#drawCreation(tenantId);
    if (draw < 0.75) return this.#drawChange(random.pick(tasks));
    if (draw < 0.8) return removal(random.pick(tasks));
    const id = `wrk_${random.below(4)}`;
    if (draw < 0.88) {
      return { kind: "require", recordKind: "worker", tenantId, id };
    }
    if (draw < 0.94) {
      const version = 1 + random.below(3);
      const alias = random.chance(0.5) ? `a${random.below(4)}` : undefined;
      const next = random.chance(0.8)
        ? {
          kind: "worker" as const,
          tenantId,
          id,
          version,
          alias,
          parentId: undefined,
          text: `{"v":${random.below(9)}}`,
        }
        : undefined;
      return {
        kind: "record",
        recordKind: "worker",
        tenantId,
        id,
        expectedVersion: version - 1,
        next,
      };
    }
    return random.chance(0.5)
      ? {
        kind: "usage",
        tenantId,
        period: "2026-06",
        executions: random.below(5),
      }
      : {
        kind: "idempotency",
        tenantId,
        key: `k${random.below(20)}`,
        entry: {
          bodyHash: "b",
          status: 200,
          headers: {},
          body: String(random.below(100)),
          expiresAtMs: Date.UTC(2090, 0, 1),
        },
      };
  }

  #drawCreation(tenantId: string): Write {
    const random = this.#random;
    const { task, history } = withHistory(
      sampleTask({
        id: this.#ids.next(),
        tenantId,
        ...this.#drawFields(),
      }),
      random.list(3, () => ({ message: String(random.below(100)) })),
    );
    return { ...creation(task), history };
  }

  #drawChange(from: Task): Write {
    const random = this.#random;
    const { task, history } = withHistory(
      changed(from, this.#drawFields()),
      random.list(3, () => ({ run: random.below(3) })),
    );
    return { ...change(task), history };
  }

  #drawFields(): Partial<Task> {
    const random = this.#random;
    const size = random.chance(0.1) ? 3_000 : 3;
    return {
      workerId: random.pick(WORKERS),
      status: random.pick(TASK_STATUSES),
      isDue: random.chance(0.6),
      group: random.pick(["", "g", "h"]),
      job: random.pick(["x", "y"]),
      dateMs: SAMPLE_MS + random.below(50) * 1_000,
      priority: random.below(3) - 1,
      ...(random.chance(0.3) ? { key: `k${random.below(15)}` } : {}),
      ...(random.chance(0.5)
        ? { dataJson: JSON.stringify(`${random.below(5)}`.repeat(size)) }
        : {}),
      ...(random.chance(0.2) && this.#tasks.length > 0
        ? { dependencies: [random.pick(this.#tasks).id] }
        : {}),
    };
  }
}

/** Sends the same queries to both stores and compares the answers. */
async function compare(store: Store, model: Store): Promise<void> {
  async function same<Answer>(
    ask: (of: Store) => Promise<Answer>,
  ): Promise<Answer> {
    const answer = await ask(model);
    assertEquals(await ask(store), answer);
    return answer;
  }
  const wholeList = {
    by: "date",
    sort: "date",
    order: "asc",
    limit: 37,
  } as const;
  for (const tenantId of TENANTS) {
    const { tasks } = await same((of) =>
      readList(of, { tenantId, ...wholeList })
    );
    for (const { id, workerId, key = "none" } of tasks) {
      const query = { tenantId, taskId: id, order: "asc", limit: 50 } as const;
      await same((of) => of.history(query));
      await same((of) => of.dependents({ tenantId, ids: [id], limit: 50 }));
      await same((of) => of.taskByKey({ tenantId, workerId, key }));
    }
    for (const workerId of WORKERS) {
      const claim = { tenantId, workerId, limit: 25 };
      await same((of) => of.candidates(claim));
      await same((of) => of.candidates({ ...claim, jobs: ["x"] }));
      await same((of) => of.running(tenantId, workerId));
      await same(async (of) =>
        (await of.runningGroups(tenantId))
          .map((one) => JSON.stringify(one)).sort()
      );
      await same((of) => of.counts({ tenantId, workerId }));
    }
    await same((of) => of.records({ kind: "worker", tenantId, limit: 50 }));
    await same((of) => of.usage(tenantId, "2026-06"));
    for (let key = 0; key < 20; key++) {
      await same((of) => of.idempotency(tenantId, `k${key}`, 0));
    }
  }
  await same((of) => of.waking(Number.MAX_SAFE_INTEGER, 1_000));
  await same((of) => of.nextWakeMs());
}
