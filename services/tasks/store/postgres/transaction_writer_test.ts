import { assertEquals } from "@std/assert";
import type { Task } from "../../domain/task.ts";
import { creation, sampleIds, sampleTask } from "../testing/sample_tasks.ts";
import { KnownTasks } from "./known_tasks.ts";
import type { PreparedTransaction } from "./prepared_write.ts";
import { TransactionWriter } from "./transaction_writer.ts";

const ids = sampleIds();

/** Commits new tasks in one turn; returns how many each connection has written. */
async function commitAll(
  tasks: readonly Partial<Task>[],
): Promise<readonly number[]> {
  const written = [0, 0];
  const writer = new TransactionWriter({
    appliers: written.map((_, at) => ({
      apply(transactions: readonly PreparedTransaction[]) {
        written[at]! += transactions.length;
        return Promise.resolve([]);
      },
    })),
    known: new KnownTasks(),
    maxQueuedRows: 10_000,
    maxQueuedChars: 10_000_000,
    onApplied: () => {},
    onWritten: () => {},
    onGroup: undefined,
    onRefused: undefined,
  });
  await Promise.all(tasks.map((task) =>
    writer.commit([{
      writes: [creation(sampleTask({ id: ids.next(), ...task }))],
    }])
  ));
  return written.toSorted((one, other) => one - other);
}

Deno.test("TransactionWriter.commit() spreads many new tasks of a tenant over connections", async () => {
  const [least = 0, most = 0] = await commitAll(Array(60).fill({}));
  assertEquals([least + most, least > 10], [60, true]);
});

Deno.test("TransactionWriter.commit() keeps few new tasks together", async () => {
  assertEquals(await commitAll(Array(10).fill({})), [0, 10]);
});

Deno.test("TransactionWriter.commit() keeps new tasks with keys in their order", async () => {
  const tasks = Array.from({ length: 60 }, (_, at) => ({ key: `key ${at}` }));
  assertEquals(await commitAll(tasks), [0, 60]);
});
