/**
 * Long histories: their oldest records are folded into one that tells how many
 * they were, and with which hash they ended. That record is one of the chain,
 * so nobody can drop others without it.
 *
 * @module
 */

import { SYSTEM_ACTOR } from "./actor.ts";
import type { ChainEnd } from "./chain_end.ts";
import {
  type ChainVerdict,
  type Digest,
  type HistoryDraft,
  type HistoryRecord,
  verifyChain,
} from "./history.ts";
import type { Task } from "./task.ts";

/** Most records that one change drops, so that it stays a short one. */
export const MAX_FOLDED_AT_ONCE = 1_000;

/** Most records by which a history becomes shorter than it may be. */
const MAX_STEP = 500;

/** The record that stands for those that are dropped. */
export interface FoldDraft extends HistoryDraft {
  /** What it is. */
  readonly type: "folded";
  /** The last record that is dropped. */
  readonly folded: ChainEnd;
}

/** Options of {@linkcode foldThrough}. */
export interface FoldOptions {
  /** How many records are about to be added. */
  readonly added: number;
  /** Most records that are to be kept; null is no bound. */
  readonly limit: number | null;
}

/**
 * Returns the number of the last record to drop, undefined while the history is
 * short enough. A quarter of the limit goes at once, at most
 * {@linkcode MAX_STEP}, as each time costs a record of its own. Where a plan has
 * become smaller, each change drops {@linkcode MAX_FOLDED_AT_ONCE} until it
 * fits. What is being added stays in any case.
 */
export function foldThrough(
  task: Pick<Task, "historyCount" | "historyFolded">,
  { added, limit }: FoldOptions,
): number | undefined {
  const { historyCount, historyFolded: { count: folded } = { count: 0 } } =
    task;
  if (limit === null || added === 0) return undefined;
  const total = historyCount + added;
  if (total - folded <= limit) return undefined;
  const step = Math.min(MAX_STEP, Math.ceil(limit / 4));
  const through = Math.min(
    total + 1 - (limit - step),
    historyCount,
    folded + MAX_FOLDED_AT_ONCE,
  );
  return through > folded ? through : undefined;
}

/** The record that is to be added when all up to `folded` is dropped. */
export function foldDraft(
  { status, run }: Pick<Task, "status" | "run">,
  { folded, nowMs }: { readonly folded: ChainEnd; readonly nowMs: number },
): FoldDraft {
  return {
    atMs: nowMs,
    type: "folded",
    status,
    run,
    actor: SYSTEM_ACTOR,
    folded,
  };
}

/** Options of {@linkcode verifyHistory}. */
export interface VerifyHistoryOptions {
  /** How the history ends, as its task has it. */
  readonly end: ChainEnd;
  /** The hash of the chain. */
  readonly digest: Digest;
}

/**
 * Checks all the records of a history, the oldest first: that they follow each
 * other up to the end, and begin with the first, or behind what the last record
 * of a folding tells.
 */
export function verifyHistory(
  records: readonly HistoryRecord[],
  { end, digest }: VerifyHistoryOptions,
): ChainVerdict {
  const [first] = records;
  const start = first === undefined
    ? NOTHING
    : { count: first.seq - 1, hash: first.prev };
  const read = readOn(beginReading(start), { records, digest });
  return read.kind === "broken" ? read : endReading(read.reading, end);
}

/** A history that is checked piece by piece, as a long one is not to be held. */
export interface HistoryReading {
  /** Behind which record it begins. */
  readonly start: ChainEnd;
  /** The last record so far. */
  readonly end: ChainEnd;
  /** Behind which record it begins by the last folding so far. */
  readonly told: ChainEnd;
}

/** How reading a piece of a history went. */
export type ReadPiece =
  | { readonly kind: "ok"; readonly reading: HistoryReading }
  | Extract<ChainVerdict, { readonly kind: "broken" }>;

/** What is before the first record of all. */
const NOTHING: ChainEnd = { count: 0, hash: "" };

/** Begins to check a history, behind the last record that was folded away. */
export function beginReading(start: ChainEnd = NOTHING): HistoryReading {
  return { start, end: start, told: NOTHING };
}

/** Checks the next records of a history. */
export function readOn(
  reading: HistoryReading,
  options: {
    readonly records: readonly HistoryRecord[];
    readonly digest: Digest;
  },
): ReadPiece {
  const { records, digest } = options;
  const verdict = verifyChain(records, reading.end, digest);
  if (verdict.kind === "broken") return verdict;
  const { end } = verdict;
  const told = foldedOf(records) ?? reading.told;
  return { kind: "ok", reading: { ...reading, end, told } };
}

/** Checks that a history has been read to its end, as its task has it. */
export function endReading(
  { start, end, told }: HistoryReading,
  expected: ChainEnd,
): ChainVerdict {
  if (end.count !== expected.count || end.hash !== expected.hash) {
    const seq = end.count;
    return { kind: "broken", seq, reason: "it is not the last one" };
  }
  if (told.count !== start.count || told.hash !== start.hash) {
    const seq = start.count + 1;
    return { kind: "broken", seq, reason: "others were before it" };
  }
  return { kind: "ok", end };
}

/** Where the last folding says that the history begins. */
function foldedOf(records: readonly HistoryRecord[]): ChainEnd | undefined {
  for (const { text } of records.toReversed()) {
    if (!text.includes('"type":"folded"')) continue;
    // The chain is whole, so this is what the engine wrote.
    const { type, folded } = JSON.parse(text) as HistoryDraft;
    if (type === "folded") return folded;
  }
  return undefined;
}
