/**
 * Reads request bodies within a bound of size and of time; the HTTP server of
 * the runtime has neither.
 *
 * @module
 */

import { type Clock, systemClock, type Timer } from "../clock.ts";

/** How a body is read. */
interface ReadBodyOptions {
  /** The largest body that is accepted, in bytes. */
  readonly maxBytes: number;
  /**
   * How long the whole body may take to arrive, in milliseconds.
   * @default 30000
   */
  readonly timeoutMs?: number;
  /**
   * The time source.
   * @default the clock of the machine
   */
  readonly clock?: Clock;
  /**
   * What the bodies of all requests may hold while they come in.
   * @default no bound
   */
  readonly budget?: BodyBudget;
}

/** The outcome of reading a body. */
export type BodyOutcome =
  | { readonly kind: "ok"; readonly bytes: Uint8Array<ArrayBuffer> }
  /** More bytes than allowed, declared or sent: answer 413. */
  | { readonly kind: "too_large" }
  /** The bodies under way have used up the budget: answer 503. */
  | { readonly kind: "busy" }
  /**
   * Not all of it came: answer 408 when timed out; else the client has gone.
   */
  | {
    readonly kind: "aborted";
    readonly reason: "timed_out" | "disconnected";
  };

/** A declared length up to which a body is outside the budget. */
const SMALL_BODY_BYTES = 65_536;

/** The time a client has for its body by default. */
const DEFAULT_BODY_TIMEOUT_MS = 30_000;

/**
 * Reads the body of a request, at most `maxBytes` of it.
 *
 * A declared length above the bound is refused before a byte is read. Where no
 * length is declared the bytes are counted while they come; where one is, the
 * server takes no more than that many. What is left of a refused body is
 * thrown away by the server, so the client gets to see the answer even when it
 * sends everything first.
 *
 * @throws {TypeError} when the body was read before
 */
export async function readBody(
  request: Request,
  options: ReadBodyOptions,
): Promise<BodyOutcome> {
  const declaredBytes = declaredLength(request);
  if (declaredBytes !== undefined && declaredBytes > options.maxBytes) {
    return { kind: "too_large" };
  }
  if (request.bodyUsed) {
    throw new TypeError("Cannot read body: it was read before");
  }
  // Asking for `body` costs a stream; with a length there is a faster way. A
  // small body needs no budget, so those are served whatever large ones do.
  const isSmall = declaredBytes !== undefined &&
    declaredBytes <= SMALL_BODY_BYTES;
  if (isSmall || (declaredBytes !== undefined && !options.budget)) {
    return await readWhole(request, options);
  }
  if (request.body === null) return { kind: "ok", bytes: new Uint8Array(0) };
  return await readCounting(request.body, options);
}

/** `undefined` when nothing usable is declared; the bytes are counted then. */
function declaredLength(request: Request): number | undefined {
  const header = request.headers.get("content-length");
  return header !== null && /^\d+$/.test(header) ? Number(header) : undefined;
}

async function readWhole(
  request: Request,
  options: ReadBodyOptions,
): Promise<BodyOutcome> {
  const late = Promise.withResolvers<BodyOutcome>();
  const timer = startTimer(options, () => late.resolve(TIMED_OUT));
  try {
    // What still comes after the time is over ends with the request.
    return await Promise.race([
      request.bytes().then(
        (bytes): BodyOutcome =>
          // A request that did not come through a server may hold more.
          bytes.byteLength > options.maxBytes
            ? { kind: "too_large" }
            : { kind: "ok", bytes },
        () => DISCONNECTED,
      ),
      late.promise,
    ]);
  } finally {
    timer.cancel();
  }
}

async function readCounting(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  options: ReadBodyOptions,
): Promise<BodyOutcome> {
  const reader = body.getReader();
  let timedOut = false;
  const timer = startTimer(options, () => {
    timedOut = true;
    // Ends the read that waits: it answers "done".
    discard(reader);
  });
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  let takenBytes = 0;
  try {
    while (true) {
      const { done, value } = await reader.read();
      if (timedOut) return TIMED_OUT;
      if (done) return { kind: "ok", bytes: join(chunks, length) };
      length += value.byteLength;
      if (length > options.maxBytes) {
        discard(reader);
        return { kind: "too_large" };
      }
      if (options.budget?.take(value.byteLength) === false) {
        discard(reader);
        return { kind: "busy" };
      }
      takenBytes += value.byteLength;
      chunks.push(value);
    }
  } catch {
    // A stream of a request fails for one reason: the client is gone.
    return timedOut ? TIMED_OUT : DISCONNECTED;
  } finally {
    options.budget?.giveBack(takenBytes);
    timer.cancel();
  }
}

const TIMED_OUT: BodyOutcome = { kind: "aborted", reason: "timed_out" };
const DISCONNECTED: BodyOutcome = { kind: "aborted", reason: "disconnected" };

function startTimer(options: ReadBodyOptions, onLate: () => void): Timer {
  const { clock = systemClock, timeoutMs = DEFAULT_BODY_TIMEOUT_MS } = options;
  return clock.setTimer(onLate, timeoutMs);
}

/** Gives up the rest of a body; a failure of that is of no interest. */
function discard(reader: ReadableStreamDefaultReader<unknown>): void {
  reader.cancel().catch(() => {});
}

function join(
  chunks: readonly Uint8Array<ArrayBuffer>[],
  length: number,
): Uint8Array<ArrayBuffer> {
  const [first] = chunks;
  if (first !== undefined && chunks.length === 1) return first;
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return bytes;
}

/** Bytes that bodies under way may hold. */
export class BodyBudget {
  readonly #maxBytes: number;
  #takenBytes = 0;

  /** A budget of `maxBytes`, nothing of it taken. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes in use now. */
  get takenBytes(): number {
    return this.#takenBytes;
  }

  /**
   * Takes bytes.
   *
   * @returns False, and nothing is taken, when there are not so many left.
   */
  take(bytes: number): boolean {
    if (this.#takenBytes + bytes > this.#maxBytes) return false;
    this.#takenBytes += bytes;
    return true;
  }

  /** Gives back what was taken. */
  giveBack(bytes: number): void {
    this.#takenBytes -= bytes;
  }
}
