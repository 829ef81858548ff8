/**
 * Sliding windows and token buckets on a Redis server: each operation is one
 * script, which works by the server's own clock, so that all instances of the
 * service count by the same one.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { capacityOf, type CounterOperation } from "../counter_store.ts";
import { MICROS_PER_SECOND, type PacedReading } from "../paced_verdict.ts";
import { sliceMicros } from "../sliding_window.ts";
import type { RedisArgument, RedisCommand } from "./redis/client.ts";
import type { RedisReply } from "./redis/reply.ts";

import slidingScript from "./sliding_window.lua" with { type: "text" };
import bucketScript from "./token_bucket.lua" with { type: "text" };

/** What of an operation its script depends on. */
export type PacedOperation =
  & Pick<
    CounterOperation,
    "hits" | "limit" | "burst" | "windowSeconds"
  >
  & {
    readonly algorithm: Exclude<CounterOperation["algorithm"], "fixed_window">;
  };

/**
 * What stands at the end of such a counter's name, where the name of a fixed
 * window has the window's start: not a digit, so that no two are the same.
 */
export function pacedSuffix(
  { algorithm, windowSeconds }: Pick<
    PacedOperation,
    "algorithm" | "windowSeconds"
  >,
): string {
  const kind = algorithm === "sliding_window" ? "sliding" : "tokens";
  return `${kind}_${windowSeconds}s`;
}

/** How {@linkcode PacedScripts} are made. */
interface PacedScriptsOptions {
  /**
   * The time in whole microseconds; to be given in tests only.
   *
   * @default the server's own clock
   */
  readonly nowMicros?: (() => number) | undefined;
}

/** How a command names its script. */
interface PacedCommandOptions {
  /** The counter's name. */
  readonly name: RedisArgument;
  /** Whether the script is named by its hash, which a server may not know. */
  readonly isByHash: boolean;
}

/** Writes the commands, and knows the names of their scripts. */
export class PacedScripts {
  readonly #nowMicros: (() => number) | undefined;
  readonly #slidingHash = hashOf(slidingScript);
  readonly #bucketHash = hashOf(bucketScript);

  /** Computes the names. */
  constructor(options: PacedScriptsOptions = {}) {
    this.#nowMicros = options.nowMicros;
  }

  /** The command that applies an operation; its reply is read by {@linkcode pacedReading}. */
  command(
    operation: PacedOperation,
    { name, isByHash }: PacedCommandOptions,
  ): RedisCommand {
    const { algorithm, hits, limit, windowSeconds } = operation;
    const isSliding = algorithm === "sliding_window";
    const script = isSliding ? slidingScript : bucketScript;
    const hash = isSliding ? this.#slidingHash : this.#bucketHash;
    return [
      isByHash ? "EVALSHA" : "EVAL",
      isByHash ? hash : script,
      "1",
      name,
      String(withinExact(hits)),
      String(limit),
      String(windowSeconds * MICROS_PER_SECOND),
      String(
        isSliding ? sliceMicros(limit, windowSeconds) : capacityOf(operation),
      ),
      String(this.#nowMicros?.() ?? ""),
    ];
  }
}

/** Reads the reply to a script; undefined when it has another form. */
export function pacedReading(reply: RedisReply): PacedReading | undefined {
  if (!Array.isArray(reply) || reply.length !== 4) return undefined;
  const [over, remaining, waitMicros, wholeMicros] = reply.map(Number);
  const numbers = [over, remaining, waitMicros, wholeMicros];
  if (!numbers.every(Number.isSafeInteger)) return undefined;
  return {
    isOver: over === 1,
    remaining: remaining!,
    waitMicros: waitMicros!,
    wholeMicros: wholeMicros!,
  };
}

/** The name by which a server knows a script that it has run. */
export function hashOf(script: string): string {
  return createHash("sha1").update(script).digest("hex");
}

/** Whole numbers beyond are not written exactly. */
function withinExact(hits: number): number {
  const most = Number.MAX_SAFE_INTEGER;
  return Math.max(-most, Math.min(hits, most));
}
