/**
 * The commands of a call to a cluster that are still to be carried out: sorted
 * by node, sent again after redirections.
 *
 * @module
 */

import type { Clock, Timer } from "../../../../shared/clock.ts";
import type { RedisAddress } from "./address.ts";
import type { RedisCommand } from "./client.ts";
import type { ClusterNode } from "./cluster_topology.ts";
import { isRedisRefusal, type RedisReply } from "./reply.ts";
import { announcedAddress, type KeyRun, keyRuns, keySlot } from "./slot_map.ts";

/** Commands of one key that are still to be carried out. */
export interface PendingCommand {
  /** The commands. */
  readonly run: KeyRun;
  /** Where they belong. */
  readonly slot: number;
  /** Index of the first command to send; those before it are done. */
  readonly from: number;
  /** The node to ask this time, instead of the one that serves the slot. */
  readonly asked?: ClusterNode;
}

/** What one node is sent. */
export interface Part {
  /** The node. */
  readonly node: ClusterNode;
  /** Whether every command goes behind an ASKING. */
  readonly isAsking: boolean;
  /** What it is to do. */
  readonly pending: readonly PendingCommand[];
}

/** A command that a node redirected. */
export interface Redirected {
  /** What is left of it. */
  readonly command: PendingCommand;
  /** Where to go with it. */
  readonly redirect: Redirect;
}

const ASKING: RedisCommand = ["ASKING"];

/** The pending commands of a call. */
export function pendingOf(
  commands: readonly RedisCommand[],
): readonly PendingCommand[] {
  return keyRuns(commands).map((run) => ({
    run,
    slot: keySlot(run.key),
    from: run.start,
  }));
}

/** What to send for a part of a call, in one write. */
export function commandsOf(
  part: Part,
  commands: readonly RedisCommand[],
): readonly RedisCommand[] {
  return part.pending.flatMap(({ run, from }) => {
    const own = commands.slice(from, run.end);
    return part.isAsking ? own.flatMap((command) => [ASKING, command]) : own;
  });
}

/**
 * Puts the replies to a part into their places among those of the call, and
 * returns those that were redirected.
 *
 * @param received The replies to {@linkcode commandsOf}.
 */
export function collectReplies(
  part: Part,
  received: readonly RedisReply[],
  replies: RedisReply[],
): readonly Redirected[] {
  const redirected: Redirected[] = [];
  const step = part.isAsking ? 2 : 1;
  let start = 0;
  for (const { run, slot, from } of part.pending) {
    const own = received.slice(start, start += (run.end - from) * step)
      .filter((_, i) => i % step === step - 1);
    for (const [i, reply] of own.entries()) {
      const redirect = readRedirect(reply, part.node.address);
      if (redirect !== undefined) {
        // What follows goes again with it, see `keyRuns`.
        redirected.push({ command: { run, slot, from: from + i }, redirect });
        break;
      }
      replies[from + i] = reply;
    }
  }
  return redirected;
}

/**
 * Where to go with a command that was not carried out; `reason` is what the
 * node said.
 */
type Redirect =
  /** The slot belongs to another node from now on. */
  | {
    readonly kind: "moved";
    readonly slot: number;
    readonly address: RedisAddress;
    readonly reason: string;
  }
  /** This time, with ASKING in front, to the node that takes the slot over. */
  | {
    readonly kind: "ask";
    readonly address: RedisAddress;
    readonly reason: string;
  }
  /** Later, to the node that serves the slot then. */
  | { readonly kind: "later"; readonly reason: string };

/**
 * Reads a redirection (cluster specification, "Redirection and resharding").
 *
 * @param asked The node that replied.
 * @returns `undefined` for any other reply.
 */
export function readRedirect(
  reply: RedisReply,
  asked: RedisAddress,
): Redirect | undefined {
  if (!isRedisRefusal(reply)) return undefined;
  const { refusal } = reply;
  const match = /^(MOVED|ASK) (\d{1,5}) (\S*):(\d{1,5})$/.exec(refusal);
  if (match !== null) {
    const [, verb, slot, host, port] = match;
    const address = announcedAddress({ host, port: Number(port) }, asked);
    if (address === undefined) return { kind: "later", reason: refusal };
    return verb === "ASK"
      ? { kind: "ask", address, reason: refusal }
      : { kind: "moved", slot: Number(slot), address, reason: refusal };
  }
  // An empty cluster or one without a majority, a slot half moved, a replica
  // that has just become a master, one whose master is away.
  return /^(CLUSTERDOWN|TRYAGAIN|LOADING|MASTERDOWN)\b/.test(refusal)
    ? { kind: "later", reason: refusal }
    : undefined;
}

/** Pauses of several calls, which can all be ended at once. */
export class Pauses {
  readonly #clock: Clock;
  readonly #open = new Map<Timer, () => void>();
  #isEnded = false;

  /** No call pauses yet. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves after `ms` milliseconds, or at the end. */
  pause(ms: number): Promise<void> {
    if (this.#isEnded) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = this.#clock.setTimer(() => {
        this.#open.delete(timer);
        resolve();
      }, ms);
      this.#open.set(timer, resolve);
    });
  }

  /** Ends all pauses, and those to come at once. */
  end(): void {
    this.#isEnded = true;
    for (const [timer, resolve] of this.#open) {
      timer.cancel();
      resolve();
    }
    this.#open.clear();
  }
}
