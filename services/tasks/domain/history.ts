/**
 * The history of a task: records that never change, each holding the hash of
 * the one before. When a history gets too long, its oldest records are folded
 * into one record that tells how many they were and with which hash they ended.
 * That record is part of the chain, so records cannot be dropped unnoticed.
 *
 * @module
 */

import { type Actor, SYSTEM_ACTOR } from "./records.ts";
import type { ChainEnd, Task, TaskError, TaskStatus } from "./task.ts";

/** The types of history records. */
export const HISTORY_TYPES = [
  "created",
  "updated",
  "moved",
  "due",
  "started",
  "progress",
  "log",
  "accepted",
  "succeeded",
  "failed",
  "timed_out",
  "lost",
  "released",
  "waiting",
  "received",
  "retrying",
  "repeated",
  "missed",
  "slipped",
  "completed",
  "exhausted",
  "canceled",
  "expired",
  "paused",
  "resumed",
  "unblocked",
  "requeued",
  "spawned",
  "repaired",
  "callback_sent",
  "callback_failed",
  "folded",
] as const;

/** The type of a history record, which says what happened. */
export type HistoryType = typeof HISTORY_TYPES[number];

/** The content of a history record, before it has its place in the chain. */
export interface HistoryDraft {
  /** When it happened, in milliseconds since the epoch. */
  readonly atMs: number;
  /** What happened. */
  readonly type: HistoryType;
  /** The task's status after the event. */
  readonly status: TaskStatus;
  /** The number of the run that the record belongs to. */
  readonly run: number;
  /** The id of the attempt that the record belongs to. */
  readonly attempt?: string | undefined;
  /** Who caused the event. */
  readonly actor: Actor;
  /** The name that the worker gave its process. */
  readonly instance?: string | undefined;
  /** The answer to a push call. */
  readonly http?:
    | { readonly status: number; readonly durationMs: number }
    | undefined;
  /** Why an attempt failed. */
  readonly error?: TaskError | undefined;
  /** The beginning of the JSON text of a result or an event, at most 1 KiB. */
  readonly resultPreview?: string | undefined;
  /** The progress that the worker reported, as JSON text. */
  readonly progressJson?: string | undefined;
  /** What an update changed; values of `data` are JSON text. */
  readonly changes?: readonly FieldChange[] | undefined;
  /** A text for people: log lines, a reason, or what was repaired. */
  readonly message?: string | undefined;
  /**
   * A number of the event: how many slots were missed, or milliseconds of lag.
   */
  readonly amount?: number | undefined;
  /** The task's next date, if the event sets one. */
  readonly nextDateMs?: number | undefined;
  /**
   * In a record of the type "folded": the last of the records that were
   * dropped. The history begins after it.
   */
  readonly folded?: ChainEnd | undefined;
}

/** One field that an update changed. */
export interface FieldChange {
  /** The field's name in the API. */
  readonly field: string;
  /** The value before. */
  readonly from: unknown;
  /** The value after. */
  readonly to: unknown;
}

/** A history record in its place in the chain. */
export interface HistoryRecord {
  /** The position of the record; 1 for the first. */
  readonly seq: number;
  /** {@linkcode HistoryDraft} as JSON text: exactly what the hash covers. */
  readonly text: string;
  /** The hash of the record before; empty in the first record. */
  readonly prev: string;
  /**
   * SHA-256 in base64url of `prev`, a line feed, `seq`, a line feed and `text`.
   */
  readonly hash: string;
}

/** Parses the content of a record. */
export function parseDraft({ text }: HistoryRecord): HistoryDraft {
  // Only the engine writes records, and it writes drafts.
  return JSON.parse(text) as HistoryDraft;
}

/** Computes the SHA-256 of a text in base64url. */
export type Digest = (text: string) => string;

/** Appends records to a chain: numbers and hashes them. */
export function chain(
  drafts: readonly HistoryDraft[],
  end: ChainEnd,
  digest: Digest,
): readonly HistoryRecord[] {
  let { count: seq, hash: prev } = end;
  return drafts.map((draft) => {
    const text = JSON.stringify(draft);
    seq++;
    const hash = digest(`${prev}\n${seq}\n${text}`);
    const record = { seq, text, prev, hash };
    prev = hash;
    return record;
  });
}

/** The outcome of checking a chain. */
export type ChainVerdict =
  | { readonly kind: "ok"; readonly end: ChainEnd }
  | { readonly kind: "broken"; readonly seq: number; readonly reason: string };

/**
 * The most records that one change drops, so that the transaction stays short.
 */
const MAX_FOLDED_AT_ONCE = 1_000;

/** The most records that are dropped beyond what the limit asks for. */
const MAX_STEP = 500;

/** The record that stands for the records that are dropped. */
export interface FoldDraft extends HistoryDraft {
  /** Always "folded". */
  readonly type: "folded";
  /** The last record that is dropped. */
  readonly folded: ChainEnd;
}

/** Options of {@linkcode foldThrough}. */
interface FoldOptions {
  /** How many records are about to be added. */
  readonly added: number;
  /** The most records that are to be kept; null means no limit. */
  readonly limit: number | null;
}

/**
 * Returns the number of the last record to drop, or undefined while the history
 * is short enough. A quarter of the limit is dropped at once, at most
 * {@linkcode MAX_STEP}, since each folding costs a record of its own. After a
 * change to a smaller plan, each change of the task drops
 * {@linkcode MAX_FOLDED_AT_ONCE} until the history fits. Records that are just
 * being added are never dropped.
 */
export function foldThrough(
  task: Pick<Task, "historyCount"> & Partial<Pick<Task, "historyFolded">>,
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

/**
 * Creates the record to be added when all records up to `folded` are dropped.
 */
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

/**
 * The state of a history check that reads piece by piece, since a long history
 * does not fit in memory.
 */
export interface HistoryReading {
  /** The last folded record: the history begins after it. */
  readonly start: ChainEnd;
  /** The last record checked so far. */
  readonly end: ChainEnd;
  /**
   * Where the history begins according to the last folding record read so far.
   */
  readonly told: ChainEnd;
}

/** The outcome of checking a piece of a history. */
type ReadPiece =
  | { readonly kind: "ok"; readonly reading: HistoryReading }
  | Extract<ChainVerdict, { readonly kind: "broken" }>;

/** The end of an empty chain. */
const NOTHING: ChainEnd = { count: 0, hash: "" };

/** Begins to check a history, after the last record that was folded away. */
export function beginReading(start: ChainEnd = NOTHING): HistoryReading {
  return { start, end: start, told: NOTHING };
}

/** Checks that the next records of a history follow the ones read before. */
export function readOn(
  reading: HistoryReading,
  options: {
    readonly records: readonly HistoryRecord[];
    readonly digest: Digest;
  },
): ReadPiece {
  const { records, digest } = options;
  let { count, hash: prev } = reading.end;
  for (const { seq, text, prev: claimed, hash } of records) {
    if (seq !== count + 1) {
      return { kind: "broken", seq, reason: `number ${count + 1} is missing` };
    }
    if (claimed !== prev) {
      return { kind: "broken", seq, reason: "it follows another record" };
    }
    if (digest(`${prev}\n${seq}\n${text}`) !== hash) {
      return { kind: "broken", seq, reason: "its content has another hash" };
    }
    count = seq;
    prev = hash;
  }
  const end = { count, hash: prev };
  const told = findFolding(records) ?? reading.told;
  return { kind: "ok", reading: { ...reading, end, told } };
}

/** Checks that the history has been read to the end that its task states. */
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

/** Where the history begins according to the last folding among the records. */
function findFolding(records: readonly HistoryRecord[]): ChainEnd | undefined {
  for (const record of records.toReversed()) {
    if (!record.text.includes('"type":"folded"')) continue;
    // The hashes were checked, so the engine wrote this text.
    const { type, folded } = parseDraft(record);
    if (type === "folded") return folded;
  }
  return undefined;
}
