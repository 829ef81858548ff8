/**
 * Writes random rows of all kinds to a store, over and over, as a service does.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import { type Task, TASK_STATUSES } from "../../domain/task.ts";
import type { Store, StoredRecord, Write } from "../../store/store.ts";
import {
  change,
  changed,
  creation,
  removal,
  SAMPLE_MS,
  sampleIds,
  sampleTask,
  withHistory,
} from "../../store/testing/sample_tasks.ts";

/** The tenants: the registry, one of the service itself, and three others. */
const TENANTS = ["", "tnt_0service", "tnt_a", "tnt_b", "tnt_ü😀"] as const;
/** When starts expire that do not while a test runs. */
const FAR_MS = 5e12;
const KINDS = ["worker", "secret", "data_key", "service", "operation"] as const;

/** Writes random rows, each time other ones. */
export class RowStories {
  readonly #random: SeededRandom;
  readonly #ids = sampleIds(7);
  readonly #tasks = new Map<string, Task>();
  readonly #records = new Map<string, StoredRecord>();
  #keys = 0;

  /** The same seed gives the same stories. */
  constructor(seed: number) {
    this.#random = new SeededRandom(seed);
  }

  /** Writes a number of times. */
  async write(store: Store, times: number): Promise<void> {
    for (let time = 0; time < times; time++) {
      const results = await store.commit([{ writes: [this.#draw()] }]);
      assertEquals(results, [{ kind: "ok" }]);
    }
  }

  #draw(): Write {
    const random = this.#random;
    const tenantId = random.pick(TENANTS);
    const draw = random.next();
    const tasks = [...this.#tasks.values()].filter((task) =>
      task.tenantId === tenantId
    );
    if (draw < 0.3 || (draw < 0.6 && tasks.length === 0)) {
      return this.#create(tenantId);
    }
    if (draw < 0.55) return this.#change(random.pick(tasks));
    if (draw < 0.6) {
      const task = random.pick(tasks);
      this.#tasks.delete(task.id);
      return removal(task);
    }
    if (draw < 0.75) return this.#record(tenantId);
    if (draw < 0.83) {
      return {
        kind: "idempotency",
        tenantId,
        key: `key-${random.below(20)}`,
        replaces: true,
        entry: {
          bodyHash: `hash ${random.below(99)}`,
          status: 201,
          headers: { location: "/ü", b: "2", a: "1" },
          body: this.#text(),
          expiresAtMs: SAMPLE_MS + random.below(100) - 20,
        },
      };
    }
    if (draw < 0.91) {
      const period = `2026-0${1 + random.below(3)}`;
      return { kind: "usage", tenantId, period, executions: random.below(9) };
    }
    if (draw < 0.95) {
      return {
        kind: "start",
        tenantId,
        workerId: random.pick(["", "wrk_0"]),
        group: random.pick(["", "g"]),
        atMs: SAMPLE_MS + random.below(5),
        expiresAtMs: random.chance(0.8) ? FAR_MS : SAMPLE_MS,
        count: 1 + random.below(3),
      };
    }
    const entry = {
      atMs: SAMPLE_MS + random.below(100),
      action: "worker.created",
      text: this.#text(),
    };
    return { kind: "audit", tenantId, entry };
  }

  #create(tenantId: string): Write {
    const random = this.#random;
    const id = this.#ids.next();
    const made = withHistory(
      sampleTask({
        id,
        tenantId,
        createdAtMs: SAMPLE_MS - random.below(50),
        workerId: `wrk_${random.below(3)}`,
        status: random.pick(["waiting", "scheduled", "complete", "blocked"]),
        key: random.chance(0.3) ? `k${++this.#keys}` : undefined,
        tags: random.chance(0.3) ? ["b", "a"] : [],
        metadata: random.chance(0.3) ? { z: "1", a: this.#text() } : {},
        dependencies: random.chance(0.2) ? [this.#ids.next()] : [],
        dataJson: this.#text(),
      }),
      random.list(4, () => ({ message: this.#text() })),
    );
    this.#tasks.set(id, made.task);
    return { ...creation(made.task), history: made.history };
  }

  #change(task: Task): Write {
    const random = this.#random;
    const folded = { count: task.historyCount, hash: task.historyHash };
    const folds = random.chance(0.3) && folded.count > 3;
    const draw = withHistory(
      changed(task, {
        status: random.pick(TASK_STATUSES),
        run: task.run + 1,
        resultJson: random.chance(0.4) ? this.#text() : undefined,
        error: random.chance(0.2)
          ? { code: "internal", message: "ü", atMs: SAMPLE_MS }
          : undefined,
        ...(folds ? { historyFolded: folded } : {}),
      }),
      // Now and then one that is longer than a line and than a write.
      [
        ...(folds ? [{ type: "folded" as const, folded }] : []),
        ...Array.from(
          { length: random.chance(0.02) ? 2_300 : random.below(5) },
          () => ({ message: random.chance(0.01) ? this.#text() : "" }),
        ),
      ],
    );
    const next = draw.task;
    this.#tasks.set(task.id, next);
    return {
      ...change(next),
      history: draw.history,
      ...(folds ? { foldThrough: folded.count } : {}),
    };
  }

  #record(tenantId: string): Write {
    const random = this.#random;
    const kind = random.pick(KINDS);
    const id = `rec_${random.below(6)}`;
    const key = `${tenantId} ${kind} ${id}`;
    const there = this.#records.get(key);
    const isGone = there !== undefined && random.chance(0.2);
    const next: StoredRecord | undefined = isGone ? undefined : {
      kind,
      tenantId,
      id,
      version: (there?.version ?? 0) + 1 + random.below(3),
      alias: random.chance(0.5) ? `alias of ${key}` : undefined,
      parentId: random.chance(0.5) ? "rec_0" : undefined,
      text: JSON.stringify({ text: this.#text() }),
    };
    if (next === undefined) this.#records.delete(key);
    else this.#records.set(key, next);
    return {
      kind: "record",
      recordKind: kind,
      tenantId,
      id,
      expectedVersion: there?.version ?? 0,
      next,
    };
  }

  /** A JSON text, now and then a long one. */
  #text(): string {
    const random = this.#random;
    return JSON.stringify({
      text: 'ä\u0000\u001e\u2028😀\\"'.repeat(random.chance(0.1) ? 600 : 1),
      number: random.below(1_000),
    });
  }
}
