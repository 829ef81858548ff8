/**
 * Hash slots of a Redis cluster: the slot of a key, the key of a command, and
 * the node that serves a slot. Also divides the commands of a call by node, and
 * reads redirections.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { formatRedisAddress, type RedisAddress } from "./address.ts";
import type { RedisArgument, RedisCommand } from "./command_writer.ts";
import type { RedisPool } from "./pool.ts";
import { isRedisRefusal, type RedisReply } from "./reply.ts";

/** Number of slots of every cluster. */
const SLOT_COUNT = 16_384;

const POLYNOMIAL = 0x1021;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/**
 * Returns the slot of a key: the CRC-16 (XMODEM) of the key modulo 16384, or of
 * what is between its first `{` and the next `}` when that is not empty
 * (cluster specification, "Hash tags").
 */
export function keySlot(key: Uint8Array): number {
  const open = key.indexOf(OPEN);
  const close = open < 0 ? -1 : key.indexOf(CLOSE, open + 1);
  const tagged = close > open + 1;
  return crc16(tagged ? key.subarray(open + 1, close) : key) % SLOT_COUNT;
}

function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (let i = 0; i < bytes.length; i++) {
    crc ^= bytes[i]! << 8;
    for (let bit = 0; bit < 8; bit++) {
      crc = crc & 0x8000 ? (crc << 1 ^ POLYNOMIAL) & 0xffff : crc << 1;
    }
  }
  return crc;
}

/**
 * Returns a key of a slot, made of `prefix` and two bytes, by running the
 * checksum backwards. When a hash tag in `prefix` keeps all its keys in one
 * slot, the key is in that slot.
 */
export function keyInSlot(prefix: string, slot: number): Buffer {
  const bytes = Buffer.from(prefix);
  for (let wanted = slot; wanted < 0x1_0000; wanted += SLOT_COUNT) {
    let crc = wanted;
    for (let bit = 0; bit < 16; bit++) {
      crc = crc & 1 ? (crc ^ POLYNOMIAL) >> 1 | 0x8000 : crc >> 1;
    }
    const end = crc ^ crc16(bytes);
    const key = Buffer.concat([bytes, Buffer.from([end >> 8, end & 0xff])]);
    // The two bytes may close a hash tag that `prefix` opens.
    if (keySlot(key) === slot) return key;
  }
  return bytes;
}

/** Adjacent commands with the same key, which are sent to the same node. */
interface KeyRun {
  /** Index of the first command. */
  readonly start: number;
  /** One past the index of the last command. */
  readonly end: number;
  /** The key. */
  readonly key: Uint8Array;
}

/**
 * Divides commands into runs: adjacent commands whose key is the very same
 * object are one run.
 *
 * @throws {RangeError} When a command has no key.
 */
function keyRuns(commands: readonly RedisCommand[]): readonly KeyRun[] {
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
 * Returns the key of a command. Scripts name the number of their keys first;
 * all other commands begin with the key.
 */
function commandKey(command: RedisCommand): RedisArgument {
  const [verb] = command;
  const key = verb === "EVAL" || verb === "EVALSHA" ? command[3] : command[1];
  if (key !== undefined) return key;
  throw new RangeError(`Cannot find the key of the command "${verb}"`);
}

/**
 * The command that asks a node which nodes serve the slots; every version of
 * the server knows it.
 */
export const SLOTS_COMMAND: readonly string[] = ["CLUSTER", "SLOTS"];

/** The master of each slot. */
export class SlotMap {
  readonly #masters: readonly RedisAddress[];
  readonly #bySlot: Int16Array;

  /**
   * Makes a map of `masters`. For each slot, `bySlot` has the index of its
   * master, or -1 for a slot without one.
   */
  constructor(masters: readonly RedisAddress[], bySlot: Int16Array) {
    this.#masters = masters;
    this.#bySlot = bySlot;
  }

  /** True when all slots have a master. */
  get isWhole(): boolean {
    return !this.#bySlot.includes(-1);
  }

  /** All masters that serve a slot. */
  get masters(): readonly RedisAddress[] {
    return this.#masters;
  }

  /**
   * Returns the master that serves a slot; undefined when there is no master.
   */
  findMaster(slot: number): RedisAddress | undefined {
    return this.#masters[this.#bySlot[slot] ?? -1];
  }

  /** Returns a slot that `master` serves; undefined when it serves none. */
  findSlot(master: RedisAddress): number | undefined {
    const index = this.#findMasterIndex(master);
    const slot = index < 0 ? -1 : this.#bySlot.indexOf(index);
    return slot < 0 ? undefined : slot;
  }

  #findMasterIndex(master: RedisAddress): number {
    const name = formatRedisAddress(master);
    return this.#masters.findIndex((one) => formatRedisAddress(one) === name);
  }

  /** Returns a map in which `master` serves `slot`. */
  withMove(slot: number, master: RedisAddress): SlotMap {
    const masters = [...this.#masters];
    let index = this.#findMasterIndex(master);
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
 * Returns the address of a node as another one gives it. The host is empty or
 * null when it is that of the node that was asked, and "?" when it is not
 * known.
 */
function announcedAddress(
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

/** Commands of one key that are not yet executed. */
export interface PendingCommand {
  /** The commands. */
  readonly run: KeyRun;
  /** Slot of their key. */
  readonly slot: number;
  /** Index of the first command to send; those before it were executed. */
  readonly from: number;
  /**
   * The node to send them to this time, instead of the one that serves the
   * slot.
   */
  readonly asked?: RedisPool;
}

/** The part of a call that goes to one node. */
export interface Part {
  /** The node. */
  readonly node: RedisPool;
  /** True when an ASKING goes before every command. */
  readonly isAsking: boolean;
  /** The commands to send. */
  readonly pending: readonly PendingCommand[];
}

/** A command that a node redirected, with those of its run that follow it. */
export interface Redirected {
  /** The commands that are still to be executed. */
  readonly command: PendingCommand;
  /** Where, or when, to send them. */
  readonly redirect: Redirect;
}

const ASKING: RedisCommand = ["ASKING"];

/** Returns the pending commands of a call. */
export function createPending(
  commands: readonly RedisCommand[],
): readonly PendingCommand[] {
  return keyRuns(commands).map((run) => ({
    run,
    slot: keySlot(run.key),
    from: run.start,
  }));
}

/** Returns the commands to send for a part of a call, in one write. */
export function listCommands(
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
 * returns the commands that were redirected.
 *
 * @param received The replies to {@linkcode listCommands}.
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
        // The commands behind it are sent again with it, see `keyRuns`.
        redirected.push({ command: { run, slot, from: from + i }, redirect });
        break;
      }
      replies[from + i] = reply;
    }
  }
  return redirected;
}

/**
 * Where, or when, to send a command that a node did not execute; `reason` is
 * what the node said.
 */
type Redirect =
  /** The slot belongs to another node from now on. */
  | {
    readonly kind: "moved";
    readonly slot: number;
    readonly address: RedisAddress;
    readonly reason: string;
  }
  /**
   * This time only, to the node that takes the slot over, with ASKING before
   * it.
   */
  | {
    readonly kind: "ask";
    readonly address: RedisAddress;
    readonly reason: string;
  }
  /** The command must be sent later, to the node that serves the slot then. */
  | { readonly kind: "later"; readonly reason: string };

/**
 * Reads a redirection (cluster specification, "Redirection and resharding").
 *
 * @param asked The node that replied.
 * @returns `undefined` for any other reply.
 */
function readRedirect(
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
  // The cluster is empty or has no majority, the slot is half moved, the server
  // is a replica that has just become a master, or one whose master is down.
  return /^(CLUSTERDOWN|TRYAGAIN|LOADING|MASTERDOWN)\b/.test(refusal)
    ? { kind: "later", reason: refusal }
    : undefined;
}
