/**
 * Hash slots of a cluster: the slot of a key, the key of a command, and the
 * node that serves a slot.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { formatRedisAddress, type RedisAddress } from "./address.ts";
import type { RedisArgument, RedisCommand } from "./client.ts";
import type { RedisReply } from "./reply.ts";

/** Number of slots of every cluster. */
export const SLOT_COUNT = 16_384;

const POLYNOMIAL = 0x1021;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/**
 * The slot of a key: the CRC-16 (XMODEM) of the key modulo 16384, or of what is
 * between its first `{` and the next `}` when that is not empty (cluster
 * specification, "Hash tags").
 */
export function keySlot(key: Uint8Array): number {
  const open = key.indexOf(OPEN);
  const close = open < 0 ? -1 : key.indexOf(CLOSE, open + 1);
  const tagged = close > open + 1;
  const start = tagged ? open + 1 : 0;
  const end = tagged ? close : key.length;
  let crc = 0;
  for (let i = start; i < end; i++) {
    crc ^= key[i]! << 8;
    for (let bit = 0; bit < 8; bit++) {
      crc = crc & 0x8000 ? (crc << 1 ^ POLYNOMIAL) & 0xffff : crc << 1;
    }
  }
  return crc % SLOT_COUNT;
}

/** Commands of one key that follow each other and go the same way. */
export interface KeyRun {
  /** Index of the first command. */
  readonly start: number;
  /** One past the index of the last. */
  readonly end: number;
  /** The key. */
  readonly key: Uint8Array;
}

/**
 * Divides commands into runs: commands next to each other whose key is the very
 * same object form one.
 *
 * @throws {RangeError} When a command has no key.
 */
export function keyRuns(commands: readonly RedisCommand[]): readonly KeyRun[] {
  const runs: KeyRun[] = [];
  for (let start = 0; start < commands.length;) {
    const key = commandKey(commands[start]!);
    let end = start + 1;
    while (end < commands.length && commandKey(commands[end]!) === key) end++;
    runs.push({
      start,
      end,
      key: typeof key === "string" ? Buffer.from(key) : key,
    });
    start = end;
  }
  return runs;
}

/**
 * Scripts name the number of their keys first; all others begin with the key.
 */
function commandKey(command: RedisCommand): RedisArgument {
  const [verb] = command;
  const key = verb === "EVAL" || verb === "EVALSHA" ? command[3] : command[1];
  if (key !== undefined) return key;
  throw new RangeError(`Cannot find the key of the command "${verb}"`);
}

/** Asks a node for its view of the cluster; every version knows this form. */
export const SLOTS_COMMAND: readonly string[] = ["CLUSTER", "SLOTS"];

/** Masters by slot. */
export class SlotMap {
  readonly #masters: readonly RedisAddress[];
  readonly #bySlot: Int16Array;

  /**
   * Makes a map of `masters`, whose indexes stand in `bySlot`; -1 for no
   * master.
   */
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
 * The address of a node as another one gives it; its host is empty or null when
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
