import { assertEquals } from "@std/assert";
import type { HistoryRecord } from "../domain/history.ts";
import { repeatWith } from "../domain/testing/task_story.ts";
import type { Task } from "../domain/task.ts";
import type { Transaction } from "../store/store.ts";
import { observeCommits } from "./testing/intercepted_store.ts";
import { SimulationLedger } from "./testing/simulation_ledger.ts";
import { openTestEngine } from "./testing/test_engine.ts";

/** Records all transactions of an engine, to be replayed with a change. */
async function story(): Promise<readonly Transaction[]> {
  const transactions: Transaction[] = [];
  const world = await openTestEngine({
    wrap: (store) =>
      observeCommits(store, (given) => void transactions.push(...given)),
  });
  const mailer = await world.worker();
  await world.task(mailer);
  await world.complete((await world.lease(mailer))[0]);
  return transactions;
}

type TaskWrite = Extract<
  Transaction["writes"][number],
  { readonly kind: "task" }
>;

/** Replays transactions, with a change to the write of some task's version. */
function told(
  transactions: readonly Transaction[],
  version: number,
  change: (write: TaskWrite & { readonly next: Task }) => TaskWrite,
): readonly string[] {
  const ledger = new SimulationLedger([]);
  const changed = transactions.map(({ writes }): Transaction => ({
    writes: writes.map((write) =>
      write.kind === "task" && write.next?.version === version
        ? change({ ...write, next: write.next })
        : write
    ),
  }));
  const results = changed.map(() => ({ kind: "ok" }) as const);
  ledger.applied(changed, { results, isCalm: true, nowMs: 0 });
  return ledger.violations.map((text) => text.replace(/tsk_\w+/g, "it"));
}

Deno.test("SimulationLedger has nothing against a story that is true", async () => {
  assertEquals(told(await story(), 0, (write) => write), []);
});

Deno.test("SimulationLedger notices what cannot be", async () => {
  const transactions = await story();
  const next = (patch: (task: Task) => Partial<Task>) =>
  (
    write: TaskWrite & { readonly next: Task },
  ): TaskWrite => ({ ...write, next: { ...write.next, ...patch(write.next) } });
  const twice = (
    write: TaskWrite & { readonly next: Task },
  ): TaskWrite => ({
    ...write,
    history: [...write.history, ...write.history] as readonly HistoryRecord[],
  });
  assertEquals(told(transactions, 3, twice), [
    "it counts 4 records",
    "it run 0 completed twice",
  ]);
  assertEquals(told(transactions, 2, next(() => ({ version: 9 }))), [
    "it has version 9 after 1",
    "it has version 3 after 9",
  ]);
  assertEquals(
    told(transactions, 1, next((task) => ({ dateMs: task.dateMs + 1 }))),
    [
      "it was started before its date",
    ],
  );
  assertEquals(
    told(transactions, 2, next(() => ({ status: "waiting" }))).length > 0,
    true,
  );
  assertEquals(
    told(transactions, 1, next(() => ({ dependencies: ["tsk_other"] }))),
    [
      "it goes on before its dependency it",
      "it depends on it, which never was",
    ],
  );
  const late = next(({ dateMs }) => ({
    dateMs: dateMs - 1_001,
    slotMs: dateMs - 1_001,
    repeat: repeatWith({ catchUp: "none", onTimeMs: 1_000 }),
  }));
  assertEquals(told(transactions, 1, late), [
    "it was started too late for its slot",
  ]);
  const forgotten = next(({ dateMs }) => ({ again: { dateMs } }));
  assertEquals(told(transactions, 2, forgotten), [
    "it was to run once more and is complete",
  ]);
  const patient = next(({ dateMs }) => ({
    calls: { kind: "debounce", sinceMs: dateMs - 9_001 },
  }));
  assertEquals(told(transactions, 1, patient), [
    "it waits too long after the first request",
  ]);
});

Deno.test("SimulationLedger notices a run within the window of the one before", async () => {
  const transactions = await story();
  const ledger = new SimulationLedger([]);
  const starts = transactions.slice(0, -1);
  // The same story once more, of another task with the same key.
  for (const id of ["tsk_1", "tsk_2"]) {
    const throttled = starts.map(({ writes }): Transaction => ({
      writes: writes.map((write) =>
        write.kind !== "task" || write.next === undefined ? write : {
          ...write,
          id,
          next: {
            ...write.next,
            id,
            calls: { kind: "throttle", untilMs: write.next.dateMs + 7_000 },
          },
        }
      ),
    }));
    const results = throttled.map(() => ({ kind: "ok" }) as const);
    ledger.applied(throttled, { results, isCalm: true, nowMs: 0 });
  }
  assertEquals(ledger.violations, [
    "tsk_2 runs within the window of the run before",
  ]);
});
