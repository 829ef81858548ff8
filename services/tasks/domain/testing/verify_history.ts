/**
 * Checks histories that are in memory as a whole, with the code by which the
 * service checks them piece by piece.
 *
 * @module
 */

import {
  beginReading,
  type Digest,
  endReading,
  type HistoryRecord,
  readOn,
} from "../history.ts";
import type { ChainEnd } from "../task.ts";

/** The outcome of checking a chain. */
type ChainVerdict = ReturnType<typeof endReading>;

/**
 * Checks that records follow each other, beginning after the end of a chain.
 */
export function verifyChain(
  records: readonly HistoryRecord[],
  end: ChainEnd,
  digest: Digest,
): ChainVerdict {
  const read = readOn(beginReading(end), { records, digest });
  return read.kind === "broken" ? read : { kind: "ok", end: read.reading.end };
}

/**
 * Checks all records of a history, the oldest first: that they follow each
 * other up to the end, and that they begin with the first record, or after the
 * one that the last folding record names.
 */
export function verifyHistory(
  records: readonly HistoryRecord[],
  { end, digest }: { readonly end: ChainEnd; readonly digest: Digest },
): ChainVerdict {
  const [first] = records;
  const start = first && { count: first.seq - 1, hash: first.prev };
  const read = readOn(beginReading(start), { records, digest });
  return read.kind === "broken" ? read : endReading(read.reading, end);
}
