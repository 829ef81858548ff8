/**
 * Turns a batch of counters into commands of a Redis server, and the replies
 * into counts.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import {
  chargesRefused,
  type CounterBatch,
  type CounterResult,
  countSeen,
  getStoppingLimit,
  hitsWhenStopping,
} from "../counter_store.ts";
import { windowStartSeconds } from "../fixed_window.ts";
import { type PacedReading, pacedVerdict } from "../paced_verdict.ts";
import {
  digits,
  type KvstoreOperation,
  type KvstoreScripts,
  pacedReading,
  pacedSuffix,
} from "./kvstore_scripts.ts";
import type { RedisCommand } from "./redis/command_writer.ts";
import type { RedisLink } from "./redis/link.ts";
import {
  isRedisRefusal,
  type RedisOutcome,
  type RedisReply,
} from "./redis/reply.ts";

/** Commands for one batch. */
interface KvstoreCommands {
  /** What to send, in one write. */
  readonly commands: readonly RedisCommand[];
  /** For each operation, the index of the command whose reply is the count. */
  readonly countAt: readonly number[];
}

/** The count or reading in a reply, or why the reply has neither. */
type KvstoreCount =
  | { readonly kind: "count"; readonly count: number }
  | { readonly kind: "reading"; readonly reading: PacedReading }
  /** The server does not know the script by its hash (yet). */
  | { readonly kind: "no_script" }
  | { readonly kind: "refused"; readonly reason: string };

/**
 * Most bytes behind the key in a name: 16 digits, or the suffix of a paced
 * counter.
 */
const MAX_END_BYTES = 32;

/** How the lives of counters are spread. */
export interface KvstoreOperationOptions {
  /** A random number of whole seconds below this is added to the window. */
  readonly expirationJitterMaxSeconds: number;
  /** Returns a number from 0 up to, not including, 1. */
  readonly random: () => number;
}

/**
 * Takes from a batch what its commands need. A counter's name is the key
 * followed by the start of the window in decimal digits, or by what {@linkcode
 * pacedSuffix} returns; all names are in one new block of memory.
 */
export function kvstoreOperations(
  batch: CounterBatch,
  options: KvstoreOperationOptions,
): readonly KvstoreOperation[] {
  const { keys, operations, nowSeconds } = batch;
  const bytes = operations.reduce(
    (sum, { keyStart, keyEnd }) => sum + keyEnd - keyStart + MAX_END_BYTES,
    0,
  );
  const block = Buffer.allocUnsafe(bytes);
  let at = 0;
  return operations.map((operation) => {
    const { algorithm, keyStart, keyEnd, windowSeconds, hits } = operation;
    const from = at;
    block.set(keys.subarray(keyStart, keyEnd), at);
    at += keyEnd - keyStart;
    const end = algorithm === "fixed_window"
      ? String(windowStartSeconds(nowSeconds, windowSeconds))
      : pacedSuffix({ algorithm, windowSeconds });
    at += block.write(end, at, "latin1");
    const setsLife = hits > 0 || algorithm !== "fixed_window";
    return {
      name: block.subarray(from, at),
      algorithm,
      hits,
      limit: operation.limit,
      burst: operation.burst,
      windowSeconds,
      refuses: operation.refuses,
      lifeSeconds: setsLife
        ? computeLifeSeconds(windowSeconds, options)
        : windowSeconds,
    };
  });
}

/** Returns the whole seconds that a counter lives from a hit on. */
export function computeLifeSeconds(
  windowSeconds: number,
  { expirationJitterMaxSeconds, random }: KvstoreOperationOptions,
): number {
  return windowSeconds + Math.floor(random() * expirationJitterMaxSeconds);
}

/**
 * Returns the commands that count hits on a fixed window and set how long its
 * counter lives from then on.
 */
export function hitCommands(
  { name, hits, lifeSeconds }: KvstoreOperation,
): readonly RedisCommand[] {
  return [
    ["INCRBY", name, digits(hits)],
    ["EXPIRE", name, digits(lifeSeconds)],
  ];
}

/**
 * Writes operations as commands: `INCRBY` and `EXPIRE` for hits, `GET` for a
 * look (which must not make a counter), a script for hits given back and for
 * counters that have no fixed windows.
 */
function kvstoreCommands(
  operations: readonly KvstoreOperation[],
  scripts: KvstoreScripts,
): KvstoreCommands {
  const commands: RedisCommand[] = [];
  const countAt: number[] = [];
  operations.forEach((operation, i) => {
    const { name, hits } = operation;
    countAt.push(commands.length);
    if (isPaced(operation) || hits < 0) {
      const form = isTouchedLater(operations, i) ? "with_text" : "by_hash";
      commands.push(scripts.one(operation, form));
    } else if (hits === 0) {
      commands.push(["GET", name]);
    } else {
      commands.push(...hitCommands(operation));
    }
  });
  return { commands, countAt };
}

function isPaced({ algorithm }: KvstoreOperation): boolean {
  return algorithm !== "fixed_window";
}

/** Reads the reply to a command whose reply is a count or a reading. */
export function kvstoreCount(reply: RedisReply): KvstoreCount {
  if (isRedisRefusal(reply)) {
    const { refusal } = reply;
    if (refusal.startsWith("NOSCRIPT")) return { kind: "no_script" };
    // The server's counters end at 2^63 - 1: the count is as far over as can
    // be.
    if (refusal.includes("would overflow")) {
      return { kind: "count", count: Number.MAX_SAFE_INTEGER };
    }
    return { kind: "refused", reason: refusal };
  }
  const reading = pacedReading(reply);
  if (reading !== undefined) return { kind: "reading", reading };
  const count = Array.isArray(reply) ? NaN : Number(reply ?? 0);
  if (!Number.isFinite(count)) {
    return { kind: "refused", reason: "the counter's value is not a number" };
  }
  return { kind: "count", count: Math.min(count, Number.MAX_SAFE_INTEGER) };
}

/**
 * Returns the result of an operation from its reply; undefined when the reply
 * is not one to such an operation.
 */
function toResult(
  one: KvstoreCount | undefined,
  operation: KvstoreOperation,
): CounterResult | undefined {
  switch (one?.kind) {
    case "count":
      return isPaced(operation) ? undefined : one.count;
    case "reading":
      return pacedVerdict(one.reading, operation);
    default:
      return undefined;
  }
}

/**
 * True when the same counter is touched again later in the batch. The script of
 * such an operation must not be sent again after all others have run, so it is
 * sent with its text from the start.
 */
function isTouchedLater(
  operations: readonly KvstoreOperation[],
  index: number,
): boolean {
  const { name } = operations[index]!;
  return operations.some((other, i) => i > index && other.name.equals(name));
}

/** The servers that operations are sent to, and the deadline. */
interface KvstoreCall {
  /** Connections to the servers. */
  readonly link: RedisLink;
  /** When the caller gives up, by the clock. */
  readonly deadlineMs: number;
  /** Scripts for refunds and for counters that have no fixed windows. */
  readonly scripts: KvstoreScripts;
}

/** The outcome of operations on counters. */
export type KvstoreOutcome =
  /** The results, in the order of the operations. */
  | { readonly kind: "counted"; readonly results: readonly CounterResult[] }
  /** No server answered in time. */
  | Extract<RedisOutcome, { readonly kind: "unavailable" }>
  /** A server refused a command. */
  | {
    readonly kind: "refused";
    readonly reason: string;
    /**
     * True when other commands of the batch were executed.
     *
     * @default {false}
     */
    readonly mayHaveCounted?: boolean;
  };

type KvstoreFailure = Exclude<KvstoreOutcome, { readonly kind: "counted" }>;

/**
 * Applies operations in one round trip, or in two when a server does not know a
 * script.
 */
export async function count(
  operations: readonly KvstoreOperation[],
  call: KvstoreCall,
): Promise<KvstoreOutcome> {
  const { link, deadlineMs, scripts } = call;
  const { commands, countAt } = kvstoreCommands(operations, scripts);
  const outcome = await link.send(commands, deadlineMs);
  if (outcome.kind === "unavailable") return outcome;
  // All replies are checked, also those to `EXPIRE`: a counter whose expiry was
  // not set is kept forever.
  const counts = outcome.replies.map(kvstoreCount);
  const noted = (failure: KvstoreFailure): KvstoreFailure =>
    withHits(failure, countAt.map((at) => counts[at]), operations);
  for (const one of counts) if (one.kind === "refused") return noted(one);
  const results: CounterResult[] = [];
  const forgotten: number[] = [];
  for (const [i, at] of countAt.entries()) {
    const one = counts[at];
    if (one?.kind === "no_script") forgotten.push(i);
    const result = toResult(one, operations[i]!);
    if (result === undefined && one?.kind !== "no_script") {
      return noted(NO_RESULT);
    }
    results.push(result ?? 0);
  }
  if (forgotten.length === 0) return { kind: "counted", results };
  const again = forgotten.map((i) => operations[i]!);
  const later = await replied(
    again,
    again.map((operation) => scripts.one(operation, "with_text")),
    call,
  );
  if (later.kind !== "counted") return noted(later);
  for (const [at, i] of forgotten.entries()) results[i] = later.results[at]!;
  return { kind: "counted", results };
}

/**
 * Adds to a failure that some operations gave their counters hits all the same.
 */
function withHits(
  failure: KvstoreFailure,
  counts: readonly (KvstoreCount | undefined)[],
  operations: readonly KvstoreOperation[],
): KvstoreFailure {
  const mayHaveCounted = operations.some(({ hits }, i) =>
    hits !== 0 && (counts[i]?.kind === "count" || counts[i]?.kind === "reading")
  );
  return mayHaveCounted ? { ...failure, mayHaveCounted } : failure;
}

/**
 * Applies operations on counters of one server in one step. When an operation
 * would go over its limit, those that would not are only read.
 */
async function countOrStopAtOnce(
  operations: readonly KvstoreOperation[],
  { link, deadlineMs, scripts }: KvstoreCall,
): Promise<KvstoreOutcome> {
  for (const form of ["by_hash", "with_text"] as const) {
    const command = scripts.stopWhenOver(operations, form);
    const outcome = await link.send([command], deadlineMs);
    if (outcome.kind === "unavailable") return outcome;
    const reply = outcome.replies[0] ?? null;
    if (Array.isArray(reply)) return toResults(reply, operations);
    const one = kvstoreCount(reply);
    if (one.kind === "refused") return one;
    if (one.kind === "count") break;
  }
  return { kind: "refused", reason: "the script did not reply with counts" };
}

/**
 * Applies operations. When one would go over its limit, those that would not
 * are only read. This takes one step on one server, and two on several.
 */
export async function countOrStop(
  operations: readonly KvstoreOperation[],
  call: KvstoreCall & { readonly isOneServer: boolean },
): Promise<KvstoreOutcome> {
  if (call.isOneServer) return await countOrStopAtOnce(operations, call);
  const looks = operations.map((operation) => ({ ...operation, hits: 0 }));
  const before = await count(looks, call);
  if (before.kind !== "counted") return before;
  const hits = hitsWhenStopping(
    operations.map((operation) => ({
      counter: operation.name.toString("latin1"),
      hits: operation.hits,
      limit: getStoppingLimit(operation),
      chargesRefused: chargesRefused(operation),
    })),
    before.results.map((result, i) => countSeen(result, operations[i]!)),
  );
  return await count(
    operations.map((operation, i) => ({ ...operation, hits: hits[i]! })),
    call,
  );
}

/** Sends commands that have one result each. */
async function replied(
  operations: readonly KvstoreOperation[],
  commands: readonly RedisCommand[],
  { link, deadlineMs }: KvstoreCall,
): Promise<KvstoreOutcome> {
  const outcome = await link.send(commands, deadlineMs);
  return outcome.kind === "unavailable"
    ? outcome
    : toResults(outcome.replies, operations);
}

const NO_RESULT: KvstoreFailure = {
  kind: "refused",
  reason: "the script's reply is of another form",
};

function toResults(
  replies: readonly RedisReply[],
  operations: readonly KvstoreOperation[],
): KvstoreOutcome {
  const results: CounterResult[] = [];
  for (const [i, operation] of operations.entries()) {
    const one = kvstoreCount(replies[i] ?? null);
    const result = toResult(one, operation);
    if (result === undefined) {
      return withHits(toFailure(one), replies.map(kvstoreCount), operations);
    }
    results.push(result);
  }
  return { kind: "counted", results };
}

/** Why a reply has no result. */
function toFailure(one: KvstoreCount): KvstoreFailure {
  switch (one.kind) {
    case "refused":
      return one;
    case "no_script":
      return { kind: "refused", reason: "the server does not keep scripts" };
    default:
      return NO_RESULT;
  }
}
