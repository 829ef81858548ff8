/**
 * Methods of the seam as handlers of the gRPC library.
 *
 * @module
 */

import type { Logger } from "../logger.ts";
import { GRPC_STATUS, GrpcFailure } from "./method.ts";
import type {
  GrpcAnswer,
  GrpcCall,
  ServerStreamMethod,
  UnaryMethod,
} from "./method.ts";

/** What a handler needs besides its method. */
export interface HandlerOptions {
  /** Full path of the method, for the log. */
  readonly path: string;
  /** Takes the errors of methods. */
  readonly logger: Logger;
}

/** What is used of the library's call. */
export interface LibraryCall {
  /** The request's bytes. */
  readonly request: Uint8Array;
  /** True when the caller is gone, and also once the call is answered. */
  readonly cancelled: boolean;
  /** Tells when `cancelled` becomes true. */
  once(event: "cancelled", listener: () => void): unknown;
}

/** What is used of the library's call of a server stream. */
export interface LibraryStream extends LibraryCall {
  /** Sends an answer; `taken` is called when the connection has it. */
  write(bytes: Uint8Array, taken: () => void): unknown;
  /** Ends the stream with `OK`. */
  end(): unknown;
  /** Ends the stream with a status. */
  emit(event: "error", status: LibraryStatus): unknown;
}

/** A status as the library takes it. */
export interface LibraryStatus {
  /** Its number. */
  readonly code: number;
  /** Its text. */
  readonly details: string;
}

/** What the library calls for a unary method. */
export type LibraryUnaryHandler = (
  call: LibraryCall,
  callback: (status: LibraryStatus | null, answer?: Uint8Array) => void,
) => void;

/** What the library calls for a server stream. */
export type LibraryStreamHandler = (call: LibraryStream) => void;

/** Server streams that are open, so that a stop can end them. */
export type OpenStreams = Set<AbortController>;

/** What a caller is told of an exception; the log has the rest. */
const INTERNAL_FAILURE = new GrpcFailure(
  GRPC_STATUS.INTERNAL,
  "Cannot answer: internal error",
);

/** What ends a stream whose server stops. */
const STOPPING_FAILURE = new GrpcFailure(
  GRPC_STATUS.UNAVAILABLE,
  "Cannot continue: the server is stopping",
);

/** A unary method as a handler; an answer had at once is sent at once. */
export function unaryHandler(
  method: UnaryMethod,
  options: HandlerOptions,
): LibraryUnaryHandler {
  return (call, callback) => {
    const seamCall = new LazyCall(call);
    const send = (answer: GrpcAnswer): void => {
      seamCall.settle();
      if (answer instanceof GrpcFailure) callback(libraryError(answer));
      else callback(null, answer);
    };
    const fail = (error: unknown): void => {
      logFault(error, { ...options, call });
      send(INTERNAL_FAILURE);
    };
    let answer: GrpcAnswer | Promise<GrpcAnswer>;
    try {
      answer = method(call.request, seamCall);
    } catch (error) {
      return fail(error);
    }
    if (answer instanceof Uint8Array || answer instanceof GrpcFailure) {
      send(answer);
    } else {
      answer.then(send, fail);
    }
  };
}

/**
 * A server stream as a handler. The next answer is asked for when the one
 * before has been taken by the connection, so a slow caller holds one answer
 * at most. While the stream is open, its controller is in `open`.
 */
export function serverStreamHandler(
  method: ServerStreamMethod,
  options: HandlerOptions & { readonly open: OpenStreams },
): LibraryStreamHandler {
  return (call) => {
    const controller = new AbortController();
    call.once("cancelled", () => controller.abort());
    options.open.add(controller);
    void pump(method, { ...options, call, signal: controller.signal })
      .finally(() => options.open.delete(controller));
  };
}

/** Most methods never look at the signal, so it is made when one does. */
class LazyCall implements GrpcCall {
  readonly #call: LibraryCall;
  #controller: AbortController | undefined;
  #settled = false;

  constructor(call: LibraryCall) {
    this.#call = call;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      const controller = new AbortController();
      this.#controller = controller;
      if (!this.#settled && this.#call.cancelled) controller.abort();
      this.#call.once("cancelled", () => {
        if (!this.#settled) controller.abort();
      });
    }
    return this.#controller.signal;
  }

  /** The library also reports "cancelled" after an answer: not an abort. */
  settle(): void {
    this.#settled = true;
  }
}

interface FaultOptions extends HandlerOptions {
  readonly call: LibraryCall;
}

interface PumpOptions extends HandlerOptions {
  readonly call: LibraryStream;
  /** Aborted when the caller is gone, and when the server stops. */
  readonly signal: AbortSignal;
}

async function pump(
  method: ServerStreamMethod,
  options: PumpOptions,
): Promise<void> {
  const { call, signal } = options;
  try {
    const answers = method(call.request, { signal })[Symbol.asyncIterator]();
    const wait = waiter(options);
    while (true) {
      const next = await wait(answers.next());
      if (next?.done === true) {
        return end(call, signal.aborted ? STOPPING_FAILURE : undefined);
      }
      if (next === undefined) return leave(answers, options);
      if (next.value instanceof GrpcFailure) {
        end(call, next.value);
        return leave(answers, options);
      }
      await wait(written(call, next.value));
    }
  } catch (error) {
    // A method may leave by throwing when its signal is aborted.
    if (signal.aborted) return end(call, STOPPING_FAILURE);
    logFault(error, options);
    end(call, INTERNAL_FAILURE);
  }
}

/** Not awaited: a method that hangs cannot be made to return. */
function leave(
  answers: AsyncIterator<GrpcAnswer>,
  options: FaultOptions,
): void {
  answers.return?.().catch((error: unknown) => logFault(error, options));
}

/**
 * Waits for one promise at a time, and for undefined once the caller is gone.
 * A race against one promise for the whole call would remember every step of
 * a long stream.
 */
function waiter(
  options: PumpOptions,
): <T>(promise: Promise<T>) => Promise<T | undefined> {
  let giveUp: (() => void) | undefined;
  options.call.once("cancelled", () => giveUp?.());
  return (promise) =>
    new Promise((resolve, reject) => {
      giveUp = () => resolve(undefined);
      if (options.call.cancelled) giveUp();
      promise.then(resolve, (error: unknown) => {
        if (options.call.cancelled) logFault(error, options);
        reject(error);
      });
    });
}

function written(call: LibraryStream, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    call.write(bytes, () => resolve());
  });
}

function end(
  call: LibraryStream,
  failure: GrpcFailure | undefined,
): void {
  if (call.cancelled) return;
  if (failure === undefined) call.end();
  else call.emit("error", libraryError(failure));
}

/** Lone surrogates would make the library's percent-encoding throw. */
function libraryError(
  failure: GrpcFailure,
): LibraryStatus {
  return { code: failure.code, details: failure.message.toWellFormed() };
}

/** A method that throws since its caller is gone does what it should. */
function logFault(error: unknown, options: FaultOptions): void {
  const fields = {
    method: options.path,
    error: error instanceof Error
      ? error.stack ?? error.message
      : String(error),
  };
  if (options.call.cancelled) {
    options.logger.debug("Ended a call whose caller is gone", fields);
  } else {
    options.logger.error("Cannot answer: the method threw", fields);
  }
}
