/**
 * Operations on counters, carried out over a link to Redis servers.
 *
 * @module
 */

import type { RedisCommand } from "./redis/client.ts";
import type { RedisLink } from "./redis/link.ts";
import type { RedisReply } from "./redis/reply.ts";
import {
  kvstoreCommands,
  kvstoreCount,
  type KvstoreOperation,
  lookCommands,
  refundCommand,
  stopCommand,
} from "./kvstore_commands.ts";
import { hitsWhenStopping } from "../stop_when_over.ts";

/** Over what, and until when. */
export interface KvstoreCall {
  /** Connections to the servers. */
  readonly link: RedisLink;
  /** When to give up, by the clock. */
  readonly deadlineMs: number;
}

/** What became of operations. */
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
  // All replies, for a counter whose life was not set is kept for ever.
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
