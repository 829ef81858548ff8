/**
 * A link to a Redis cluster: it sends each command to the node that serves the
 * command's key.
 *
 * @module
 */

import { pause } from "../../../../shared/periodic.ts";
import { formatRedisAddress, type RedisClusterNodes } from "./address.ts";
import { StoreOutages } from "../../store_outages.ts";
import { ClusterNodes, ClusterTopology } from "./cluster_topology.ts";
import type { RedisArgument, RedisCommand } from "./command_writer.ts";
import {
  type ListedHits,
  type RedisLink,
  sendListed,
  WaitingSends,
} from "./link.ts";
import { probeCommands, RedisPool, type RedisPoolOptions } from "./pool.ts";
import type { RedisOutcome, RedisReply } from "./reply.ts";
import {
  collectReplies,
  createPending,
  keyInSlot,
  listCommands,
  type Part,
  type PendingCommand,
  type Redirected,
} from "./slot_map.ts";
import { UnservedSlots } from "./unserved_slots.ts";

/**
 * How a {@linkcode RedisCluster} is made; `size` is the number of connections
 * to each node.
 */
interface RedisClusterOptions extends
  Omit<
    RedisPoolOptions,
    "address" | "database" | "mustBeMaster" | "onChange" | "probeKey" | "part"
  > {
  /** Some nodes of the cluster. */
  readonly seeds: RedisClusterNodes;
  /**
   * Begin of the names of counters that probes write.
   *
   * @default "breaker_probe"
   */
  readonly probePrefix?: string | undefined;
}

type Unavailable = Extract<RedisOutcome, { readonly kind: "unavailable" }>;

/** How a call is carried out. */
interface CallLimits {
  /** When the caller gives up, by the clock. */
  readonly deadlineMs: number;
  /** True to send to slots that are known to be unserved, and not to pause. */
  readonly isProbe: boolean;
}

/** Times that a part of a call is sent, including the first time. */
const MAX_ROUNDS = 6;
const FIRST_PAUSE_MS = 20;
/**
 * Share of a call's time limit that must be left for another round to begin.
 */
const LAST_START = 0.25;

/**
 * Sends each command to the node that serves its key, all nodes at once, with
 * one round trip when the map of slots is right. A node that redirects a
 * command, or asks to try again later, has not executed it, so that part is
 * sent again, a few times and within the time limit.
 *
 * A node that does not answer makes the whole call unavailable; what the others
 * did is not undone. A call is not sent at all when one of its nodes is known to
 * be out, or one of its slots to have no node; calls to others go on.
 */
export class RedisCluster implements RedisLink {
  readonly #options: RedisClusterOptions;
  readonly #topology: ClusterTopology;
  readonly #nodes: ClusterNodes;
  readonly #waiting: WaitingSends;
  readonly #unserved: UnservedSlots;
  readonly #probePrefix: string;
  readonly #life = new AbortController();
  #lastReason = "not started";

  /** Makes a cluster that is not connected yet. */
  constructor(options: RedisClusterOptions) {
    const outages = options.outages ?? new StoreOutages(options);
    this.#options = options;
    this.#probePrefix = options.probePrefix ?? "breaker_probe";
    this.#waiting = new WaitingSends(options);
    this.#unserved = new UnservedSlots({
      ...options,
      outages,
      write: (slot) => this.#write(slot),
    });
    this.#nodes = new ClusterNodes({
      timeoutMs: options.timeoutMs,
      clock: options.clock,
      outages,
      makePool: (address) =>
        new RedisPool({
          ...options,
          address,
          outages,
          probeKey: () => this.#probeKey(this.#topology.map?.findSlot(address)),
          onChange: (reason) => {
            // What one node suffers from, or has got over, all of them may.
            this.#nodes.suspect(reason !== undefined);
            if (reason !== undefined) this.#topology.refresh();
          },
        }),
    });
    this.#topology = new ClusterTopology({
      ...options,
      outages,
      seeds: options.seeds.nodes,
      isUp: (address) => this.#nodes.isUp(address),
      onRefresh: (reason) => this.#onRefresh(reason),
    });
  }

  /** True while at least one node is up. */
  get isUp(): boolean {
    return this.#nodes.isSomeUp;
  }

  /** Begins to look for the nodes; cannot be started again after `stop`. */
  start(): void {
    if (this.#life.signal.aborted) return;
    this.#lastReason = "not connected yet";
    this.#topology.start();
  }

  /** Closes all connections; calls that wait are answered as unavailable. */
  stop(): void {
    this.#life.abort();
    this.#lastReason = "stopped";
    this.#topology.stop();
    this.#unserved.stop();
    this.#nodes.stop();
    this.#waiting.failAll(this.#lastReason);
  }

  /**
   * Executes commands, each of which has one key. Adjacent commands whose key
   * is the very same object are one unit: when a node redirects one of them,
   * those behind it are sent again with it. It must do no harm to execute these
   * twice, as with `EXPIRE` behind `INCRBY`.
   *
   * @param deadlineMs When the caller gives up, by the clock.
   */
  send(
    commands: readonly RedisCommand[],
    deadlineMs: number,
  ): Promise<RedisOutcome> {
    if (this.#topology.map !== undefined) {
      const limits = { deadlineMs, isProbe: false };
      return this.#carryOut(commands, limits);
    }
    if (this.#topology.isFirstRound) {
      return this.#waiting.add(commands, deadlineMs);
    }
    return Promise.resolve({ kind: "unavailable", reason: this.#lastReason });
  }

  /**
   * Counts hits, each on the node that serves its key; there they are merged
   * with those of other calls.
   */
  hit<Answer>(hits: ListedHits<Answer>, deadlineMs: number): Promise<Answer> {
    return sendListed(hits, (commands) => this.send(commands, deadlineMs));
  }

  #onRefresh(reason: string | undefined): void {
    const { map } = this.#topology;
    if (map !== undefined) {
      this.#nodes.keep(map.masters);
      this.#waiting.release((commands, deadlineMs) =>
        this.send(commands, deadlineMs)
      );
    } else if (reason !== undefined) {
      this.#lastReason = `no map of slots: ${reason}`;
      this.#waiting.failAll(this.#lastReason);
    }
  }

  #probeKey(slot: number | undefined): RedisArgument {
    const prefix = this.#probePrefix;
    return slot === undefined ? prefix : keyInSlot(prefix, slot);
  }

  #write(slot: number): Promise<RedisOutcome> {
    const { clock, timeoutMs } = this.#options;
    const deadlineMs = clock.nowMs() + timeoutMs;
    return this.#carryOut(probeCommands(this.#probeKey(slot)), {
      deadlineMs,
      isProbe: true,
    });
  }

  async #carryOut(
    commands: readonly RedisCommand[],
    { deadlineMs, isProbe }: CallLimits,
  ): Promise<RedisOutcome> {
    const { clock, timeoutMs } = this.#options;
    const lastStartMs = deadlineMs - timeoutMs * LAST_START;
    const replies = new Array<RedisReply>(commands.length).fill(null);
    let pending = createPending(commands);
    for (let round = 1;; round++) {
      const known = isProbe ? undefined : this.#unserved.findReason(pending);
      const parts = known ?? this.#groupByNode(pending);
      if (typeof parts === "string") {
        return unavailable({ reason: parts }, replies);
      }
      const outcomes = await Promise.all(
        parts.map((part) =>
          part.node.send(listCommands(part, commands), deadlineMs)
        ),
      );
      const redirected: Redirected[] = [];
      let failed: Unavailable | undefined;
      for (const [i, part] of parts.entries()) {
        const outcome = outcomes[i]!;
        if (outcome.kind === "replied") {
          redirected.push(...collectReplies(part, outcome.replies, replies));
        } else if (failed?.mayHaveCounted !== true) failed = outcome;
      }
      if (failed !== undefined) return this.#failed(failed, replies);
      const last = redirected.at(-1)?.redirect;
      if (last === undefined) return { kind: "replied", replies };
      pending = redirected.map((one) => this.#afterRedirect(one))
        .sort((a, b) => a.from - b.from);
      const pauseMs = pauseBefore(round + 1, redirected);
      // While slots are unserved, calls do not wait for further ones.
      const isLast = round === MAX_ROUNDS ||
        (pauseMs > 0 && (isProbe || !this.#unserved.isEmpty));
      if (isLast || clock.nowMs() + pauseMs > lastStartMs) {
        this.#unserved.add(pending, `no node serves a slot: ${last.reason}`);
        return this.#failed(last, replies);
      }
      if (pauseMs > 0) {
        await pause(pauseMs, { clock, signal: this.#life.signal });
      }
    }
  }

  /** Groups pending commands by node; a text says why some can't be sent. */
  #groupByNode(pending: readonly PendingCommand[]): readonly Part[] | string {
    if (this.#life.signal.aborted) return this.#lastReason;
    const parts = new Map<
      string,
      Part & { readonly pending: PendingCommand[] }
    >();
    for (const command of pending) {
      const { slot, asked } = command;
      const address = asked?.address ?? this.#topology.map?.findMaster(slot);
      if (address === undefined) {
        const reason = `no node serves slot ${slot}`;
        this.#unserved.add([command], reason);
        this.#topology.refresh();
        return reason;
      }
      const isAsking = asked !== undefined;
      const name = `${isAsking ? "ask " : ""}${formatRedisAddress(address)}`;
      const part = parts.get(name);
      if (part === undefined) {
        const node = asked ?? this.#nodes.get(address);
        parts.set(name, { node, isAsking, pending: [command] });
      } else {
        part.pending.push(command);
      }
    }
    for (const { node } of parts.values()) {
      if (node.outage !== undefined) return node.outage;
    }
    return [...parts.values()];
  }

  /**
   * Updates the map of slots by a redirection; returns the command for the next
   * round.
   */
  #afterRedirect({ command, redirect }: Redirected): PendingCommand {
    switch (redirect.kind) {
      case "moved":
        this.#topology.move(redirect.slot, redirect.address);
        return command;
      case "ask":
        return { ...command, asked: this.#nodes.get(redirect.address) };
      case "later":
        this.#topology.refresh();
        return command;
    }
  }

  #failed(
    failure: Omit<Unavailable, "kind">,
    replies: readonly RedisReply[],
  ): RedisOutcome {
    this.#topology.refresh();
    return unavailable(failure, replies);
  }
}

function unavailable(
  { reason, mayHaveCounted = false }: Omit<Unavailable, "kind">,
  replies: readonly RedisReply[],
): RedisOutcome {
  return mayHaveCounted || replies.some((reply) => reply !== null)
    ? { kind: "unavailable", reason, mayHaveCounted: true }
    : { kind: "unavailable", reason };
}

/**
 * Returns the milliseconds to wait before a round. The first redirections are
 * followed at once, later ones after a pause, in case they form a circle.
 */
function pauseBefore(
  round: number,
  redirected: readonly Redirected[],
): number {
  const isLater = redirected.some(({ redirect }) => redirect.kind === "later");
  return isLater || round > 3 ? FIRST_PAUSE_MS * 2 ** (round - 2) : 0;
}
