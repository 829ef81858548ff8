/**
 * Reads the replies of a Redis server from the bytes of a connection, in
 * whatever pieces these arrive (RESP2: redis.io, "Redis serialization protocol
 * specification"), and tells what errors, roles and refusals among the replies
 * mean.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { describeError } from "../../../../shared/settled.ts";

const MAX_LENGTH = 200;

/**
 * Returns the text of an error in a few words.
 *
 * @param secrets Texts that must not be shown. A server repeats the arguments
 * of a command it does not know, and signing in is a command.
 */
export function redisErrorText(
  error: unknown,
  secrets: readonly string[] = [],
): string {
  let text = plainText(error).replace(/,? with args beginning with:.*/s, "");
  for (const secret of secrets) {
    if (secret !== "") text = text.replaceAll(secret, "***");
  }
  return text.slice(0, MAX_LENGTH);
}

function plainText(error: unknown): string {
  // A name with several addresses fails with one error for each of them.
  if (error instanceof AggregateError && error.errors.length > 0) {
    return error.errors.map(plainText).join("; ");
  }
  return describeError(error);
}

/** A command that the server refused. */
interface RedisRefusal {
  /** The server's error text, for instance "READONLY You can't write …". */
  readonly refusal: string;
  /**
   * True for a hit that was counted all the same: its counter's expiry was
   * refused.
   *
   * @default {false}
   */
  readonly hasCounted?: boolean;
}

/** The reply to one command. */
export type RedisReply =
  | number
  | string
  | null
  | RedisRefusal
  | readonly RedisReply[];

/** The outcome of some commands. */
export type RedisOutcome =
  /** One reply for each command, in their order. */
  | { readonly kind: "replied"; readonly replies: readonly RedisReply[] }
  /** There was no reply in time. */
  | {
    readonly kind: "unavailable";
    readonly reason: string;
    /**
     * True when commands may have been executed all the same.
     *
     * @default {false}
     */
    readonly mayHaveCounted?: boolean;
  };

/** True when the server refused the command. */
export function isRedisRefusal(reply: RedisReply): reply is RedisRefusal {
  return typeof reply === "object" && reply !== null && "refusal" in reply;
}

/**
 * A redirection to another node of a cluster. It repeats no argument, and must
 * be read as it is: a password may also be a part of a node's name.
 */
const REDIRECTION = /^(?:MOVED|ASK) \d{1,5} \S*:\d{1,5}$/;

/**
 * Returns the reply with its refusals cut to a few words, without the secrets.
 */
export function withoutSecrets(
  reply: RedisReply,
  secrets: readonly string[],
): RedisReply {
  if (isRedisRefusal(reply)) {
    if (REDIRECTION.test(reply.refusal)) return reply;
    return { ...reply, refusal: redisErrorText(reply.refusal, secrets) };
  }
  return Array.isArray(reply)
    ? reply.map((part) => withoutSecrets(part, secrets))
    : reply;
}

/** The command that asks a server for its role. */
export const ROLE_COMMAND: readonly string[] = ["ROLE"];

/**
 * Reads the reply to {@linkcode ROLE_COMMAND}. A server that does not tell, a
 * proxy for instance or one whose access list forbids it, may be a master.
 *
 * @returns Why the server can't be used, `undefined` when it can.
 */
export function roleProblem(reply: RedisReply): string | undefined {
  if (isRedisRefusal(reply) || !Array.isArray(reply)) return undefined;
  const [role] = reply;
  return role === "master" ? undefined : `it is a ${toNoun(role)}, no master`;
}

/** True for a refusal by a server that is, or has become, a replica. */
export function isReadOnlyRefusal(refusal: string): boolean {
  // Within a script, old servers put other words before the code.
  return /\bREADONLY\b/.test(refusal);
}

/**
 * Refusals of a server that serves: the key has another type or another node,
 * the script is not known, or the user of an access list may not use the key.
 */
const OF_ONE_CALL =
  /^(?:MOVED|ASK|TRYAGAIN|CROSSSLOT|NOSCRIPT|WRONGTYPE)\b|^NOPERM\b.*\bkeys?\b|not an integer|would overflow/;

/** True for a refusal that only nodes of a cluster give. */
export function isOfCluster(refusal: string): boolean {
  return /^(?:MOVED|ASK|CLUSTERDOWN|CROSSSLOT|TRYAGAIN)\b/.test(refusal);
}

/** True when a refusal may mean that the server refuses all calls. */
export function mayRefuseAll(refusal: string): boolean {
  return !OF_ONE_CALL.test(refusal);
}

function toNoun(role: RedisReply | undefined): string {
  return role === "slave" ? "replica" : String(role);
}

/**
 * The bytes that were read are not a reply, so that nothing behind them can be
 * trusted.
 */
export class RedisProtocolError extends Error {
  /** Tells it from other errors. */
  override readonly name = "RedisProtocolError";
}

/** How a {@linkcode ReplyReader} is made. */
interface ReplyReaderOptions {
  /** Takes each reply as soon as it is complete. */
  readonly onReply: (reply: RedisReply) => void;
  /**
   * Most bytes of one reply.
   *
   * @default 16 MiB
   */
  readonly maxReplyBytes?: number;
}

const CR = 0x0d;
const LF = 0x0a;
const MINUS = 0x2d;
const ZERO = 0x30;
/** Most digits of a number, beside its sign. */
const MAX_DIGITS = 20;
const MAX_DEPTH = 8;

/** Result of reading a reply whose last bytes have not arrived. */
const INCOMPLETE = Symbol("incomplete");

/** Reads the replies of one connection. */
export class ReplyReader {
  readonly #onReply: (reply: RedisReply) => void;
  readonly #maxReplyBytes: number;
  /** Bytes of an incomplete reply, from 0 to `#heldEnd`. */
  #held = new Uint8Array(0);
  #heldEnd = 0;
  /** Bytes that must be held before it is worth reading them again. */
  #neededBytes = 0;
  #bytes: Uint8Array = new Uint8Array(0);
  #at = 0;
  #end = 0;

  /** Makes a reader at the beginning of a connection. */
  constructor(options: ReplyReaderOptions) {
    this.#onReply = options.onReply;
    this.#maxReplyBytes = options.maxReplyBytes ?? 16 * 1_024 * 1_024;
  }

  /**
   * Reads the bytes that arrived; `chunk` is not used after this returns.
   *
   * @throws {RedisProtocolError} When the bytes are not a reply of this
   * protocol, or one that is too long. The connection cannot be used after
   * that.
   */
  push(chunk: Uint8Array): void {
    if (this.#heldEnd === 0) {
      this.#read(chunk, chunk.length);
      return;
    }
    this.#hold(chunk);
    if (this.#heldEnd < this.#neededBytes) return;
    const held = this.#held;
    const end = this.#heldEnd;
    this.#heldEnd = 0;
    this.#read(held, end);
    if (this.#heldEnd === 0) this.#held = new Uint8Array(0);
  }

  /** Reads all complete replies, and holds the remaining bytes. */
  #read(bytes: Uint8Array, end: number): void {
    this.#bytes = bytes;
    this.#at = 0;
    this.#end = end;
    this.#neededBytes = 0;
    for (;;) {
      const start = this.#at;
      if (start === end) return;
      const reply = this.#reply(0);
      if (reply !== INCOMPLETE) {
        this.#onReply(reply);
        continue;
      }
      this.#neededBytes -= start;
      this.#hold(bytes.subarray(start, end));
      return;
    }
  }

  #hold(bytes: Uint8Array): void {
    const end = this.#heldEnd + bytes.length;
    if (Math.max(end, this.#neededBytes) > this.#maxReplyBytes) {
      throw new RedisProtocolError(
        `a reply of more than ${this.#maxReplyBytes} bytes`,
      );
    }
    if (end > this.#held.length) {
      const grown = new Uint8Array(Math.max(end, 2 * this.#held.length, 256));
      grown.set(this.#held.subarray(0, this.#heldEnd));
      this.#held = grown;
    }
    this.#held.set(bytes, this.#heldEnd);
    this.#heldEnd = end;
  }

  #reply(depth: number): RedisReply | typeof INCOMPLETE {
    if (this.#at === this.#end) return INCOMPLETE;
    const kind = this.#bytes[this.#at++]!;
    switch (kind) {
      case 0x3a: // :
        return this.#integer();
      case 0x2b: // +
        return this.#line();
      case 0x2d: { // -
        const text = this.#line();
        return text === INCOMPLETE ? INCOMPLETE : { refusal: text };
      }
      case 0x24: // $
        return this.#text();
      case 0x2a: // *
        return this.#list(depth);
      default:
        throw new RedisProtocolError("bytes that are no reply");
    }
  }

  /** Reads an integer, a length or a count, with its line end. */
  #integer(): number | typeof INCOMPLETE {
    const bytes = this.#bytes;
    const end = this.#end;
    const start = this.#at;
    let at = start;
    const isNegative = bytes[at] === MINUS && at < end;
    if (isNegative) at++;
    const first = at;
    let value = 0;
    for (; at < end; at++) {
      const digit = bytes[at]! - ZERO;
      if (digit < 0 || digit > 9) break;
      value = value * 10 + digit;
    }
    const digits = at - first;
    if (digits > MAX_DIGITS) throw notANumber();
    if (at + 1 >= end) {
      if (at < end && bytes[at] !== CR) throw notANumber();
      return INCOMPLETE;
    }
    if (digits === 0 || bytes[at] !== CR || bytes[at + 1] !== LF) {
      throw notANumber();
    }
    this.#at = at + 2;
    return isNegative ? -value : value;
  }

  #line(): string | typeof INCOMPLETE {
    const found = this.#bytes.indexOf(CR, this.#at);
    if (found < 0 || found + 1 >= this.#end) return INCOMPLETE;
    if (this.#bytes[found + 1] !== LF) {
      throw new RedisProtocolError("a line that does not end");
    }
    const text = decodeText(this.#bytes, this.#at, found);
    this.#at = found + 2;
    return text;
  }

  #text(): string | null | typeof INCOMPLETE {
    const length = this.#integer();
    if (length === INCOMPLETE || length === -1) {
      return length === -1 ? null : INCOMPLETE;
    }
    if (length < 0) throw notANumber();
    const end = this.#at + length;
    if (end + 2 > this.#end) {
      this.#neededBytes = end + 2;
      return INCOMPLETE;
    }
    if (this.#bytes[end] !== CR || this.#bytes[end + 1] !== LF) {
      throw new RedisProtocolError("a text of another length");
    }
    const text = decodeText(this.#bytes, this.#at, end);
    this.#at = end + 2;
    return text;
  }

  #list(depth: number): readonly RedisReply[] | null | typeof INCOMPLETE {
    const count = this.#integer();
    if (count === INCOMPLETE || count === -1) {
      return count === -1 ? null : INCOMPLETE;
    }
    if (count < 0 || depth === MAX_DEPTH) {
      throw new RedisProtocolError("a list that is not a list");
    }
    const list: RedisReply[] = [];
    for (let i = 0; i < count; i++) {
      const item = this.#reply(depth + 1);
      if (item === INCOMPLETE) return INCOMPLETE;
      list.push(item);
    }
    return list;
  }
}

function notANumber(): RedisProtocolError {
  return new RedisProtocolError("a number that is not a number");
}

function decodeText(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start)
    .toString("utf8");
}
