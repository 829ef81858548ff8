/**
 * Checks the chain of each history on its way into a store.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";
import {
  beginReading,
  type Digest,
  endReading,
  type HistoryReading,
  readOn,
} from "../domain/history.ts";
import type { Task } from "../domain/task.ts";
import type { TransferRow } from "./transfer_rows.ts";

/**
 * Passes rows on and follows the hashes of each history to the end that its task
 * states.
 *
 * @throws {Error} when a history is not whole
 */
export async function* checkHistories(
  rows: AsyncIterable<TransferRow>,
  digest: Digest,
): AsyncGenerator<TransferRow> {
  let task: Task | undefined;
  let reading: HistoryReading = beginReading();
  for await (const row of rows) {
    if (row.kind === "history") {
      let prev = reading.end.hash;
      const records = row.records.map(({ seq, text, hash }) => {
        const record = { seq, text, prev, hash };
        prev = hash;
        return record;
      });
      const read = readOn(reading, { records, digest });
      if (read.kind === "broken") throw broken(row.taskId, read);
      reading = read.reading;
    } else {
      demandEnd(task, reading);
      task = row.kind === "task" ? row.task : undefined;
      reading = beginReading(task?.historyFolded);
    }
    yield row;
  }
  demandEnd(task, reading);
}

function demandEnd(task: Task | undefined, reading: HistoryReading): void {
  if (task === undefined) return;
  const { historyCount: count, historyHash: hash } = task;
  const verdict = endReading(reading, { count, hash });
  if (verdict.kind === "broken") throw broken(task.id, verdict);
}

function broken(
  taskId: string,
  { seq, reason }: { readonly seq: number; readonly reason: string },
): Error {
  return new Error(
    `Cannot trust history of task ${quote(taskId)} at record ${seq}: ${reason}`,
  );
}
