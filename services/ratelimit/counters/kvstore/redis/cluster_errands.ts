/**
 * What is still to be carried out of a call to a cluster.
 *
 * @module
 */

import type { RedisCommand } from "./client.ts";
import type { ClusterNode } from "./cluster_nodes.ts";
import { type KeyRun, keyRuns } from "./command_key.ts";
import { keySlot } from "./key_slot.ts";
import { readRedirect, type Redirect } from "./redirect.ts";
import type { RedisReply } from "./reply.ts";

/** Commands of one key that are still to be carried out. */
export interface Errand {
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
  readonly errands: readonly Errand[];
}

/** An errand that a node turned away. */
export interface TurnedAway {
  /** What is left of it. */
  readonly errand: Errand;
  /** Where to go with it. */
  readonly redirect: Redirect;
}

const ASKING: RedisCommand = ["ASKING"];

/** The errands of a call. */
export function errandsOf(
  commands: readonly RedisCommand[],
): readonly Errand[] {
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
  return part.errands.flatMap(({ run, from }) => {
    const own = commands.slice(from, run.end);
    return part.isAsking ? own.flatMap((command) => [ASKING, command]) : own;
  });
}

/**
 * Puts the replies to a part into their places among those of the call, and
 * tells what was turned away.
 *
 * @param received The replies to {@linkcode commandsOf}.
 */
export function collectReplies(
  part: Part,
  received: readonly RedisReply[],
  replies: RedisReply[],
): readonly TurnedAway[] {
  const turnedAway: TurnedAway[] = [];
  const step = part.isAsking ? 2 : 1;
  let start = 0;
  for (const { run, slot, from } of part.errands) {
    const own = received.slice(start, start += (run.end - from) * step)
      .filter((_, i) => i % step === step - 1);
    for (const [i, reply] of own.entries()) {
      const redirect = readRedirect(reply, part.node.address);
      if (redirect !== undefined) {
        // What follows goes again with it, see `keyRuns`.
        turnedAway.push({ errand: { run, slot, from: from + i }, redirect });
        break;
      }
      replies[from + i] = reply;
    }
  }
  return turnedAway;
}
