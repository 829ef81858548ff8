/**
 * A process that commits until it is killed. For each commit that was answered
 * it prints a line with the ids of the created tasks.
 *
 * The first argument is the data folder, the second one a seed.
 *
 * @module
 */

import { SeededRandom } from "../../../../../tests/support/seeded_random.ts";
import { systemClock } from "../../../../shared/clock.ts";
import type { Logger } from "../../../../shared/logger.ts";
import type { Store, Transaction } from "../../store.ts";
import { TaskIds } from "../../task_id.ts";
import {
  change,
  changed,
  creation,
  sampleTask,
  withHistory,
} from "../../testing/sample_tasks.ts";
import { SqliteStore } from "../sqlite_store.ts";

const CALLERS = 8;
const encoder = new TextEncoder();

const logger: Logger = {
  debug: () => {},
  info: () => {},
  warn: say,
  error: say,
};

if (import.meta.main) await main(Deno.args);

async function main([dataFolder = "", seed = "0"]: readonly string[]): Promise<
  void
> {
  const store = new SqliteStore({ dataFolder, clock: systemClock, logger });
  await store.start();
  const ids = new TaskIds(
    systemClock,
    (length) => crypto.getRandomValues(new Uint8Array(length)),
  );
  const random = new SeededRandom(Number(seed));
  await Promise.all(
    Array.from({ length: CALLERS }, () => commitOn(store, { ids, random })),
  );
}

async function commitOn(
  store: Store,
  parts: { readonly ids: TaskIds; readonly random: SeededRandom },
): Promise<never> {
  const { ids, random } = parts;
  while (true) {
    const made = Array.from(
      { length: 1 + random.below(30) },
      () => ids.next(),
    );
    const results = await store.commit(
      made.map((id) => createTransaction(id, random.chance(0.1))),
    );
    if (results.some(({ kind }) => kind !== "ok")) say("a conflict");
    say(made.join(" "));
  }
}

/**
 * A transaction with a task and its history, an entry of the audit log and a
 * counted run.
 */
function createTransaction(id: string, isLarge: boolean): Transaction {
  const tenantId = "tnt_a";
  const first = withHistory(
    sampleTask({
      id,
      ...(isLarge ? { dataJson: JSON.stringify(id.repeat(500)) } : {}),
    }),
    [{ type: "created" }, { message: id }],
  );
  const second = withHistory(changed(first.task, { run: 1 }), [{}]);
  return {
    writes: [
      { ...creation(first.task), history: first.history },
      { kind: "audit", tenantId, entry: { atMs: 1, action: "made", text: id } },
      { kind: "usage", tenantId, period: "all", executions: 1 },
      { ...change(second.task), history: second.history },
    ],
  };
}

function say(line: string): void {
  Deno.stdout.writeSync(encoder.encode(`${line}\n`));
}
