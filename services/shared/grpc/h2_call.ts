/**
 * Methods of the seam on streams of the HTTP/2 engine.
 *
 * @module
 */

import type { H2Stream, StreamOwner } from "../h2/stream.ts";
import type { Logger } from "../logger.ts";
import { GRPC_STATUS, GrpcFailure } from "./method.ts";
import type { GrpcAnswer, GrpcCall, UnaryMethod } from "./method.ts";

/** What a call needs besides its method. */
export interface H2CallOptions {
  /** Full path of the method, for the log. */
  readonly path: string;
  /** Takes the errors of methods. */
  readonly logger: Logger;
}

/** A request on its way to a method. */
export interface H2Request {
  /** The stream that takes the answer. */
  readonly stream: H2Stream;
  /** The message. */
  readonly message: Uint8Array;
}

/** What a caller is told of an exception; the log has the rest. */
export const INTERNAL_FAILURE: GrpcFailure = new GrpcFailure(
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
export function finishWith(stream: H2Stream, failure: GrpcFailure): void {
  stream.finish({ code: failure.code, message: failure.message });
}

/** Options of {@linkcode logFault}. */
export interface FaultOptions extends H2CallOptions {
  /** Whether the method throws since its call is over. */
  readonly isCancelled: boolean;
}

/** A method that throws since its caller is gone does what it should. */
export function logFault(error: unknown, options: FaultOptions): void {
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
