/**
 * What a cluster's node says instead of carrying a command out.
 *
 * @module
 */

import type { RedisAddress } from "./address.ts";
import { isRedisRefusal, type RedisReply } from "./reply.ts";
import { announcedAddress } from "./slot_map.ts";

/**
 * Where to go with a command that was not carried out; `reason` is what the
 * node said.
 */
export type Redirect =
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
  /** Later, to whoever serves the slot then. */
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
