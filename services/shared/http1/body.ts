/**
 * The body of a request: it is read when the handler asks for it, never
 * before.
 *
 * @module
 */

import type { ByteBudget } from "../connection_memory.ts";
import type { BodyOutcome } from "../http/exchange.ts";
import { ChunkedDecoder } from "./chunked.ts";
import type { BodyFraming } from "./head.ts";
import type { InputBuffer } from "./input_buffer.ts";

/** What a body needs of its connection. */
export interface RequestBodyHost {
  /** Where its bytes come from. */
  readonly input: InputBuffer;
  /** Limits the memory of all bodies, beyond the first 16 KiB of each. */
  readonly budget: ByteBudget;
  /** Called before the first wait: the client may wait for a 100 (Continue). */
  beforeWait(): void;
  /** Interrupts the input when the time for the body is over. */
  startDeadline(): void;
  /** Ends that time. */
  stopDeadline(): void;
}

/**
 * What each body may hold outside of the budget, so that small requests are
 * served whatever large ones do.
 */
const FREE_BYTES = 16_384;

/** The largest rest of a body that is discarded to keep the connection. */
const MAX_SKIPPED_BYTES = 65_536;

const TOO_LARGE: BodyOutcome = { kind: "too_large" };
const BUSY: BodyOutcome = { kind: "busy" };
const TIMED_OUT: BodyOutcome = { kind: "aborted", reason: "timed_out" };
const DISCONNECTED: BodyOutcome = { kind: "aborted", reason: "disconnected" };

/** The body of one request. */
export class RequestBody {
  readonly #host: RequestBodyHost;
  /** Bytes still to come where the length is known. */
  #leftBytes: number;
  readonly #decoder: ChunkedDecoder | undefined;
  #isAsked = false;
  #hasWaited = false;
  #isGathering = false;
  #isGivenUp = false;
  #isLate = false;

  /** Nothing is read yet. */
  constructor(framing: BodyFraming, host: RequestBodyHost) {
    this.#host = host;
    this.#leftBytes = framing.kind === "length" ? framing.bytes : 0;
    this.#decoder = framing.kind === "chunked"
      ? new ChunkedDecoder()
      : undefined;
  }

  /** Whether all of the body has been read from the connection. */
  get isComplete(): boolean {
    return this.#decoder === undefined
      ? this.#leftBytes === 0
      : this.#decoder.state === "done";
  }

  /** Whether its coding is broken. */
  get isMalformed(): boolean {
    return this.#decoder?.state === "malformed";
  }

  /**
   * Whether the rest is so small that reading it costs less than another
   * connection would. A body that has timed out is not waited for again.
   */
  get isSkippable(): boolean {
    return this.#decoder === undefined && !this.#isLate &&
      this.#leftBytes <= MAX_SKIPPED_BYTES;
  }

  /**
   * Takes in the body.
   *
   * @throws {TypeError} when it was asked for before
   */
  read(maxBytes: number): Promise<BodyOutcome> {
    if (this.#isAsked) {
      return Promise.reject(
        new TypeError("Cannot read body: it was read before"),
      );
    }
    this.#isAsked = true;
    if (this.#leftBytes > maxBytes) return Promise.resolve(TOO_LARGE);
    const { input } = this.#host;
    if (this.#decoder !== undefined || this.#leftBytes > input.length) {
      return this.#gather(maxBytes);
    }
    const bytes = input.take(this.#leftBytes);
    this.#leftBytes = 0;
    return Promise.resolve({ kind: "ok", bytes });
  }

  /** The request has been answered: ends a read that still waits. */
  giveUp(): void {
    this.#isGivenUp = true;
    if (!this.#isGathering) return;
    // Stop it now: later the deadline may belong to something else.
    this.#host.stopDeadline();
    this.#host.input.interrupt();
  }

  /**
   * Throws away what is left.
   *
   * @returns Whether it all came.
   */
  async skip(): Promise<boolean> {
    const { input } = this.#host;
    while (true) {
      const length = Math.min(this.#leftBytes, input.length);
      input.consume(length);
      this.#leftBytes -= length;
      if (this.#leftBytes === 0) return true;
      if (await input.more() !== "bytes") return false;
    }
  }

  async #gather(maxBytes: number): Promise<BodyOutcome> {
    const { input, budget } = this.#host;
    let heldBytes = 0;
    let takenBytes = 0;
    const gather = new BodyBuffer({
      maxBytes: Math.min(maxBytes, this.#leftBytes || maxBytes),
      allow: (bytes) => {
        heldBytes += bytes;
        const wanted = Math.max(0, heldBytes - FREE_BYTES) - takenBytes;
        if (wanted > 0 && !budget.take(wanted)) return false;
        takenBytes += Math.max(0, wanted);
        return true;
      },
    });
    this.#isGathering = true;
    this.#host.startDeadline();
    try {
      while (true) {
        const refusal = this.#takeFrom(input, gather, maxBytes);
        if (refusal !== undefined) return refusal;
        if (this.isComplete) return { kind: "ok", bytes: gather.finish() };
        const event = await this.#more();
        if (this.#isGivenUp || event === "ended") return DISCONNECTED;
        if (event === "interrupted") {
          this.#isLate = true;
          return TIMED_OUT;
        }
      }
    } finally {
      this.#isGathering = false;
      if (!this.#isGivenUp) this.#host.stopDeadline();
      budget.give(takenBytes);
    }
  }

  #more(): ReturnType<InputBuffer["more"]> {
    if (!this.#hasWaited) {
      this.#hasWaited = true;
      this.#host.beforeWait();
    }
    return this.#host.input.more();
  }

  /** Moves received bytes to the body; returns why it is refused, if it is. */
  #takeFrom(
    input: InputBuffer,
    gather: BodyBuffer,
    maxBytes: number,
  ): BodyOutcome | undefined {
    if (this.#decoder === undefined) {
      const length = Math.min(this.#leftBytes, input.length);
      if (!gather.add(input.bytes.subarray(0, length))) return BUSY;
      input.consume(length);
      this.#leftBytes -= length;
      return undefined;
    }
    let refusal: BodyOutcome | undefined;
    const used = this.#decoder.push(input.bytes, (data) => {
      if (gather.length + data.length > maxBytes) refusal = TOO_LARGE;
      else if (!gather.add(data)) refusal = BUSY;
      return refusal === undefined;
    });
    input.consume(used);
    if (refusal !== undefined) return refusal;
    return this.isMalformed ? DISCONNECTED : undefined;
  }
}

const FIRST_CAPACITY = 1024;

/** Options of {@linkcode BodyBuffer}. */
interface BodyBufferOptions {
  /** The most that will ever be gathered. */
  readonly maxBytes: number;
  /** Asked before memory is allocated, in bytes; false refuses it. */
  readonly allow: (bytes: number) => boolean;
}

/** Gathers bytes. */
export class BodyBuffer {
  readonly #options: BodyBufferOptions;
  #buffer = new Uint8Array(0);
  #length = 0;

  /** Takes no memory yet. */
  constructor(options: BodyBufferOptions) {
    this.#options = options;
  }

  /** How many bytes there are. */
  get length(): number {
    return this.#length;
  }

  /**
   * Adds bytes.
   *
   * @returns False, with nothing added, when the memory was refused.
   */
  add(bytes: Uint8Array): boolean {
    const length = this.#length + bytes.length;
    if (length > this.#buffer.length && !this.#grow(length)) return false;
    this.#buffer.set(bytes, this.#length);
    this.#length = length;
    return true;
  }

  /** Returns all bytes in memory that nothing else uses. */
  finish(): Uint8Array<ArrayBuffer> {
    return this.#length === this.#buffer.length
      ? this.#buffer
      : this.#buffer.slice(0, this.#length);
  }

  #grow(length: number): boolean {
    const { maxBytes, allow } = this.#options;
    const doubled = Math.max(FIRST_CAPACITY, 2 * this.#buffer.length);
    const capacity = Math.max(length, Math.min(maxBytes, doubled));
    if (!allow(capacity - this.#buffer.length)) return false;
    const old = this.#buffer.subarray(0, this.#length);
    this.#buffer = new Uint8Array(capacity);
    this.#buffer.set(old);
    return true;
  }
}
