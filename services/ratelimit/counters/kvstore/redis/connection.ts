/**
 * A connection to a Redis server, which is dialled again after each failure.
 *
 * @module
 */

import type { Timer } from "../../../../shared/clock.ts";
import { ReplyWatch } from "../../reply_watch.ts";
import {
  computeSilence,
  redialDelayMs,
  type Silence,
} from "../../server_outage.ts";
import type { ConnectionTally } from "../../store_telemetry.ts";
import { formatRedisAddress } from "./address.ts";
import {
  type Hits,
  openRedisClient,
  type RedisClient,
  type RedisClientOptions,
  replies,
} from "./client.ts";
import type { RedisCommand } from "./command_writer.ts";
import type { ReplySink } from "./merged_hits.ts";
import {
  isReadOnlyRefusal,
  isRedisRefusal,
  mayRefuseAll,
  redisErrorText,
  type RedisOutcome,
  type RedisReply,
  ROLE_COMMAND,
  roleProblem,
  withoutSecrets,
} from "./reply.ts";

/** How a {@linkcode RedisConnection} is made. */
export interface RedisConnectionOptions
  extends Omit<RedisClientOptions, "onError"> {
  /** Bound on dialling and signing in, in milliseconds. */
  readonly timeoutMs: number;
  /**
   * True to refuse a server that says it is a replica. Otherwise a replica is
   * noticed by the first write it refuses; after that, replicas are refused.
   *
   * @default false
   */
  readonly mustBeMaster?: boolean;
  /**
   * Most calls that wait for a reply at a time; further ones are refused.
   *
   * @default 50_000
   */
  readonly maxPending?: number;
  /** Returns a number from 0 up to, not including, 1. */
  readonly random: () => number;
  /**
   * Called when the connection is up, and with a reason when it was lost or
   * could not be made.
   */
  readonly onChange: (reason?: string) => void;
  /**
   * Called when a call waits long, and with the refusal when it was refused in
   * a way that may hold for all calls.
   *
   * @default not reported
   */
  readonly onDoubt?: (refusal?: string) => void;
  /**
   * Counts the connection when it is up and when that has ended.
   *
   * @default not counted
   */
  readonly tally?: ConnectionTally | undefined;
  /**
   * Makes the client of one dial.
   *
   * @default openRedisClient
   */
  readonly openClient?:
    | ((options: RedisClientOptions) => RedisClient)
    | undefined;
}

/** Hits, and what their caller is told. */
export interface AnsweredHits<Answer> extends Hits {
  /** Returns the answer; called once, and must not throw. */
  readonly answer: (outcome: RedisOutcome) => Answer;
}

/** What a call tells its connection. */
interface CallOwner {
  /** Returns a reply as its caller may see it. */
  received(reply: RedisReply): RedisReply;
  /** Forgets a call that is over; false when it was over before. */
  remove(call: Call): boolean;
}

/** A call: commands that were sent, until their last reply. */
class Call implements ReplySink {
  readonly deadlineMs: number;
  readonly settle: (outcome: RedisOutcome) => void;
  readonly #owner: CallOwner;
  readonly #replies: RedisReply[];
  #left: number;

  constructor(owner: CallOwner, { count, deadlineMs, settle }: {
    readonly count: number;
    readonly deadlineMs: number;
    readonly settle: (outcome: RedisOutcome) => void;
  }) {
    this.deadlineMs = deadlineMs;
    this.settle = settle;
    this.#owner = owner;
    this.#replies = new Array<RedisReply>(count);
    this.#left = count;
  }

  reply(index: number, reply: RedisReply): void {
    this.#replies[index] = typeof reply === "number"
      ? reply
      : this.#owner.received(reply);
    if (--this.#left === 0 && this.#owner.remove(this)) {
      this.settle({ kind: "replied", replies: this.#replies });
    }
  }
}

/**
 * Milliseconds: a connection that was up this long is dialled again at once
 * when lost.
 */
const STABLE_MS = 1_000;
/**
 * Most writes that wait for the answer to the one before them until a
 * connection is up: signing in, PING and ROLE. Each waits for the pipeline
 * window, which must leave time for the answers.
 */
const GREETING_WRITES = 3;
/**
 * Bytes waiting to be sent, or held until a reply, above which further commands
 * are refused, as the server takes or answers nothing.
 */
const MAX_HELD_BYTES = 64 * 1_024 * 1_024;

/**
 * A connection that is dialled again whenever it is lost, at once the first
 * time and then after growing waits. A server that leaves a call without a
 * reply until its deadline counts as lost: the connection is closed and dialled
 * again. Dialling ends with a PING, so a server that is loading, wants a
 * password or does not answer is not up. A server that refuses a write because
 * it is a replica has been failed over: the connection is closed and, since its
 * name may lead to another server by now, dialled again.
 */
export class RedisConnection {
  readonly #options: RedisConnectionOptions;
  readonly #maxPending: number;
  readonly #secrets: readonly string[];
  readonly #pending = new Set<Call>();
  readonly #owner: CallOwner = {
    received: (reply) => this.#received(reply),
    remove: (call) => this.#pending.delete(call),
  };
  #state: "stopped" | "dialling" | "up" | "waiting" = "stopped";
  #client: RedisClient | undefined;
  #mustBeMaster: boolean;
  #isCounted = false;
  #failures = 0;
  #upSinceMs = 0;
  #timer: Timer | undefined;
  readonly #watch: ReplyWatch;
  readonly #silence: Silence;
  /** How long before its deadline a call has waited long. */
  readonly #marginMs: number;

  /** Makes a connection that is not dialled yet. */
  constructor(options: RedisConnectionOptions) {
    this.#options = options;
    this.#silence = computeSilence(options);
    this.#marginMs = options.timeoutMs - this.#silence.doubtMs;
    this.#maxPending = options.maxPending ?? 50_000;
    this.#mustBeMaster = options.mustBeMaster ?? false;
    this.#secrets = options.auth === undefined ? [] : [options.auth.password];
    this.#watch = new ReplyWatch({
      clock: options.clock,
      onDue: () => this.#onDue(),
    });
  }

  /** True while commands can be sent. */
  get isUp(): boolean {
    return this.#state === "up";
  }

  /**
   * True while further commands would be sent in one write with those that
   * wait.
   */
  get isGathering(): boolean {
    return this.#client?.isGathering ?? false;
  }

  /** Number of calls that wait for replies. */
  get pendingCount(): number {
    return this.#pending.size;
  }

  /**
   * True while the first dial since the start or since the last loss is in
   * progress.
   */
  get isFreshDial(): boolean {
    return this.#state === "dialling" && this.#failures === 0;
  }

  /** True while a call has waited long for its reply. */
  get isSlow(): boolean {
    return this.#firstDeadlineMs() - this.#marginMs <=
      this.#options.clock.nowMs();
  }

  /** Begins to dial; does nothing when it is started already. */
  start(): void {
    if (this.#state !== "stopped") return;
    this.#failures = 0;
    this.#dial();
  }

  /** Closes the connection; calls that wait are answered as unavailable. */
  stop(): void {
    if (this.#state === "stopped") return;
    this.#state = "stopped";
    this.#close("the connection was closed");
  }

  /** Dials again, as the server is silent; does nothing while it is not up. */
  renew(): void {
    if (this.#state === "up") this.#lose(timeout(this.#silence.limitMs));
  }

  /**
   * Sends commands in one write and waits for all their replies.
   *
   * @param deadlineMs When the caller gives up, by the clock.
   */
  send(
    commands: readonly RedisCommand[],
    deadlineMs: number,
  ): Promise<RedisOutcome> {
    const refusal = this.#refusal();
    if (refusal !== undefined) return Promise.resolve(refusal);
    const count = commands.length;
    if (count === 0) return Promise.resolve({ kind: "replied", replies: [] });
    return new Promise((settle) => {
      const call = this.#call({ count, deadlineMs, settle });
      this.#client?.send(commands, call);
    });
  }

  /** Sends hits as {@linkcode RedisConnection.send} sends commands. */
  hit<Answer>(hits: AnsweredHits<Answer>, deadlineMs: number): Promise<Answer> {
    const { count } = hits;
    const refusal: RedisOutcome | undefined = count > 0
      ? this.#refusal()
      : { kind: "replied", replies: [] };
    if (refusal !== undefined) return Promise.resolve(hits.answer(refusal));
    const { answer } = hits;
    return new Promise((resolve) => {
      const settle = (outcome: RedisOutcome): void => resolve(answer(outcome));
      const call = this.#call({ count, deadlineMs, settle });
      this.#client?.hit(hits, call);
    });
  }

  /** Why nothing can be sent; undefined when it can. */
  #refusal(): RedisOutcome | undefined {
    const client = this.#client;
    if (client === undefined || this.#state !== "up") {
      return unavailable("not connected");
    }
    if (this.#pending.size >= this.#maxPending) {
      return unavailable(`${this.#maxPending} calls wait for a reply already`);
    }
    return client.heldBytes > MAX_HELD_BYTES
      ? unavailable(`${MAX_HELD_BYTES} bytes wait for the server already`)
      : undefined;
  }

  #call(options: ConstructorParameters<typeof Call>[1]): Call {
    const call = new Call(this.#owner, options);
    this.#pending.add(call);
    this.#watch.at(options.deadlineMs - this.#marginMs);
    return call;
  }

  /** Returns a reply without secrets, and acts on what a refusal tells. */
  #received(reply: RedisReply): RedisReply {
    const received = withoutSecrets(reply, this.#secrets);
    if (!isRedisRefusal(received)) return received;
    const { refusal } = received;
    // A server that refuses may have become another one.
    this.#options.expiries?.forget();
    // One refusal may be dealt out to several calls.
    if (isReadOnlyRefusal(refusal) && this.#state === "up") {
      this.#mustBeMaster = true;
      this.#lose(new Error(refusal));
    }
    if (mayRefuseAll(refusal)) this.#options.onDoubt?.(refusal);
    return received;
  }

  #dial(): void {
    const { openClient = openRedisClient, ...options } = this.#options;
    const { clock, timeoutMs } = options;
    this.#state = "dialling";
    const client = openClient({
      ...options,
      pipelineWindowMs: Math.min(
        options.pipelineWindowMs ?? 0,
        timeoutMs / (GREETING_WRITES + 1),
      ),
      onError: (error) => {
        if (this.#client === client) this.#lose(error);
      },
    });
    this.#client = client;
    this.#watch.at(clock.nowMs() + timeoutMs);
    client.connect().then(() => greet(client, this.#mustBeMaster)).then(
      () => {
        if (this.#client === client) this.#rise();
        else client.destroy();
      },
      (error) => {
        if (this.#client === client) this.#lose(error);
        else client.destroy();
      },
    );
  }

  #rise(): void {
    this.#watch.stop();
    this.#state = "up";
    this.#upSinceMs = this.#options.clock.nowMs();
    this.#isCounted = true;
    this.#options.tally?.opened();
    this.#options.onChange();
  }

  #lose(error: unknown): void {
    const { address, clock, onChange, random } = this.#options;
    const wasStable = this.#state === "up" &&
      clock.nowMs() - this.#upSinceMs >= STABLE_MS;
    this.#failures = wasStable ? 0 : this.#failures + 1;
    this.#state = "waiting";
    const reason = `Cannot use "${formatRedisAddress(address)}": ${
      redisErrorText(error, this.#secrets)
    }`;
    this.#close(reason);
    if (wasStable) {
      this.#dial();
    } else {
      this.#timer = clock.setTimer(
        () => this.#dial(),
        redialDelayMs(this.#failures, random),
      );
    }
    onChange(reason);
  }

  #close(reason: string): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#watch.stop();
    const client = this.#client;
    this.#client = undefined;
    const calls = [...this.#pending];
    this.#pending.clear();
    client?.destroy();
    this.#options.expiries?.forget();
    if (this.#isCounted) {
      this.#isCounted = false;
      this.#options.tally?.closed();
    }
    for (const call of calls) {
      call.settle({ kind: "unavailable", reason, mayHaveCounted: true });
    }
  }

  /** The time is over for a dial or a call, or a call has waited long. */
  #onDue(): void {
    const { clock, timeoutMs, onDoubt } = this.#options;
    if (this.#state === "dialling") return this.#lose(timeout(timeoutMs));
    const nowMs = clock.nowMs();
    const deadlineMs = this.#firstDeadlineMs();
    if (deadlineMs <= nowMs) return this.#lose(timeout(timeoutMs));
    const longMs = deadlineMs - this.#marginMs;
    this.#watch.at(
      longMs > nowMs
        ? longMs
        : Math.min(deadlineMs, nowMs + this.#silence.doubtMs),
    );
    if (longMs <= nowMs) onDoubt?.();
  }

  #firstDeadlineMs(): number {
    let first = Infinity;
    for (const { deadlineMs } of this.#pending) {
      if (deadlineMs < first) first = deadlineMs;
    }
    return first;
  }
}

function timeout(timeoutMs: number): Error {
  return new Error(`no answer within ${timeoutMs} ms`);
}

function unavailable(reason: string): RedisOutcome {
  return { kind: "unavailable", reason };
}

/**
 * Asks a server whether it can be used: it answers a PING, so it is neither
 * loading nor waiting for a password, and is a master where that matters.
 *
 * @throws {Error} When it can't be used.
 */
async function greet(
  client: RedisClient,
  mustBeMaster: boolean,
): Promise<void> {
  const [pong = null] = await replies(client, [["PING"]]);
  if (isRedisRefusal(pong)) throw new Error(pong.refusal);
  if (!mustBeMaster) return;
  const [role = null] = await replies(client, [ROLE_COMMAND]);
  const problem = roleProblem(role);
  if (problem !== undefined) throw new Error(problem);
}
