/**
 * Calls of gRPC methods on streams of the HTTP/2 engine: unary ones and server
 * streams.
 *
 * @module
 */

import type { H2Stream, StreamOwner } from "../h2/stream.ts";
import type { Logger } from "../logger.ts";
import {
  GRPC_STATUS,
  type GrpcAnswer,
  type GrpcCall,
  GrpcFailure,
  type ServerStreamMethod,
  type UnaryMethod,
} from "./method.ts";

/** What a call needs besides its method. */
interface H2CallOptions {
  /** Full path of the method, for the log. */
  readonly path: string;
  /** Takes the errors of methods. */
  readonly logger: Logger;
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
  method: UnaryMethod,
  request: H2Request,
  options: H2CallOptions,
): void {
  const { stream } = request;
  const call = new H2Call();
  stream.owner = call;
  let answer: GrpcAnswer | Promise<GrpcAnswer>;
  try {
    answer = method(request.message, call);
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
    if (sent instanceof GrpcFailure) finishWith(stream, sent);
    else stream.answer(sent);
    stream.release();
  }

  function fail(error: unknown): void {
    logFault(error, { ...options, isCancelled: call.isCancelled });
    send(INTERNAL_FAILURE);
  }
}

/** Ends a stream with a failure. */
function finishWith(stream: H2Stream, failure: GrpcFailure): void {
  stream.finish({ code: failure.code, message: failure.message });
}

/** Options of {@linkcode logFault}. */
interface FaultOptions extends H2CallOptions {
  /** Whether the method throws since its call is over. */
  readonly isCancelled: boolean;
}

/** A method that throws since its caller is gone does what it should. */
function logFault(error: unknown, options: FaultOptions): void {
  const fields = {
    method: options.path,
    error: error instanceof Error
      ? error.stack ?? error.message
      : String(error),
  };
  if (options.isCancelled) {
    options.logger.debug("Ended a call whose caller is gone", fields);
  } else {
    options.logger.error("Cannot answer: the method threw", fields);
  }
}

/** Most methods never look at the signal, so it is made when one does. */
class H2Call implements GrpcCall, StreamOwner {
  #controller: AbortController | undefined;
  #isCancelled = false;
  #isSettled = false;

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

  /** An answer that a window holds back doesn't make a running call. */
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

/** Server streams that are open, so that a stop can end them. */
export type OpenServerStreams = Set<AbortController>;

/** What a server stream needs besides its method. */
interface H2ServerStreamOptions extends H2CallOptions {
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
