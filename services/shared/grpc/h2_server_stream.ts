/**
 * Runs gRPC methods, unary and streaming, for requests on HTTP/2 streams.
 *
 * @module
 */

import type { H2Stream, StreamOwner } from "../h2/stream.ts";
import type { Logger } from "../logger.ts";
import {
  type BidiStreamMethod,
  GRPC_STATUS,
  type GrpcAnswer,
  type GrpcCall,
  GrpcFailure,
  type ObservedMethod,
} from "./method.ts";

/** Server streams that are open, so that a stop can end them. */
export class OpenServerStreams {
  readonly #controllers = new Set<AbortController>();
  #isEnded = false;

  /** Whether no further stream may open. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Adds the controller of a stream. */
  add(controller: AbortController): void {
    this.#controllers.add(controller);
  }

  /** Removes the controller of a stream that has ended. */
  delete(controller: AbortController): void {
    this.#controllers.delete(controller);
  }

  /** Aborts all streams; none may open from now on. */
  end(): void {
    this.#isEnded = true;
    for (const controller of this.#controllers) controller.abort();
  }
}

/** What a call needs besides its method. */
interface H2CallOptions {
  /** Full path of the method, for the log. */
  readonly path: string;
  /** Takes the errors of methods. */
  readonly logger: Logger;
  /** Holds the controller of a server stream while it is open. */
  readonly open: OpenServerStreams;
}

/** A request on its way to a method. */
interface H2Request {
  /** The stream that takes the answer. */
  readonly stream: H2Stream;
  /** The message. */
  readonly message: Uint8Array;
}

/** The message that a caller gets for an exception; the log has the rest. */
const INTERNAL_FAILURE: GrpcFailure = new GrpcFailure(
  GRPC_STATUS.INTERNAL,
  "Cannot answer: internal error",
);

/** Answers with a unary method, at once where it answers at once. */
export function callUnary(
  { handle, observer }: ObservedMethod,
  request: H2Request,
  options: H2CallOptions,
): void {
  const { stream } = request;
  const call = new H2Call(stream.head.kept);
  const begun = observer?.begun() ?? 0;
  stream.owner = call;
  let answer: GrpcAnswer | Promise<GrpcAnswer>;
  try {
    answer = handle(request.message, call);
  } catch (error) {
    return fail(error);
  }
  if (answer instanceof Uint8Array || answer instanceof GrpcFailure) {
    send(answer);
  } else {
    answer.then(send, fail);
  }

  function send(sent: GrpcAnswer): void {
    call.settle();
    observer?.ended(begun);
    if (sent instanceof GrpcFailure) finishWith(stream, sent);
    else stream.answer(sent);
    stream.release();
  }

  function fail(error: unknown): void {
    logFault(error, options, call.isCancelled);
    send(INTERNAL_FAILURE);
  }
}

/** Ends a stream with a failure. */
function finishWith(stream: H2Stream, failure: GrpcFailure): void {
  stream.finish({ code: failure.code, message: failure.message });
}

/** Logs the error of a method; one of a cancelled call is expected. */
function logFault(
  error: unknown,
  { path, logger }: H2CallOptions,
  isCancelled: boolean,
): void {
  const fields = {
    method: path,
    error: error instanceof Error
      ? error.stack ?? error.message
      : String(error),
  };
  if (isCancelled) {
    logger.debug("Ended a call of a disconnected caller", fields);
  } else logger.error("Cannot answer: the method threw", fields);
}

/** Most methods never look at the signal, so it is made when one does. */
class H2Call implements GrpcCall, StreamOwner {
  readonly metadata: GrpcCall["metadata"];
  #controller: AbortController | undefined;
  #isCancelled = false;
  #isSettled = false;

  constructor(metadata: GrpcCall["metadata"]) {
    this.metadata = metadata;
  }

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isCancelled) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  /** The method has answered; unsent output no longer makes a running call. */
  settle(): void {
    this.#isSettled = true;
  }

  cancelled(): void {
    if (this.#isSettled) return;
    this.#isCancelled = true;
    this.#controller?.abort();
  }

  drained(): void {}
}

/** What ends a stream whose server stops. */
const STOPPING_FAILURE = new GrpcFailure(
  GRPC_STATUS.UNAVAILABLE,
  "Cannot continue: the server is stopping",
);

/**
 * Runs a streaming method. Its next message is asked for when the last one has
 * left the stream, so a slow caller makes us hold one message at most. A call
 * that comes after the stop of the server is refused: no one would end it.
 */
export function callStream(
  method: BidiStreamMethod,
  stream: H2Stream,
  options: H2CallOptions,
): void {
  if (options.open.isEnded) {
    finishWith(stream, STOPPING_FAILURE);
    return stream.release();
  }
  const call = new StreamingCall(stream, options);
  const { signal } = call.controller;
  const { intake } = stream;
  stream.owner = call;
  options.open.add(call.controller);
  // End the requests, for a method that waits for the next one.
  signal.addEventListener("abort", () => intake?.close(), { once: true });
  const requests = intake?.messages() ?? NO_REQUESTS;
  const { kept: metadata } = stream.head;
  const begin = (): AsyncIterator<GrpcAnswer> =>
    method(requests, { signal, metadata })[Symbol.asyncIterator]();
  void call.run(begin)
    .finally(() => {
      options.open.delete(call.controller);
      stream.release();
    });
}

/** The requests of a server stream, which gets its only one as a value. */
const NO_REQUESTS: AsyncIterable<Uint8Array> = {
  async *[Symbol.asyncIterator]() {},
};

class StreamingCall implements StreamOwner {
  /** Aborted when the caller is gone, or the server stops. */
  readonly controller = new AbortController();
  readonly #stream: H2Stream;
  readonly #options: H2CallOptions;
  #isGone = false;
  #wake: (() => void) | undefined;

  constructor(stream: H2Stream, options: H2CallOptions) {
    this.#stream = stream;
    this.#options = options;
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

  async run(begin: () => AsyncIterator<GrpcAnswer>): Promise<void> {
    const stream = this.#stream;
    const { signal } = this.controller;
    try {
      const answers = begin();
      while (true) {
        const step = answers.next();
        const next = await this.#wait(step);
        if (next === undefined || this.#isGone) {
          return this.#leave(answers, step);
        }
        if (next.done === true) {
          if (signal.aborted) finishWith(stream, STOPPING_FAILURE);
          else stream.finish({ code: GRPC_STATUS.OK, message: "" });
          return;
        }
        if (next.value instanceof GrpcFailure) {
          finishWith(stream, next.value);
          return this.#leave(answers, undefined);
        }
        if (!stream.send(next.value)) await this.#room();
      }
    } catch (error) {
      // A method may leave by throwing when its signal is aborted.
      logFault(error, this.#options, signal.aborted);
      finishWith(
        stream,
        signal.aborted ? STOPPING_FAILURE : INTERNAL_FAILURE,
      );
    }
  }

  /**
   * Waits for one promise at a time, and for undefined once the caller is
   * gone. A race against one promise for the whole call would remember every
   * step of a long stream.
   */
  #wait<T>(promise: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#isGone) resolve(undefined);
      else this.#wake = () => resolve(undefined);
      promise.then(resolve, reject);
    });
  }

  /** Resolves when the waiting message is written, or the caller is gone. */
  #room(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isGone) resolve();
      else this.#wake = resolve;
    });
  }

  /** Ends the method without waiting for it, since it may hang. */
  #leave(
    answers: AsyncIterator<GrpcAnswer>,
    step: Promise<unknown> | undefined,
  ): void {
    const note = (error: unknown): void => logFault(error, this.#options, true);
    step?.catch(note);
    answers.return?.().catch(note);
  }
}
