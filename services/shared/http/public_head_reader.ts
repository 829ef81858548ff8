/**
 * Takes the heads of requests from a connection, within bounds of time and
 * size.
 *
 * @module
 */

import {
  findHeadEnd,
  HEAD_MALFORMED,
  HEAD_UNFINISHED,
} from "./public_head_end.ts";
import {
  type HeadOutcome,
  type HeadRefusal,
  parseHead,
} from "./public_head.ts";
import type { PublicInput } from "./public_input.ts";
import { RepeatedHead } from "./public_repeated_head.ts";

/** What came in the place of a request. */
export type NextHead =
  | HeadOutcome
  /** Nothing, and nothing is to be answered. */
  | { readonly kind: "ended" };

/** Options of {@linkcode PublicHeadReader}. */
export interface PublicHeadReaderOptions {
  /** Where the bytes come from. */
  readonly input: PublicInput;
  /** Most bytes of a head. */
  readonly maxBytes: number;
  /** Interrupts the input when a client has begun nothing for too long. */
  readonly startIdle: () => void;
  /** Interrupts the input when a head takes too long. */
  readonly startHead: () => void;
  /** Ends either of these times. */
  readonly stop: () => void;
}

const ENDED: NextHead = { kind: "ended" };
const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = 0x0a;

/** Reads the heads of one connection. */
export class PublicHeadReader {
  readonly #options: PublicHeadReaderOptions;
  readonly #last = new RepeatedHead();
  #isFirst = true;
  /** Whether the empty line before a head has been skipped. */
  #hasSkipped = false;
  /** How much of the input is known to hold no end of a head. */
  #seenBytes = 0;

  /** Nothing is read yet. */
  constructor(options: PublicHeadReaderOptions) {
    this.#options = options;
  }

  /** The next head. */
  async next(): Promise<NextHead> {
    const { input, startIdle, startHead, stop } = this.#options;
    this.#hasSkipped = false;
    this.#seenBytes = 0;
    let isTimed = false;
    if (this.#isFirst) {
      this.#isFirst = false;
      isTimed = true;
      startHead();
    } else if (input.length === 0) {
      startIdle();
      const event = await input.more();
      stop();
      if (event !== "bytes") return ENDED;
    }
    while (true) {
      const outcome = this.#take();
      if (outcome !== undefined) {
        if (isTimed) stop();
        return outcome;
      }
      if (!isTimed) {
        isTimed = true;
        startHead();
      }
      const event = await input.more();
      if (event === "bytes") continue;
      stop();
      if (event === "ended" || input.length === 0) return ENDED;
      return refused({ status: 408, detail: "The request took too long" });
    }
  }

  /** The head, if all of it is there. */
  #take(): HeadOutcome | undefined {
    const { input, maxBytes } = this.#options;
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
        ? refused({ status: 431, detail: "The header fields are too large" })
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
    const { input } = this.#options;
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
