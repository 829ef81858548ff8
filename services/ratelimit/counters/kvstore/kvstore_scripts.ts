/**
 * The Lua scripts that a Redis server runs: hits given back to a fixed window,
 * everything on sliding windows and token buckets, and batches with
 * `stopWhenOver`.
 *
 * @module
 */

import type { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { type CounterOperation, getCapacity } from "../counter_store.ts";
import { MICROS_PER_SECOND, type PacedReading } from "../paced_verdict.ts";
import { sliceMicros } from "../sliding_window.ts";
import type { RedisCommand } from "./redis/command_writer.ts";
import type { RedisReply } from "./redis/reply.ts";

import refund from "./refund.lua" with { type: "text" };
import serverClock from "./server_clock.lua" with { type: "text" };
import slidingWindow from "./sliding_window.lua" with { type: "text" };
import stopWhenOver from "./stop_when_over.lua" with { type: "text" };
import tokenBucket from "./token_bucket.lua" with { type: "text" };

/** An operation on one counter, in a form that holds nothing of its batch. */
export interface KvstoreOperation extends
  Pick<
    CounterOperation,
    "algorithm" | "hits" | "limit" | "burst" | "windowSeconds" | "refuses"
  > {
  /** The counter's name. */
  readonly name: Buffer;
  /** Seconds that the counter lives from now on, when there are hits to add. */
  readonly lifeSeconds: number;
}

/** How {@linkcode KvstoreScripts} are made. */
interface KvstoreScriptsOptions {
  /**
   * Returns the time in whole microseconds; set in tests only.
   *
   * @default the server's own clock
   */
  readonly nowMicros?: (() => number) | undefined;
}

/**
 * How a script is sent: by its hash, which a server may not know, or with its
 * text.
 */
type ScriptForm = "by_hash" | "with_text";

/** A script, and the name by which a server knows it once it has run it. */
interface Script {
  readonly text: string;
  readonly hash: string;
}

/** Arguments of an algorithm's function in Lua, to apply one operation. */
const ONE = "(KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), " +
  "tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), " +
  "server_clock(ARGV[6]))";

/** Makes the commands that run scripts. */
export class KvstoreScripts {
  readonly #nowMicros: (() => number) | undefined;
  readonly #refund = createScript(refund);
  readonly #sliding = createScript(
    serverClock,
    slidingWindow,
    `return sliding_window${ONE}`,
  );
  readonly #tokens = createScript(
    serverClock,
    tokenBucket,
    `return token_bucket${ONE}`,
  );
  readonly #stopFixed = createScript(stopWhenOver);
  readonly #stopAny = createScript(
    serverClock,
    slidingWindow,
    tokenBucket,
    stopWhenOver,
  );

  /** Composes the scripts from their parts. */
  constructor(options: KvstoreScriptsOptions = {}) {
    this.#nowMicros = options.nowMicros;
  }

  /**
   * Returns the command that runs the script for one operation: hits given back
   * to a fixed window, or anything on a counter of another kind.
   */
  one(operation: KvstoreOperation, form: ScriptForm): RedisCommand {
    const { algorithm, name, hits, limit } = operation;
    if (algorithm === "fixed_window") {
      return [...named(this.#refund, form), "1", name, digits(-hits)];
    }
    const script = algorithm === "sliding_window"
      ? this.#sliding
      : this.#tokens;
    return [
      ...named(script, form),
      "1",
      name,
      digits(hits),
      String(limit),
      ...pacedArguments(operation),
      this.#now(),
    ];
  }

  /**
   * Returns the command that applies operations on counters of one server with
   * `stopWhenOver`: when one would go over its limit, those that would not are
   * only read. The reply is a list with the result of each.
   */
  stopWhenOver(
    operations: readonly KvstoreOperation[],
    form: ScriptForm,
  ): RedisCommand {
    const script =
      operations.some(({ algorithm }) => algorithm !== "fixed_window")
        ? this.#stopAny
        : this.#stopFixed;
    return [
      ...named(script, form),
      String(operations.length),
      ...operations.map(({ name }) => name),
      this.#now(),
      ...operations.flatMap((operation) => {
        const { algorithm, hits, limit, lifeSeconds } = operation;
        return [
          KINDS[algorithm] + (operation.refuses === false ? SHADOW : ""),
          digits(hits),
          digits(limit),
          ...(algorithm === "fixed_window"
            ? [digits(lifeSeconds), "", ""]
            : pacedArguments(operation)),
        ];
      }),
    ];
  }

  #now(): string {
    return String(this.#nowMicros?.() ?? "");
  }
}

/** Follows the kind of an operation that holds no other one back. */
const SHADOW = ":shadow";

/**
 * Names of the algorithms in the scripts, and in the names of paced counters.
 */
const KINDS = {
  fixed_window: "fixed",
  sliding_window: "sliding",
  token_bucket: "tokens",
} as const;

/**
 * Returns the end of a paced counter's name, in the place where the name of a
 * fixed window has the window's start. Its last character is no digit, so that
 * no two names are the same.
 */
export function pacedSuffix(
  { algorithm, windowSeconds }: Pick<
    KvstoreOperation,
    "algorithm" | "windowSeconds"
  >,
): string {
  return `${KINDS[algorithm]}_${windowSeconds}s`;
}

/**
 * Reads the result of one operation from a script's reply; undefined for
 * replies of another form.
 */
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

/**
 * Returns the digits of a whole number, bounded to what a server counts
 * exactly.
 */
export function digits(value: number): string {
  const most = Number.MAX_SAFE_INTEGER;
  return String(Math.max(-most, Math.min(value, most)));
}

/**
 * Returns the arguments of a paced counter: its window in microseconds, its
 * slice in microseconds or its burst, and the milliseconds that the key
 * outlives its use.
 */
function pacedArguments(operation: KvstoreOperation): readonly string[] {
  const { algorithm, limit, windowSeconds, lifeSeconds } = operation;
  return [
    windowSeconds * MICROS_PER_SECOND,
    algorithm === "sliding_window"
      ? sliceMicros(limit, windowSeconds)
      : getCapacity(operation),
    (lifeSeconds - windowSeconds) * 1_000,
  ].map(String);
}

function createScript(...parts: readonly string[]): Script {
  const text = parts.join("\n");
  return { text, hash: createHash("sha1").update(text).digest("hex") };
}

function named({ text, hash }: Script, form: ScriptForm): readonly string[] {
  return form === "by_hash" ? ["EVALSHA", hash] : ["EVAL", text];
}
