/**
 * The fast path for hits on fixed windows, which are by far the most commands
 * that a Redis server gets: the batch goes straight to the hits that its
 * connection writes together.
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
import type { RedisCommand } from "./redis/command_writer.ts";
import type { ListedHits, RedisLink } from "./redis/link.ts";
import type { MergedHits, ReplySink } from "./redis/merged_hits.ts";
import {
  isRedisRefusal,
  type RedisOutcome,
  type RedisReply,
} from "./redis/reply.ts";

/** True when a batch has only hits on fixed windows. */
export function isAllHits({ operations }: CounterBatch): boolean {
  for (let i = 0; i < operations.length; i++) {
    const { algorithm, hits } = operations[i]!;
    if (algorithm !== "fixed_window" || hits <= 0) return false;
  }
  return true;
}

/** Executes batches for which {@linkcode isAllHits} holds. */
export class KvstoreHits<Answer> {
  /**
   * A link reads hits before `hit` returns, so one object serves all batches.
   */
  readonly #hits: BatchHits<Answer>;

  /**
   * Names and lives of counters are those that {@linkcode kvstoreOperations}
   * gives; `answer` turns outcomes into what callers get.
   */
  constructor(
    options: KvstoreOperationOptions,
    answer: (outcome: KvstoreOutcome) => Answer,
  ) {
    this.#hits = new BatchHits(
      options,
      (outcome) => answer(hitsOutcome(outcome)),
    );
  }

  /** Counts the hits, and sees to it that their counters expire. */
  count(
    batch: CounterBatch,
    { link, deadlineMs }: {
      readonly link: RedisLink;
      readonly deadlineMs: number;
    },
  ): Promise<Answer> {
    this.#hits.batch = batch;
    return link.hit(this.#hits, deadlineMs);
  }
}

class BatchHits<Answer> implements ListedHits<Answer> {
  batch: CounterBatch = NO_BATCH;
  readonly answer: (outcome: RedisOutcome) => Answer;
  readonly #options: KvstoreOperationOptions;

  constructor(
    options: KvstoreOperationOptions,
    answer: (outcome: RedisOutcome) => Answer,
  ) {
    this.#options = options;
    this.answer = answer;
  }

  get count(): number {
    return this.batch.operations.length;
  }

  addTo(merged: MergedHits, sink: ReplySink): void {
    const { keys: bytes, operations, nowSeconds } = this.batch;
    for (let i = 0; i < operations.length; i++) {
      const { keyStart: start, keyEnd: end, windowSeconds, hits } =
        operations[i]!;
      merged.add(sink, {
        index: i,
        isPair: false,
        bytes,
        start,
        end,
        number: windowStartSeconds(nowSeconds, windowSeconds),
        hits: Math.min(hits, Number.MAX_SAFE_INTEGER),
        lifeSeconds: computeLifeSeconds(windowSeconds, this.#options),
      });
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
  if (isAllCounts(replies)) return { kind: "counted", results: replies };
  const results: number[] = [];
  for (const reply of replies) {
    const count = readCount(reply);
    if (typeof count !== "number") return extendRefusal(count, replies);
    results.push(count);
  }
  return { kind: "counted", results };
}

function isAllCounts(
  replies: readonly RedisReply[],
): replies is readonly number[] {
  for (let i = 0; i < replies.length; i++) {
    const reply = replies[i];
    if (typeof reply !== "number" || reply > Number.MAX_SAFE_INTEGER) {
      return false;
    }
  }
  return true;
}

/** Adds to a refusal that counters of the batch got their hits. */
function extendRefusal(
  refused: KvstoreOutcome,
  replies: readonly RedisReply[],
): KvstoreOutcome {
  const hasCounted = replies.some((reply) =>
    typeof reply === "number" ||
    isRedisRefusal(reply) && reply.hasCounted === true
  );
  return hasCounted && refused.kind === "refused"
    ? { ...refused, mayHaveCounted: true }
    : refused;
}

function readCount(reply: RedisReply): number | KvstoreOutcome {
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
