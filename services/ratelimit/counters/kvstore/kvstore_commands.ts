/**
 * A batch of counters as commands of a Redis server, and its replies as counts.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { type CounterBatch, hitsWhenStopping } from "../counter_store.ts";
import { windowStartSeconds } from "../fixed_window.ts";
import type { RedisArgument, RedisCommand } from "./redis/client.ts";
import type { RedisLink } from "./redis/link.ts";
import { isRedisRefusal, type RedisReply } from "./redis/reply.ts";

import refundScript from "./refund.lua" with { type: "text" };
import stopScript from "./stop_when_over.lua" with { type: "text" };

/** An operation on one counter, which keeps nothing of the batch it is from. */
interface KvstoreOperation {
  /** The counter's name. */
  readonly name: Buffer;
  /** Hits to add; 0 reads, less than 0 gives back. */
  readonly hits: number;
  /** Requests allowed. */
  readonly limit: number;
  /** Seconds that the counter lives from now on, if there are hits to add. */
  readonly lifeSeconds: number;
}

/** Commands for one batch. */
interface KvstoreCommands {
  /** What to send, in one write. */
  readonly commands: readonly RedisCommand[];
  /** For each operation the index of the command whose reply is the count. */
  readonly countAt: readonly number[];
}

/** The count in a reply, or why there is none. */
type KvstoreCount =
  | { readonly kind: "count"; readonly count: number }
  /** The server does not know the refund script (yet). */
  | { readonly kind: "no_script" }
  | { readonly kind: "refused"; readonly reason: string };

const MAX_DIGITS = 16;

/** How counters' lives are spread. */
export interface KvstoreOperationOptions {
  /** Whole seconds, this many at most less one, are added to a window. */
  readonly expirationJitterMaxSeconds: number;
  /** Gives a number from 0 up to, not including, 1. */
  readonly random: () => number;
}

/**
 * Takes from a batch what is needed. A counter's name is the key with the start
 * of the window in decimal digits behind it; all names are in one block of
 * memory of their own.
 */
export function kvstoreOperations(
  batch: CounterBatch,
  options: KvstoreOperationOptions,
): readonly KvstoreOperation[] {
  const { keys, operations, nowSeconds } = batch;
  const { expirationJitterMaxSeconds, random } = options;
  const bytes = operations.reduce(
    (sum, { keyStart, keyEnd }) => sum + keyEnd - keyStart + MAX_DIGITS,
    0,
  );
  const block = Buffer.allocUnsafe(bytes);
  let at = 0;
  return operations.map((operation) => {
    const { keyStart, keyEnd, windowSeconds, hits, limit } = operation;
    const from = at;
    block.set(keys.subarray(keyStart, keyEnd), at);
    at += keyEnd - keyStart;
    const start = windowStartSeconds(nowSeconds, windowSeconds);
    at += block.write(String(start), at, "latin1");
    const jitter = hits > 0
      ? Math.floor(random() * expirationJitterMaxSeconds)
      : 0;
    return {
      name: block.subarray(from, at),
      hits,
      limit,
      lifeSeconds: windowSeconds + jitter,
    };
  });
}

/**
 * Writes operations as commands: `INCRBY` and `EXPIRE` for hits, `GET` for a
 * look (which must not make a counter), a script for hits given back.
 */
function kvstoreCommands(
  operations: readonly KvstoreOperation[],
): KvstoreCommands {
  const commands: RedisCommand[] = [];
  const countAt: number[] = [];
  operations.forEach(({ name, hits, lifeSeconds }, i) => {
    countAt.push(commands.length);
    if (hits === 0) {
      commands.push(["GET", name]);
    } else if (hits < 0) {
      commands.push(
        isTouchedLater(operations, i)
          ? refundCommand(name, hits)
          : ["EVALSHA", hashOf(refundScript), "1", name, digits(-hits)],
      );
    } else {
      commands.push(["INCRBY", name, digits(hits)]);
      commands.push(["EXPIRE", name, digits(lifeSeconds)]);
    }
  });
  return { commands, countAt };
}

/** Writes operations as looks, whatever their hits. */
function lookCommands(
  operations: readonly KvstoreOperation[],
): readonly RedisCommand[] {
  return operations.map(({ name }) => ["GET", name]);
}

/**
 * The command that applies operations of which those that would not go over
 * their limits are only read when another one would. All counters must be on
 * one server; the reply is a list of counts.
 *
 * @param isByHash Whether the script is named by its hash, which a server may
 * not know.
 */
function stopCommand(
  operations: readonly KvstoreOperation[],
  isByHash: boolean,
): RedisCommand {
  return [
    ...(isByHash ? ["EVALSHA", hashOf(stopScript)] : ["EVAL", stopScript]),
    String(operations.length),
    ...operations.map(({ name }) => name),
    ...operations.flatMap(({ hits, limit, lifeSeconds }) => [
      digits(hits),
      digits(limit),
      digits(lifeSeconds),
    ]),
  ];
}

/** The command for hits given back that works on every server. */
function refundCommand(
  name: RedisArgument,
  hits: number,
): RedisCommand {
  return ["EVAL", refundScript, "1", name, digits(-hits)];
}

/** Reads the reply to a command that a count is read from. */
function kvstoreCount(reply: RedisReply): KvstoreCount {
  if (isRedisRefusal(reply)) {
    const { refusal } = reply;
    if (refusal.startsWith("NOSCRIPT")) return { kind: "no_script" };
    // The server's counters end at 2^63 - 1: as much over as can be.
    if (refusal.includes("would overflow")) {
      return { kind: "count", count: Number.MAX_SAFE_INTEGER };
    }
    return { kind: "refused", reason: refusal };
  }
  const count = Array.isArray(reply) ? NaN : Number(reply ?? 0);
  if (!Number.isFinite(count)) {
    return { kind: "refused", reason: "the counter's value is not a number" };
  }
  return { kind: "count", count: Math.min(count, Number.MAX_SAFE_INTEGER) };
}

function hashOf(script: string): string {
  return createHash("sha1").update(script).digest("hex");
}

/**
 * A refund whose counter is touched again in the same batch must not be sent
 * again after all others have run, so it is sent with its script from the
 * start.
 */
function isTouchedLater(
  operations: readonly KvstoreOperation[],
  index: number,
): boolean {
  const { name } = operations[index]!;
  return operations.some((other, i) => i > index && other.name.equals(name));
}

/** A whole number within what a server counts with exactly. */
function digits(value: number): string {
  const most = Number.MAX_SAFE_INTEGER;
  return String(Math.max(-most, Math.min(value, most)));
}

/** Over what, and until when. */
interface KvstoreCall {
  /** Connections to the servers. */
  readonly link: RedisLink;
  /** When to give up, by the clock. */
  readonly deadlineMs: number;
}

/** The outcome of operations. */
export type KvstoreOutcome =
  /** The counts, in the order of the operations. */
  | { readonly kind: "counted"; readonly results: readonly number[] }
  /** No server answered. */
  | { readonly kind: "unavailable"; readonly reason: string }
  /** A server answered that it would not do it. */
  | { readonly kind: "refused"; readonly reason: string };

/** Applies operations; one round trip, unless a server forgot a script. */
export async function count(
  operations: readonly KvstoreOperation[],
  call: KvstoreCall,
): Promise<KvstoreOutcome> {
  const { link, deadlineMs } = call;
  const { commands, countAt } = kvstoreCommands(operations);
  const outcome = await link.send(commands, deadlineMs);
  if (outcome.kind === "unavailable") return outcome;
  // All replies, for a counter whose expiry was not set is kept forever.
  const counts = outcome.replies.map(kvstoreCount);
  for (const one of counts) if (one.kind === "refused") return one;
  const results: number[] = [];
  const forgotten: number[] = [];
  for (const [i, at] of countAt.entries()) {
    const one = counts[at]!;
    if (one.kind === "no_script") forgotten.push(i);
    results.push(one.kind === "count" ? one.count : 0);
  }
  if (forgotten.length === 0) return { kind: "counted", results };
  const refunds = await readCounts(
    forgotten.map((i) =>
      refundCommand(operations[i]!.name, operations[i]!.hits)
    ),
    call,
  );
  if (refunds.kind !== "counted") return refunds;
  for (const [at, i] of forgotten.entries()) {
    results[i] = refunds.results[at]!;
  }
  return { kind: "counted", results };
}

/**
 * Applies operations on counters of one server in one step, which leaves those
 * alone that stay within their limits when another one does not.
 */
export async function countOrStopAtOnce(
  operations: readonly KvstoreOperation[],
  { link, deadlineMs }: KvstoreCall,
): Promise<KvstoreOutcome> {
  for (const isByHash of [true, false]) {
    const outcome = await link.send(
      [stopCommand(operations, isByHash)],
      deadlineMs,
    );
    if (outcome.kind === "unavailable") return outcome;
    const reply = outcome.replies[0] ?? null;
    if (Array.isArray(reply)) return countsOf(reply);
    const one = kvstoreCount(reply);
    if (one.kind === "refused") return one;
    if (one.kind === "count") break;
  }
  return { kind: "refused", reason: "the script did not reply with counts" };
}

/** The same in two steps, for counters of several servers. */
export async function countOrStop(
  operations: readonly KvstoreOperation[],
  call: KvstoreCall,
): Promise<KvstoreOutcome> {
  const before = await readCounts(lookCommands(operations), call);
  if (before.kind !== "counted") return before;
  const hits = hitsWhenStopping(
    operations.map(({ name, hits, limit }) => ({
      counter: name.toString("latin1"),
      hits,
      limit,
    })),
    before.results,
  );
  return await count(
    operations.map((operation, i) => ({ ...operation, hits: hits[i]! })),
    call,
  );
}

/** Sends commands with one count each. */
async function readCounts(
  commands: readonly RedisCommand[],
  { link, deadlineMs }: KvstoreCall,
): Promise<KvstoreOutcome> {
  const outcome = await link.send(commands, deadlineMs);
  return outcome.kind === "unavailable" ? outcome : countsOf(outcome.replies);
}

function countsOf(replies: readonly RedisReply[]): KvstoreOutcome {
  const results: number[] = [];
  for (const reply of replies) {
    const one = kvstoreCount(reply);
    if (one.kind === "refused") return one;
    if (one.kind === "no_script") {
      return { kind: "refused", reason: "the server does not keep scripts" };
    }
    results.push(one.count);
  }
  return { kind: "counted", results };
}
