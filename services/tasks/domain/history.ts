/**
 * The history of a task: records that never change, each holding the hash of
 * the one before. The oldest of a long one are folded into a record that tells how
 * many they were and with which hash they ended; it is part of the chain, so
 * records cannot be dropped without it.
 *
 * @module
 */

import { type Actor, SYSTEM_ACTOR } from "./records.ts";
import type { ChainEnd, Task, TaskError, TaskStatus } from "./task.ts";

/** What a record tells of. */
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

/** What a record tells of. */
export type HistoryType = typeof HISTORY_TYPES[number];

/** A record before it has its place in the chain. */
export interface HistoryDraft {
  /** When, in milliseconds since the epoch. */
  readonly atMs: number;
  /** What happened. */
  readonly type: HistoryType;
  /** The task's status after it. */
  readonly status: TaskStatus;
  /** The run it belongs to. */
  readonly run: number;
  /** The id of the attempt it belongs to. */
  readonly attempt?: string | undefined;
  /** Who caused it. */
  readonly actor: Actor;
  /** The worker's name for its process. */
  readonly instance?: string | undefined;
  /** The answer to a push call. */
  readonly http?:
    | { readonly status: number; readonly durationMs: number }
    | undefined;
  /** Why an attempt failed. */
  readonly error?: TaskError | undefined;
  /** The beginning of the result's JSON text, at most 1 KiB. */
  readonly resultPreview?: string | undefined;
  /** Progress as JSON text. */
  readonly progressJson?: string | undefined;
  /** What an update changed; values of `data` are JSON text. */
  readonly changes?: readonly FieldChange[] | undefined;
  /** Words for people: log lines, reasons, what was repaired. */
  readonly message?: string | undefined;
  /** A number that belongs to it: slots that were missed, milliseconds of lag. */
  readonly amount?: number | undefined;
  /** The next date, where the record gives one. */
  readonly nextDateMs?: number | undefined;
  /** Where the history begins from this record on: all before it was dropped. */
  readonly folded?: ChainEnd | undefined;
  /**
   * In the last record of a change: what binds the task as it is after it; see
   * {@linkcode bindingOf}.
   */
  readonly task?: string | undefined;
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

/** A record in its place. */
export interface HistoryRecord {
  /** 1 for the first. */
  readonly seq: number;
  /** {@linkcode HistoryDraft} as JSON text: exactly what the hash covers. */
  readonly text: string;
  /** The hash of the record before; empty for the first. */
  readonly prev: string;
  /** SHA-256 in base64url of `prev`, a line feed, `seq`, a line feed and `text`. */
  readonly hash: string;
}

/** What a record tells. */
export function draftOf({ text }: HistoryRecord): HistoryDraft {
  // Only the engine writes records, and it writes drafts.
  return JSON.parse(text) as HistoryDraft;
}

/** Gives the SHA-256 of a text in base64url. */
export type Digest = (text: string) => string;

/** Puts records at the end of a chain. */
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
type ChainVerdict =
  | { readonly kind: "ok"; readonly end: ChainEnd }
  | { readonly kind: "broken"; readonly seq: number; readonly reason: string };

/** Most records that one change drops, so that it stays a short one. */
const MAX_FOLDED_AT_ONCE = 1_000;

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
interface FoldOptions {
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
type ReadPiece =
  | { readonly kind: "ok"; readonly reading: HistoryReading }
  | Extract<ChainVerdict, { readonly kind: "broken" }>;

/** What is before the first record of all. */
const NOTHING: ChainEnd = { count: 0, hash: "" };

/** Begins to check a history, behind the last record that was folded away. */
export function beginReading(start: ChainEnd = NOTHING): HistoryReading {
  return { start, end: start, told: NOTHING };
}

/** Checks that the next records of a history follow those before. */
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
  for (const record of records.toReversed()) {
    if (!record.text.includes('"type":"folded"')) continue;
    // The chain is whole, so this is what the engine wrote.
    const { type, folded } = draftOf(record);
    if (type === "folded") return folded;
  }
  return undefined;
}

/** What of a task is bound to its history. All of it changes together with a record. */
type BoundTask = Pick<
  Task,
  | "tenantId"
  | "id"
  | "workerId"
  | "job"
  | "callback"
  | "status"
  | "dataJson"
  | "resultJson"
>;

/** Characters of the salt: 72 random bits in base64url. */
export const SALT_CHARS = 12;

/** Longer payloads count by their digest, which may be known already. */
const MAX_PLAIN_CHARS = 2_048;

/**
 * What binds a task to its history: a digest of what it holds, behind its salt.
 * It is in the last record of each change, so who changes the task elsewhere
 * has to change the record too, and with it the hash of the record. Without the
 * salt who sees the hashes of a history and not the data could find out whether
 * a guess at it is right.
 */
export function bindingOf(
  task: BoundTask,
  { salt, digest }: { readonly salt: string; readonly digest: Digest },
): string {
  const { tenantId, id, workerId, status, job, callback, resultJson } = task;
  const call = callback && JSON.stringify([callback.url, callback.on]);
  const data = payloadOf(task.dataJson, digest);
  const result = resultJson && payloadOf(resultJson, digest);
  // A job is a single line, and JSON text begins with no "sha256:".
  const text = `${salt}\n${tenantId}\n${id}\n${workerId}\n${status}\n` +
    `${job}\n${call ?? ""}\n${data}\n${result ?? ""}`;
  return salt + digest(text);
}

/** Whether a task is the one that a digest was made of. */
export function isBoundBy(
  task: BoundTask,
  { binding, digest }: { readonly binding: string; readonly digest: Digest },
): boolean {
  const salt = binding.slice(0, SALT_CHARS);
  return bindingOf(task, { salt, digest }) === binding;
}

function payloadOf(text: string, digest: Digest): string {
  return text.length <= MAX_PLAIN_CHARS ? text : `sha256:${digest(text)}`;
}
