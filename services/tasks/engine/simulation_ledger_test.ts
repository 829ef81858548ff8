import { assertEquals } from "@std/assert";
import type { HistoryRecord } from "../domain/history.ts";
import type { Task } from "../domain/task.ts";
import type { Transaction } from "../store/store.ts";
import { SimulationLedger } from "./testing/simulation_ledger.ts";
import { openTestEngine } from "./testing/test_engine.ts";

/** Records all transactions of an engine, to be replayed with a change. */
async function story(): Promise<readonly Transaction[]> {
  const transactions: Transaction[] = [];
  const world = await openTestEngine({
    wrap: (store) =>
      new Proxy(store, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name, target);
          if (typeof value !== "function") return value;
          if (name !== "commit") return value.bind(target);
          return (given: readonly Transaction[]) => {
            transactions.push(...given);
            return target.commit(given);
          };
        },
      }),
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
    ["it goes on before its dependency it"],
  );
});
