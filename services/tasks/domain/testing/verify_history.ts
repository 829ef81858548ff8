/**
 * Checks histories that are held whole, as the service checks them piece by piece.
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

/** Checks that records follow each other from the end of a chain on. */
export function verifyChain(
  records: readonly HistoryRecord[],
  end: ChainEnd,
  digest: Digest,
): ChainVerdict {
  const read = readOn(beginReading(end), { records, digest });
  return read.kind === "broken" ? read : { kind: "ok", end: read.reading.end };
}

/**
 * Checks all the records of a history, the oldest first: that they follow each
 * other up to the end, and begin with the first, or behind what the last record
 * of a folding tells.
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
