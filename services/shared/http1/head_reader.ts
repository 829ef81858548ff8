/**
 * Reads the heads of requests from a connection, with a timeout and a size
 * limit; a head that is the same as the last one is not parsed again.
 *
 * @module
 */

import type { Deadline } from "./connection_context.ts";
import {
  type HeadOutcome,
  type HeadRefusal,
  parseHead,
  type RequestHead,
} from "./head.ts";
import type { ConnectionLimits } from "./settings.ts";
import type { InputBuffer } from "./input_buffer.ts";

/** The next request, a refusal, or the end of the connection. */
type NextHead =
  | HeadOutcome
  /** No request has come, so nothing is to be answered. */
  | { readonly kind: "ended" };

const ENDED: NextHead = { kind: "ended" };
const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = 0x0a;

/** Reads the heads of one connection. */
export class HeadReader {
  readonly #input: InputBuffer;
  readonly #deadline: Pick<Deadline, "start" | "stop">;
  readonly #limits: ConnectionLimits;
  readonly #last = new RepeatedHead();
  #isFirst = true;
  /** Whether the empty line before a head has been skipped. */
  #hasSkipped = false;
  /** How much of the input is known to hold no end of a head. */
  #seenBytes = 0;

  /**
   * Nothing is read yet. The deadline interrupts the input when a client sends
   * no request, or only a part of its head, for too long.
   */
  constructor(
    input: InputBuffer,
    deadline: Pick<Deadline, "start" | "stop">,
    limits: ConnectionLimits,
  ) {
    this.#input = input;
    this.#deadline = deadline;
    this.#limits = limits;
  }

  /** The next head. */
  async next(): Promise<NextHead> {
    const input = this.#input;
    const deadline = this.#deadline;
    const { headerTimeoutMs, idleTimeoutMs } = this.#limits;
    this.#hasSkipped = false;
    this.#seenBytes = 0;
    let isTimed = false;
    if (this.#isFirst) {
      this.#isFirst = false;
      isTimed = true;
      deadline.start(headerTimeoutMs);
    } else if (input.length === 0) {
      deadline.start(idleTimeoutMs);
      const event = await input.more();
      deadline.stop();
      if (event !== "bytes") return ENDED;
    }
    while (true) {
      const outcome = this.#take();
      if (outcome !== undefined) {
        if (isTimed) deadline.stop();
        return outcome;
      }
      if (!isTimed) {
        isTimed = true;
        deadline.start(headerTimeoutMs);
      }
      const event = await input.more();
      if (event === "bytes") continue;
      deadline.stop();
      if (event === "ended" || input.length === 0) return ENDED;
      return refused({ status: 408, detail: "The request took too long" });
    }
  }

  /** Takes the head out of the input; undefined while it is incomplete. */
  #take(): HeadOutcome | undefined {
    const input = this.#input;
    const maxBytes = this.#limits.maxHeaderBytes;
    this.#skipEmptyLine();
    const { bytes } = input;
    const repeated = this.#last.match(bytes);
    if (repeated !== undefined) {
      input.consume(this.#last.length);
      return { kind: "ok", head: repeated };
    }
    const end = findHeadEnd(bytes, this.#seenBytes);
    if (end === HEAD_MALFORMED) {
      return refused({ status: 400, detail: "The head is malformed" });
    }
    if (end > maxBytes || end === HEAD_UNFINISHED && bytes.length > maxBytes) {
      return bytes.subarray(0, maxBytes).includes(LINE_FEED)
        ? refused({ status: 431, detail: `The head is over ${maxBytes} bytes` })
        : refused({ status: 414, detail: "The request target is too long" });
    }
    if (end === HEAD_UNFINISHED) {
      this.#seenBytes = bytes.length;
      return undefined;
    }
    const text = bytes.toString("latin1", 0, end);
    input.consume(end);
    const outcome = parseHead(text);
    if (outcome.kind === "ok") {
      this.#last.keep(outcome.head, { bytes, length: end });
    }
    return outcome;
  }

  /** Some clients end a body with a line of its own (RFC 9112, 2.2). */
  #skipEmptyLine(): void {
    const input = this.#input;
    if (this.#hasSkipped || input.length < 2) return;
    this.#hasSkipped = true;
    const { bytes } = input;
    if (bytes[0] === CARRIAGE_RETURN && bytes[1] === LINE_FEED) {
      input.consume(2);
      this.#seenBytes = 0;
    }
  }
}

function refused(refusal: HeadRefusal): HeadOutcome {
  return { kind: "refused", refusal };
}

const TAB = 0x09;
const SPACE = 0x20;
const DELETE = 0x7f;

/** The head has not come in whole yet. */
const HEAD_UNFINISHED: number = -1;

/** The head holds bytes that none may hold. */
const HEAD_MALFORMED: number = -2;

/**
 * Finds the end of a head: the length up to and with its empty line; -1 where
 * it has not come in whole yet, -2 where it holds bytes that none may hold.
 *
 * Lines end with CR LF and nothing else. RFC 9112, 2.2 would allow a bare line
 * feed, but programs that disagree about the end of a line can be made to
 * disagree about where a request ends.
 *
 * @param from How many bytes an earlier call has seen and found unfinished.
 */
export function findHeadEnd(bytes: Uint8Array, from: number): number {
  // Begin one byte earlier: it may be a CR whose LF has come now.
  for (let index = Math.max(0, from - 1); index < bytes.length; index++) {
    const byte = bytes[index]!;
    if (byte >= SPACE && byte !== DELETE) continue;
    if (byte === TAB) continue;
    if (byte === CARRIAGE_RETURN) {
      const next = bytes[index + 1];
      if (next !== undefined && next !== LINE_FEED) return HEAD_MALFORMED;
      continue;
    }
    if (byte !== LINE_FEED || bytes[index - 1] !== CARRIAGE_RETURN) {
      return HEAD_MALFORMED;
    }
    if (bytes[index - 2] === LINE_FEED) return index + 1;
  }
  return HEAD_UNFINISHED;
}

/**
 * A larger head is not kept, so that idle connections hold little memory.
 */
const MAX_KEPT_BYTES = 2_048;
const MAX_KEPT_FIELDS = 24;

/** The last head of a connection. */
export class RepeatedHead {
  #bytes: Uint8Array | undefined;
  #head: RequestHead | undefined;

  /** How many bytes the last head has; 0 without one. */
  get length(): number {
    return this.#bytes?.length ?? 0;
  }

  /** The last head, if `bytes` begin with the same one. */
  match(bytes: Uint8Array): RequestHead | undefined {
    const known = this.#bytes;
    if (known === undefined || bytes.length < known.length) return undefined;
    // Compare from the end: heads mostly differ in the content-length there.
    for (let index = known.length - 1; index >= 0; index--) {
      if (bytes[index] !== known[index]) return undefined;
    }
    return this.#head;
  }

  /** Keeps a head, which stands in the first `length` of `bytes`. */
  keep(
    head: RequestHead,
    { bytes, length }: { readonly bytes: Uint8Array; readonly length: number },
  ): void {
    if (length > MAX_KEPT_BYTES || head.headers.size > MAX_KEPT_FIELDS) return;
    if (this.#bytes?.length !== length) this.#bytes = new Uint8Array(length);
    this.#bytes.set(bytes.subarray(0, length));
    this.#head = head;
  }
}
