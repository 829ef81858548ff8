/**
 * The history of a task: records that never change, each holding the hash of
 * the one before. The oldest of a long one are folded away; see
 * `history_fold.ts`.
 *
 * @module
 */

import type { Actor } from "./actor.ts";
import type { ChainEnd } from "./chain_end.ts";
import type { TaskError } from "./task.ts";
import type { TaskStatus } from "./task_status.ts";

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
  readonly attempt?: string;
  /** Who caused it. */
  readonly actor: Actor;
  /** The worker's name for its process. */
  readonly instance?: string;
  /** The answer to a push call. */
  readonly http?: { readonly status: number; readonly durationMs: number };
  /** Why an attempt failed. */
  readonly error?: TaskError;
  /** The beginning of the result's JSON text, at most 1 KiB. */
  readonly resultPreview?: string;
  /** Progress as JSON text. */
  readonly progressJson?: string;
  /** What an update changed; values of `data` are JSON text. */
  readonly changes?: readonly FieldChange[];
  /** Words for people: log lines, reasons, what was repaired. */
  readonly message?: string;
  /** A number that belongs to it: slots that were missed, milliseconds of lag. */
  readonly amount?: number;
  /** The next date, where the record gives one. */
  readonly nextDateMs?: number;
  /** Where the history begins from this record on: all before it was dropped. */
  readonly folded?: ChainEnd;
  /**
   * In the last record of a change: what binds the task as it is after it; see
   * `task_binding.ts`.
   */
  readonly task?: string;
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

/** What checking a chain comes to. */
export type ChainVerdict =
  | { readonly kind: "ok"; readonly end: ChainEnd }
  | { readonly kind: "broken"; readonly seq: number; readonly reason: string };

/** Checks that records follow each other from the end of a chain on. */
export function verifyChain(
  records: readonly HistoryRecord[],
  end: ChainEnd,
  digest: Digest,
): ChainVerdict {
  let { count, hash: prev } = end;
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
  return { kind: "ok", end: { count, hash: prev } };
}
