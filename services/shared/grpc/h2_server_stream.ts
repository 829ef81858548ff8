/**
 * Server streams of the seam on streams of the HTTP/2 engine.
 *
 * @module
 */

import type { H2Stream, StreamOwner } from "../h2/stream.ts";
import {
  finishWith,
  type H2CallOptions,
  type H2Request,
  INTERNAL_FAILURE,
  logFault,
} from "./h2_call.ts";
import { GRPC_STATUS, GrpcFailure } from "./method.ts";
import type { GrpcAnswer, ServerStreamMethod } from "./method.ts";

/** Server streams that are open, so that a stop can end them. */
export type OpenServerStreams = Set<AbortController>;

/** What a server stream needs besides its method. */
export interface H2ServerStreamOptions extends H2CallOptions {
  /** Holds the stream's controller while it is open. */
  readonly open: OpenServerStreams;
}

/** What ends a stream whose server stops. */
const STOPPING_FAILURE = new GrpcFailure(
  GRPC_STATUS.UNAVAILABLE,
  "Cannot continue: the server is stopping",
);

/**
 * Answers with a server stream. The next message is asked for when the one
 * before has left the stream, so a slow caller holds one message at most.
 */
export function callServerStream(
  method: ServerStreamMethod,
  request: H2Request,
  options: H2ServerStreamOptions,
): void {
  const owner = new StreamingCall();
  const { controller } = owner;
  const { stream } = request;
  stream.owner = owner;
  options.open.add(controller);
  const { signal } = controller;
  void pump(
    { stream, owner, options },
    () => method(request.message, { signal })[Symbol.asyncIterator](),
  )
    .finally(() => {
      options.open.delete(controller);
      stream.release();
    });
}

class StreamingCall implements StreamOwner {
  readonly controller = new AbortController();
  #isGone = false;
  #wake: (() => void) | undefined;

  /** The caller is gone; a server that stops aborts the signal only. */
  get isGone(): boolean {
    return this.#isGone;
  }

  cancelled(): void {
    this.#isGone = true;
    this.controller.abort();
    this.drained();
  }

  drained(): void {
    this.#wake?.();
    this.#wake = undefined;
  }

  /**
   * Waits for one promise at a time, and for undefined once the caller is
   * gone. A race against one promise for the whole call would remember every
   * step of a long stream.
   */
  wait<T>(promise: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#isGone) resolve(undefined);
      else this.#wake = () => resolve(undefined);
      promise.then(resolve, reject);
    });
  }

  /** Resolves when the message that waits has left, or the caller. */
  room(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isGone) resolve();
      else this.#wake = resolve;
    });
  }
}

interface Pumped {
  readonly stream: H2Stream;
  readonly owner: StreamingCall;
  readonly options: H2ServerStreamOptions;
}

async function pump(
  pumped: Pumped,
  begin: () => AsyncIterator<GrpcAnswer>,
): Promise<void> {
  const { stream, owner, options } = pumped;
  const { signal } = owner.controller;
  try {
    const answers = begin();
    while (true) {
      const step = answers.next();
      const next = await owner.wait(step);
      if (next === undefined || owner.isGone) {
        return leave(answers, step, options);
      }
      if (next.done === true) {
        if (signal.aborted) finishWith(stream, STOPPING_FAILURE);
        else stream.finish({ code: GRPC_STATUS.OK, message: "" });
        return;
      }
      if (next.value instanceof GrpcFailure) {
        finishWith(stream, next.value);
        return leave(answers, undefined, options);
      }
      if (!stream.send(next.value)) await owner.room();
    }
  } catch (error) {
    // A method may leave by throwing when its signal is aborted.
    if (signal.aborted) {
      logFault(error, { ...options, isCancelled: true });
      return finishWith(stream, STOPPING_FAILURE);
    }
    logFault(error, { ...options, isCancelled: false });
    finishWith(stream, INTERNAL_FAILURE);
  }
}

/** Not awaited: a method that hangs cannot be made to return. */
function leave(
  answers: AsyncIterator<GrpcAnswer>,
  step: Promise<unknown> | undefined,
  options: H2ServerStreamOptions,
): void {
  const note = (error: unknown): void =>
    logFault(error, { ...options, isCancelled: true });
  step?.catch(note);
  answers.return?.().catch(note);
}
