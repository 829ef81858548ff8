/**
 * The messages of a request that has any number of them, each handed on when it
 * is asked for.
 *
 * @module
 */

import type { ByteBudget } from "../byte_budget.ts";
import type { ByteSpan } from "./byte_span.ts";
import { type MessageFault, MessageReader } from "./message_reader.ts";

/** Messages that may wait: their bytes alone would let empty ones grow. */
const MAX_WAITING = 1_000;

/** What an intake is made of. */
interface MessageIntakeOptions {
  /** Largest message, in bytes. */
  readonly maxBytes: number;
  /** Bounds what all messages that wait hold. */
  readonly budget: ByteBudget;
  /** No message waits: the peer may send more. */
  readonly onEmpty: () => void;
}

/**
 * Collects messages until they are taken. The peer is given room for more when
 * none waits, so that one which is faster than the method is held back.
 */
export class MessageIntake {
  readonly #options: MessageIntakeOptions;
  /** Whole messages, and the memory of each. */
  readonly #waiting: MessageReader[] = [];
  #reader: MessageReader;
  #isEnded = false;
  #wake: (() => void) | undefined;

  /** An intake that has seen nothing. */
  constructor(options: MessageIntakeOptions) {
    this.#options = options;
    this.#reader = this.#newReader();
  }

  /** Whether no whole message waits. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Whether the messages so far are whole. */
  get isBetween(): boolean {
    return this.#reader.isUntouched;
  }

  /**
   * Takes further bytes.
   *
   * @returns What is wrong with them, if anything is; nothing may follow then.
   */
  append({ bytes, start, end }: ByteSpan): MessageFault | undefined {
    for (let at = start; at < end && !this.#isEnded;) {
      const to = Math.min(end, at + this.#reader.missingBytes);
      const fault = this.#reader.append({ bytes, start: at, end: to });
      if (fault !== undefined) return fault;
      at = to;
      if (this.#reader.message === undefined) continue;
      if (this.#waiting.length >= MAX_WAITING) return "no_room";
      this.#waiting.push(this.#reader);
      this.#reader = this.#newReader();
      this.#wake?.();
    }
    return undefined;
  }

  /** No message follows; those that wait can still be taken. */
  end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }

  /** The stream is over: drops all, and ends the iteration. Harmless twice. */
  close(): void {
    for (const reader of this.#waiting.splice(0)) reader.release();
    this.#reader.release();
    this.end();
  }

  /** The messages in their order; to be iterated once. */
  async *messages(): AsyncGenerator<Uint8Array, void> {
    while (true) {
      const reader = this.#waiting.shift();
      if (reader !== undefined) {
        const { message } = reader;
        reader.release();
        if (this.isEmpty && !this.#isEnded) this.#options.onEmpty();
        if (message !== undefined) yield message;
      } else if (this.#isEnded) {
        return;
      } else {
        await new Promise<void>((resolve) => this.#wake = resolve);
        this.#wake = undefined;
      }
    }
  }

  #newReader(): MessageReader {
    const { maxBytes, budget } = this.#options;
    return new MessageReader(maxBytes, budget);
  }
}
