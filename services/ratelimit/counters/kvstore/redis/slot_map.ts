/**
 * Which node of a cluster serves which slot.
 *
 * @module
 */

import { formatRedisAddress, type RedisAddress } from "./address.ts";
import { SLOT_COUNT } from "./key_slot.ts";
import type { RedisReply } from "./reply.ts";

/** Asks a node for its view of the cluster; every version knows this form. */
export const SLOTS_COMMAND: readonly string[] = ["CLUSTER", "SLOTS"];

/** Masters by slot. */
export class SlotMap {
  readonly #masters: readonly RedisAddress[];
  readonly #bySlot: Int16Array;

  /** Makes a map of `masters`, whose indexes stand in `bySlot`; -1 is none. */
  constructor(masters: readonly RedisAddress[], bySlot: Int16Array) {
    this.#masters = masters;
    this.#bySlot = bySlot;
  }

  /** All masters that serve a slot. */
  get masters(): readonly RedisAddress[] {
    return this.#masters;
  }

  /** The master that serves a slot, if any. */
  masterOf(slot: number): RedisAddress | undefined {
    return this.#masters[this.#bySlot[slot] ?? -1];
  }

  /** A map in which `master` serves `slot`. */
  withMove(slot: number, master: RedisAddress): SlotMap {
    const name = formatRedisAddress(master);
    const masters = [...this.#masters];
    let index = masters.findIndex((other) =>
      formatRedisAddress(other) === name
    );
    if (index < 0) index = masters.push(master) - 1;
    const bySlot = this.#bySlot.slice();
    bySlot[slot] = index;
    return new SlotMap(masters, bySlot);
  }
}

/**
 * Reads the reply to {@linkcode SLOTS_COMMAND}.
 *
 * @param asked The node that replied; it leaves its own host out when it does
 * not know it.
 * @returns `undefined` for a reply of another form.
 */
export function readSlots(
  reply: RedisReply,
  asked: RedisAddress,
): SlotMap | undefined {
  if (!isList(reply)) return undefined;
  const bySlot = new Int16Array(SLOT_COUNT).fill(-1);
  const masters: RedisAddress[] = [];
  const indexes = new Map<string, number>();
  for (const range of reply) {
    if (!isList(range)) return undefined;
    const [first, last, node] = range;
    if (!isSlot(first) || !isSlot(last) || !isList(node ?? null)) {
      return undefined;
    }
    const master = nodeAddress(node as readonly RedisReply[], asked);
    if (master === undefined) continue;
    const name = formatRedisAddress(master);
    const index = indexes.get(name) ?? masters.push(master) - 1;
    indexes.set(name, index);
    bySlot.fill(index, first, last + 1);
  }
  return new SlotMap(masters, bySlot);
}

/**
 * The address of a node as another one tells it; its host is empty or null when
 * it is that of the node that was asked, and "?" when it is not known.
 */
export function announcedAddress(
  node: { readonly host: RedisReply | undefined; readonly port: number },
  asked: RedisAddress,
): RedisAddress | undefined {
  const { port } = node;
  const ownHost = asked.kind === "tcp" ? asked.host : undefined;
  const host = node.host === "" || node.host === null ? ownHost : node.host;
  if (typeof host !== "string" || host === "?") return undefined;
  return Number.isInteger(port) && port > 0 && port < 65_536
    ? { kind: "tcp", host, port }
    : undefined;
}

function nodeAddress(
  node: readonly RedisReply[],
  asked: RedisAddress,
): RedisAddress | undefined {
  const [host, port] = node;
  return announcedAddress({ host, port: Number(port) }, asked);
}

function isList(
  reply: RedisReply,
): reply is readonly RedisReply[] {
  return Array.isArray(reply);
}

function isSlot(value: RedisReply | undefined): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 &&
    value < SLOT_COUNT;
}
