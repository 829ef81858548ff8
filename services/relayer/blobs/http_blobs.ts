/**
 * A blob store over HTTP: a publisher stores the blobs, aggregators return
 * them.
 *
 * @module
 */

import type { Clock, Timer } from "../../shared/clock.ts";
import { Semaphore } from "../concurrency/semaphore.ts";
import {
  callHttp,
  type Fetch,
  getMember,
  parseJson,
} from "../remote/http_call.ts";
import {
  type BlobCallOptions,
  type BlobOutcome,
  type BlobStore,
  BlobStoreError,
} from "./blob_store.ts";

/**
 * Describes why a call failed, without the runtime's own message, which
 * contains addresses.
 */
export function fetchFault(error: unknown): string {
  const isAborted = error instanceof DOMException &&
    (error.name === "AbortError" || error.name === "TimeoutError");
  return isAborted
    ? "took too long, or the call was ended"
    : "cannot be reached, or broke off";
}

/** Options of {@linkcode staggered}. */
interface StaggeredOptions<Target, Answer> {
  /**
   * Asks one target; resolves with undefined when it has no good answer. Must
   * not reject.
   */
  readonly ask: (
    target: Target,
    signal: AbortSignal,
  ) => Promise<Answer | undefined>;
  /**
   * Milliseconds after which the next target is asked although the last one has
   * not answered.
   */
  readonly afterMs: number;
  /** The time. */
  readonly clock: Clock;
  /** Aborts the calls under way, and asks no further target. */
  readonly signal: AbortSignal;
}

/**
 * Resolves with the first good answer; with undefined when there is none. The
 * next target is asked when the last one has no good answer or is slow. When
 * the result is known, no more targets are asked, and the signal of those under
 * way aborts.
 *
 * @throws the signal's reason when the signal aborts
 */
export function staggered<Target, Answer>(
  targets: readonly Target[],
  options: StaggeredOptions<Target, Answer>,
): Promise<Answer | undefined> {
  const { ask, afterMs, clock, signal } = options;
  const { promise, resolve, reject } = Promise.withResolvers<
    Answer | undefined
  >();
  const losers = new AbortController();
  const ended = AbortSignal.any([signal, losers.signal]);
  let [next, open] = [0, 0];
  let timer: Timer | undefined;
  let isSettled = false;
  const settle = (end: () => void): void => {
    if (isSettled) return;
    isSettled = true;
    timer?.cancel();
    signal.removeEventListener("abort", onAbort);
    losers.abort();
    end();
  };
  const onAbort = (): void => settle(() => reject(signal.reason));
  const askNext = (): void => {
    timer?.cancel();
    if (isSettled) return;
    if (next >= targets.length) {
      if (open === 0) settle(() => resolve(undefined));
      return;
    }
    const target = targets[next++]!;
    open++;
    if (next < targets.length) timer = clock.setTimer(askNext, afterMs);
    ask(target, ended).then((answer) => {
      open--;
      if (answer === undefined) askNext();
      else settle(() => resolve(answer));
    });
  };
  if (signal.aborted) onAbort();
  else {
    signal.addEventListener("abort", onAbort, { once: true });
    askNext();
  }
  return promise;
}

/** Options of {@linkcode HttpBlobs}. */
interface HttpBlobsOptions {
  /** The publisher's URL, without a trailing slash. */
  readonly publisherUrl: string;
  /**
   * The aggregators' URLs, one or more, in the order in which they are asked.
   */
  readonly aggregatorUrls: readonly string[];
  /** The number of epochs that the publisher is asked to keep a blob for. */
  readonly epochs: number;
  /** Sends requests. */
  readonly fetch: Fetch;
  /** The time. */
  readonly clock: Clock;
  /**
   * Milliseconds after which another aggregator is asked as well.
   *
   * @default {150}
   */
  readonly raceAfterMs?: number;
  /**
   * Most bytes of a blob that is read.
   *
   * @default {8388608}
   */
  readonly maxBytes?: number | undefined;
  /**
   * Most blobs that are stored or read at a time; further calls wait, and the
   * wait counts against their timeout.
   *
   * @default {64}
   */
  readonly maxParallel?: number;
}

const FORM = /^[A-Za-z0-9_-]{1,128}$/;
const MAX_ANSWER_BYTES = 65_536;
/** Timeout of a call, in milliseconds. */
const TIMEOUT_MS = 30_000;

/** Stores blobs on other servers. */
export class HttpBlobs implements BlobStore {
  /** The store gives ids of its own. */
  readonly hasHashIds = false;
  readonly #options: HttpBlobsOptions;
  readonly #ending = new AbortController();
  readonly #semaphore: Semaphore;

  /**
   * Makes a store; no server is called yet.
   *
   * @throws {RangeError} when `maxParallel` is below 1
   */
  constructor(options: HttpBlobsOptions) {
    this.#options = options;
    this.#semaphore = new Semaphore(options.maxParallel ?? 64);
  }

  /** Does nothing: a server that is away now may come back. */
  start(): Promise<void> {
    return Promise.resolve();
  }

  /** Aborts calls that are under way. */
  stop(): Promise<void> {
    this.#ending.abort();
    return Promise.resolve();
  }

  /** Stores a blob at the publisher. */
  async put(bytes: Uint8Array, options: BlobCallOptions = {}): Promise<string> {
    const { publisherUrl, epochs } = this.#options;
    const url = `${publisherUrl}/v1/blobs?epochs=${epochs}&deletable=true`;
    try {
      return await this.#timed(options.signal, async (signal) => {
        const answer = await callHttp(url, {
          method: "PUT",
          headers: { "content-type": "application/octet-stream" },
          body: new Uint8Array(bytes),
          redirect: "error",
          signal,
        }, { ...this.#options, maxBytes: MAX_ANSWER_BYTES });
        return readBlobId(answer);
      });
    } catch (error) {
      if (error instanceof BlobStoreError) throw error;
      throw new BlobStoreError(
        `Cannot store blob: the publisher ${fetchFault(error)}`,
        { isPassing: true },
      );
    }
  }

  /**
   * Reads a blob from the aggregators: from the next one as soon as those asked
   * are slow.
   */
  async get(
    blobId: string,
    options: BlobCallOptions = {},
  ): Promise<BlobOutcome> {
    if (!FORM.test(blobId)) return { kind: "missing" };
    const { aggregatorUrls, clock, raceAfterMs = 150 } = this.#options;
    const said: BlobOutcome[] = [];
    try {
      const found = await this.#timed(
        options.signal,
        (signal) =>
          staggered(aggregatorUrls, {
            ask: async (url, ended) => {
              const one = await this.#ask(`${url}/v1/blobs/${blobId}`, ended);
              said.push(one);
              return one.kind === "ok" ? one : undefined;
            },
            afterMs: raceAfterMs,
            clock,
            signal,
          }),
      );
      if (found !== undefined) return found;
    } catch (error) {
      return unavailable(`the aggregators: ${fetchFault(error)}`);
    }
    // An aggregator that did not respond may have the blob that the others
    // lack.
    return said.find(({ kind }) => kind === "unavailable") ??
      { kind: "missing" };
  }

  /** Returns false: it could not be known without a request for each blob. */
  isGone(_blobId: string): Promise<boolean> {
    return Promise.resolve(false);
  }

  /** Returns false: only the blob's owner can remove it there. */
  remove(_blobId: string): Promise<boolean> {
    return Promise.resolve(false);
  }

  async #ask(url: string, signal: AbortSignal): Promise<BlobOutcome> {
    const { maxBytes = 8_388_608 } = this.#options;
    try {
      const answer = await callHttp(url, { redirect: "error", signal }, {
        ...this.#options,
        maxBytes,
      });
      if (answer.kind === "ok") return answer;
      if (answer.kind === "too_large") {
        return unavailable("an aggregator sent too much");
      }
      // Only the aggregator itself knows that there is no such blob.
      return answer.status === 404 && answer.isJson
        ? { kind: "missing" }
        : unavailable(`an aggregator answered with status ${answer.status}`);
    } catch (error) {
      return unavailable(`an aggregator ${fetchFault(error)}`);
    }
  }

  /**
   * Runs a call once one of the parallel slots is free. The caller's signal,
   * the timeout and `stop()` abort the call, and the wait for the slot.
   */
  async #timed<Result>(
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const { clock } = this.#options;
    const late = new AbortController();
    const timer = clock.setTimer(() => late.abort(), TIMEOUT_MS);
    const signals = [late.signal, this.#ending.signal];
    if (signal !== undefined) signals.push(signal);
    try {
      const ended = AbortSignal.any(signals);
      return await this.#semaphore.run(() => work(ended), { signal: ended });
    } finally {
      timer.cancel();
    }
  }
}

function unavailable(reason: string): BlobOutcome {
  return { kind: "unavailable", reason };
}

/**
 * Returns the id in a publisher's response, of a new blob or of one that it has
 * already.
 */
function readBlobId(answer: Awaited<ReturnType<typeof callHttp>>): string {
  if (answer.kind === "refused") {
    const { status, retryAfterMs } = answer;
    throw new BlobStoreError(
      `Cannot store blob: the publisher answered with status ${status}`,
      {
        isPassing: status === 408 || status === 429 || status >= 500,
        retryAfterMs,
      },
    );
  }
  const json = answer.kind === "ok" ? parseJson(answer.bytes) : undefined;
  const object = getMember(getMember(json, "newlyCreated"), "blobObject");
  const id = getMember(object, "blobId") ??
    getMember(getMember(json, "alreadyCertified"), "blobId");
  if (typeof id === "string" && FORM.test(id)) return id;
  throw new BlobStoreError(
    "Cannot store blob: the publisher's answer names no blob",
    { isPassing: true },
  );
}
