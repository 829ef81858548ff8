/**
 * The fast path for hits on fixed windows, which are by far the most commands
 * that a Redis server gets: the batch is written straight into the connection's
 * bytes.
 *
 * @module
 */

import type { CounterBatch } from "../counter_store.ts";
import { windowStartSeconds } from "../fixed_window.ts";
import {
  computeLifeSeconds,
  hitCommands,
  kvstoreCount,
  type KvstoreOperationOptions,
  kvstoreOperations,
  type KvstoreOutcome,
} from "./kvstore_commands.ts";
import type { WritableCommands } from "./redis/client.ts";
import type { CommandWriter, RedisCommand } from "./redis/command_writer.ts";
import type { RedisLink } from "./redis/link.ts";
import type { RedisOutcome, RedisReply } from "./redis/reply.ts";

const INCRBY = new TextEncoder().encode("*3\r\n$6\r\nINCRBY\r\n");
const EXPIRE = new TextEncoder().encode("*3\r\n$6\r\nEXPIRE\r\n");
/** Commands, and replies, of an operation: `INCRBY` and `EXPIRE`. */
const PER_OPERATION = 2;

/** True when a batch has only hits on fixed windows. */
export function isAllHits({ operations }: CounterBatch): boolean {
  for (let i = 0; i < operations.length; i++) {
    const { algorithm, hits } = operations[i]!;
    if (algorithm !== "fixed_window" || hits <= 0) return false;
  }
  return true;
}

/** Executes batches for which {@linkcode isAllHits} holds. */
export class KvstoreHits {
  /**
   * A link reads commands before `send` returns, so one object serves all
   * batches.
   */
  readonly #commands: HitCommands;

  /**
   * Names and lives of counters are those that {@linkcode kvstoreOperations}
   * gives.
   */
  constructor(options: KvstoreOperationOptions) {
    this.#commands = new HitCommands(options);
  }

  /** Counts the hits, each with an `INCRBY` and an `EXPIRE`. */
  count(
    batch: CounterBatch,
    { link, deadlineMs }: {
      readonly link: RedisLink;
      readonly deadlineMs: number;
    },
  ): Promise<KvstoreOutcome> {
    this.#commands.batch = batch;
    return link.send(this.#commands, deadlineMs).then(hitsOutcome);
  }
}

class HitCommands implements WritableCommands {
  batch: CounterBatch = NO_BATCH;
  readonly #options: KvstoreOperationOptions;

  constructor(options: KvstoreOperationOptions) {
    this.#options = options;
  }

  get count(): number {
    return PER_OPERATION * this.batch.operations.length;
  }

  writeTo(writer: CommandWriter): void {
    const { keys, operations, nowSeconds } = this.batch;
    for (let i = 0; i < operations.length; i++) {
      const { keyStart, keyEnd, windowSeconds, hits } = operations[i]!;
      const name = {
        start: keyStart,
        end: keyEnd,
        number: windowStartSeconds(nowSeconds, windowSeconds),
      };
      writer.raw(INCRBY);
      writer.numbered(keys, name);
      writer.number(Math.min(hits, Number.MAX_SAFE_INTEGER));
      writer.raw(EXPIRE);
      writer.numbered(keys, name);
      writer.number(computeLifeSeconds(windowSeconds, this.#options));
    }
  }

  listed(): readonly RedisCommand[] {
    return kvstoreOperations(this.batch, this.#options).flatMap(hitCommands);
  }
}

const NO_BATCH: CounterBatch = {
  keys: new Uint8Array(),
  operations: [],
  nowSeconds: 0,
};

function hitsOutcome(outcome: RedisOutcome): KvstoreOutcome {
  if (outcome.kind === "unavailable") return outcome;
  const { replies } = outcome;
  const results = new Array<number>(replies.length / PER_OPERATION);
  for (let i = 0; i < replies.length; i += PER_OPERATION) {
    const count = readCount(replies[i]!);
    if (typeof count !== "number") return extendRefusal(count, replies);
    results[i / PER_OPERATION] = count;
    // Checked, too: a counter whose expiry was not set is kept forever.
    const expired = readCount(replies[i + 1]!);
    if (typeof expired !== "number") return extendRefusal(expired, replies);
  }
  return { kind: "counted", results };
}

/** Adds to a refusal that other counters of the batch got their hits. */
function extendRefusal(
  refused: KvstoreOutcome,
  replies: readonly RedisReply[],
): KvstoreOutcome {
  const hasCounted = replies.some((reply, i) =>
    i % PER_OPERATION === 0 && typeof reply === "number"
  );
  return hasCounted && refused.kind === "refused"
    ? { ...refused, mayHaveCounted: true }
    : refused;
}

function readCount(reply: RedisReply): number | KvstoreOutcome {
  if (typeof reply === "number" && reply <= Number.MAX_SAFE_INTEGER) {
    return reply;
  }
  const count = kvstoreCount(reply);
  switch (count.kind) {
    case "count":
      return count.count;
    case "refused":
      return count;
    default:
      return {
        kind: "refused",
        reason: "the reply to a plain command is that of a script",
      };
  }
}
