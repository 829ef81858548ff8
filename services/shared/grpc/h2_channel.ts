/**
 * A gRPC client on the project's own HTTP/2. When the server disconnects,
 * breaks the protocol or goes silent, calls end with a failure value, never an
 * exception, and the next call connects again.
 *
 * @module
 */

import { type Clock, steadyClock, systemClock, type Timer } from "../clock.ts";
import type { ClientStream, StreamLoss } from "../h2/client_stream.ts";
import { prefixed } from "../h2/client_stream.ts";
import type {
  ClientConnectionOptions,
  H2ClientConnection,
} from "../h2/client_connection.ts";
import { type ResponseHead, responseHeads } from "../h2/response_head.ts";
import { quote } from "../quote.ts";
import { describeError } from "../settled.ts";
import { TimerWheel } from "../timer_wheel.ts";
import type {
  GrpcCallOptions,
  GrpcChannel,
  GrpcStream,
  GrpcUnaryOptions,
} from "./channel.ts";
import { lossFailure, readStatus, requestBlock } from "./client_headers.ts";
import {
  ClientSocket,
  type GrpcTarget,
  openSocket,
  targetText,
} from "./client_socket.ts";
import { GRPC_STATUS, type GrpcAnswer, GrpcFailure } from "./method.ts";

/** The server that a channel calls, and the limits of its calls. */
export interface H2GrpcChannelOptions {
  /** Where the server is, and whether it speaks TLS. */
  readonly target: GrpcTarget;
  /**
   * Largest message that is received, in bytes; a larger one fails its call.
   *
   * @default 4194304
   */
  readonly maxReceiveBytes?: number | undefined;
  /**
   * How long connecting may take, including TLS and the server's settings.
   *
   * @default 10000
   */
  readonly connectTimeoutMs?: number | undefined;
  /**
   * The time source.
   *
   * @default systemClock
   */
  readonly clock?: Clock | undefined;
}

/** Attempts for a call as long as the server has not processed it. */
const MAX_TRIES = 3;
const DEFAULT_RECEIVE_BYTES = 4_194_304;
const DEFAULT_CONNECT_TIMEOUT_MS = 10_000;
/**
 * Silence of the server, while a call runs, after which a PING is sent. Many
 * servers disconnect when they get a PING more often than every five minutes,
 * so it is a little more; each time a server does, it is doubled.
 */
const FIRST_KEEPALIVE_MS = 310_000;
/** How long the answer to that PING may take. */
const KEEPALIVE_TIMEOUT_MS = 10_000;

type Connected =
  | { readonly kind: "connected"; readonly connection: H2ClientConnection }
  | { readonly kind: "failed"; readonly failure: GrpcFailure };

/** A channel over one connection at a time. */
export class H2GrpcChannel implements GrpcChannel {
  readonly #options: H2GrpcChannelOptions;
  readonly #clock: Clock;
  readonly #connectionOptions: Omit<
    ClientConnectionOptions,
    "keepaliveMs" | "onRetired"
  >;
  #keepaliveMs = FIRST_KEEPALIVE_MS;
  readonly #calls = new Set<Call>();
  readonly #sockets = new Set<ClientSocket>();
  /** Calls that wait for room on a connection. */
  readonly #waiting = new Set<() => void>();
  readonly #closing = new AbortController();
  #current: Promise<Connected> | undefined;

  /** Connects with the first call. */
  constructor(options: H2GrpcChannelOptions) {
    this.#options = options;
    this.#clock = steadyClock(options.clock ?? systemClock);
    this.#connectionOptions = {
      heads: responseHeads(),
      clock: this.#clock,
      wheel: new TimerWheel(this.#clock),
      maxMessageBytes: options.maxReceiveBytes ?? DEFAULT_RECEIVE_BYTES,
      keepaliveTimeoutMs: KEEPALIVE_TIMEOUT_MS,
      onRoom: () => this.#wakeAll(),
      onTooManyPings: () => this.#keepaliveMs *= 2,
    };
  }

  /** Calls a method with one request and one answer. */
  unary(
    path: string,
    request: Uint8Array,
    options: GrpcUnaryOptions,
  ): Promise<GrpcAnswer> {
    return new Promise((resolve) => {
      let answer: Uint8Array | undefined;
      const call = this.#begin(path, options, {
        message(message) {
          if (answer === undefined) {
            answer = message;
            return;
          }
          call.fail(failed(path, "the server sent more than one answer"));
        },
        ended(failure) {
          timer.cancel();
          resolve(
            failure ?? answer ??
              failed(path, "the server sent no answer"),
          );
        },
      }, Math.max(1, Math.ceil(options.deadlineMs)));
      const timer: Timer = this.#clock.setTimer(
        () =>
          call.fail(
            new GrpcFailure(
              GRPC_STATUS.DEADLINE_EXCEEDED,
              `Cannot call ${quote(path)}: no answer within ` +
                `${options.deadlineMs} ms`,
            ),
          ),
        options.deadlineMs,
      );
      void call.send(request);
      call.closeSend();
      call.start();
    });
  }

  /** Opens a stream. */
  stream(path: string, options: GrpcCallOptions = {}): GrpcStream {
    const inbox = new Inbox();
    const call = this.#begin(path, options, inbox);
    inbox.call = call;
    call.start();
    return {
      send: (message) => call.send(message),
      closeSend: () => call.closeSend(),
      messages: inbox,
      cancel: () => call.fail(cancelled(path)),
    };
  }

  /** Ends running calls with `CANCELLED` and closes the connection. */
  close(): void {
    this.#closing.abort();
    for (const call of [...this.#calls]) {
      call.fail(
        new GrpcFailure(
          GRPC_STATUS.CANCELLED,
          `Cannot call ${quote(call.path)}: the client is closed`,
        ),
      );
    }
    for (const socket of this.#sockets) socket.connection.close();
    this.#current = undefined;
  }

  #begin(
    path: string,
    options: GrpcCallOptions,
    listener: CallListener,
    deadlineMs?: number,
  ): Call {
    const { target } = this.#options;
    const block = requestBlock(path, {
      // A Unix socket has no host name; gRPC's own libraries send the same.
      authority: target.kind === "tcp"
        ? target.tls?.serverName ?? targetText(target)
        : "localhost",
      isTls: target.kind === "tcp" && target.tls !== undefined,
      metadata: options.metadata ?? {},
      deadlineMs,
    });
    const call: Call = new Call(path, {
      block,
      signal: options.signal,
      listener,
      connection: () => this.#connection(),
      onEnd: () => {
        this.#calls.delete(call);
        this.#wakeOne();
      },
    });
    this.#calls.add(call);
    if (this.#closing.signal.aborted) {
      queueMicrotask(() => call.fail(cancelled(path)));
    }
    return call;
  }

  /** A connection with room for one more stream. */
  async #connection(): Promise<Connected> {
    let tries = 0;
    while (true) {
      this.#current ??= this.#newConnection();
      const connected = await this.#current;
      if (connected.kind === "failed") return connected;
      const { connection } = connected;
      if (connection.hasRoom) return connected;
      if (connection.isRetired) {
        if (++tries < MAX_TRIES) continue;
        return this.#unavailable("the server leaves as soon as it is there");
      }
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#waiting.delete(wake);
          resolve();
        };
        this.#waiting.add(wake);
      });
    }
  }

  /** Lets the call that waits longest check whether there is room. */
  #wakeOne(): void {
    const [wake] = this.#waiting;
    wake?.();
  }

  #wakeAll(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  /** A connection that calls share until it is lost. */
  #newConnection(): Promise<Connected> {
    const forget = (): void => {
      if (this.#current === connecting) this.#current = undefined;
      this.#wakeAll();
    };
    const connecting: Promise<Connected> = this.#connect(forget)
      .then((connected) => {
        // The next call tries again.
        if (connected.kind === "failed") forget();
        return connected;
      });
    return connecting;
  }

  async #connect(onRetired: () => void): Promise<Connected> {
    const { target, connectTimeoutMs } = this.#options;
    const timeout = new AbortController();
    const timer = this.#clock.setTimer(
      () => timeout.abort(),
      connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS,
    );
    const closing = this.#closing.signal;
    try {
      const ended = AbortSignal.any([closing, timeout.signal]);
      const socket: ClientSocket = new ClientSocket(
        await openSocket(target, { signal: ended, clock: this.#clock }),
        {
          ...this.#connectionOptions,
          keepaliveMs: this.#keepaliveMs,
          onRetired,
          onClosed: () => this.#sockets.delete(socket),
        },
      );
      this.#sockets.add(socket);
      const { connection } = socket;
      const fault = await connection.ready(ended);
      if (fault === undefined) return { kind: "connected", connection };
      socket.destroy();
      throw new Error(fault);
    } catch (error) {
      return this.#unavailable(
        timeout.signal.aborted ? "no connection in time" : describeError(error),
      );
    } finally {
      timer.cancel();
    }
  }

  #unavailable(reason: string): Connected {
    const { target } = this.#options;
    const failure = new GrpcFailure(
      this.#closing.signal.aborted
        ? GRPC_STATUS.CANCELLED
        : GRPC_STATUS.UNAVAILABLE,
      `Cannot connect to ${quote(targetText(target))}: ${reason}`,
    );
    return { kind: "failed", failure };
  }
}

/** Receives the messages and the end of a call. */
interface CallListener {
  /** A message has come. */
  message(message: Uint8Array): void;
  /** The call is over; it succeeded without a failure. Called once. */
  ended(failure: GrpcFailure | undefined): void;
}

/** What a call is made of. */
interface CallParts {
  /** The request's headers, or why there are none. */
  readonly block: Uint8Array | GrpcFailure;
  readonly signal: AbortSignal | undefined;
  readonly listener: CallListener;
  /** Gives a connection, with room at that moment. */
  readonly connection: () => Promise<Connected>;
  /** Called when the call ends, or does not use the room it waited for. */
  readonly onEnd: () => void;
}

/** A call from its start to its end; a retry may use another connection. */
class Call {
  readonly path: string;
  readonly #options: CallParts;
  readonly #onAbort = () => this.fail(cancelled(this.path));
  /** Messages sent before there was a stream; kept for a retry. */
  readonly #unsent: {
    readonly bytes: Uint8Array;
    readonly sent: () => void;
  }[] = [];
  #isSendClosed = false;
  /** Whether all messages are still kept, so that the call can be retried. */
  #isWhole = false;
  #connection: H2ClientConnection | undefined;
  #stream: ClientStream | undefined;
  #hasMessage = false;
  #tries = 0;
  #isOver = false;

  constructor(path: string, options: CallParts) {
    this.path = path;
    this.#options = options;
  }

  start(): void {
    const { block, signal } = this.#options;
    if (block instanceof GrpcFailure) {
      queueMicrotask(() => this.fail(block));
      return;
    }
    if (signal?.aborted) {
      queueMicrotask(this.#onAbort);
      return;
    }
    signal?.addEventListener("abort", this.#onAbort, { once: true });
    void this.#open(block);
  }

  send(message: Uint8Array): Promise<void> {
    if (this.#isOver || this.#isSendClosed) return Promise.resolve();
    const bytes = prefixed(message);
    if (this.#stream !== undefined && this.#connection !== undefined) {
      return this.#connection.send(this.#stream, bytes);
    }
    return new Promise((sent) => this.#unsent.push({ bytes, sent }));
  }

  closeSend(): void {
    this.#isSendClosed = true;
    if (this.#stream !== undefined) this.#connection?.closeSend(this.#stream);
  }

  holdBack(): void {
    if (this.#stream !== undefined) this.#connection?.holdBack(this.#stream);
  }

  letGo(): void {
    if (this.#stream !== undefined) this.#connection?.letGo(this.#stream);
  }

  /** Ends the call with a failure; harmless when it is over. */
  fail(failure: GrpcFailure): void {
    if (this.#isOver) return;
    if (this.#stream !== undefined) this.#connection?.cancel(this.#stream);
    this.#end(failure);
  }

  async #open(block: Uint8Array): Promise<void> {
    this.#tries++;
    let connected = await this.#options.connection();
    // Others may have taken the room meanwhile.
    while (
      !this.#isOver && connected.kind === "connected" &&
      !connected.connection.hasRoom
    ) connected = await this.#options.connection();
    // The call ended while it waited: give its room to another call.
    if (this.#isOver) return this.#options.onEnd();
    if (connected.kind === "failed") return this.#end(connected.failure);
    const { connection } = connected;
    this.#connection = connection;
    const stream = connection.open(block, {
      message: (message) => {
        this.#hasMessage = true;
        if (!this.#isOver) this.#options.listener.message(message);
      },
      ended: (head) => this.#ended(head),
      lost: (loss) => this.#lost(loss, block),
    });
    this.#stream = stream;
    for (const { bytes, sent } of this.#unsent) {
      void connection.send(stream, bytes).then(sent);
    }
    this.#isWhole = this.#isSendClosed;
    if (this.#isWhole) connection.closeSend(stream);
    else this.#unsent.length = 0;
  }

  #ended(head: ResponseHead): void {
    this.#end(readStatus(head, this.path));
  }

  /** Retries a call that the server has not processed; others fail. */
  #lost(loss: StreamLoss, block: Uint8Array): void {
    if (this.#isOver) return;
    this.#stream = undefined;
    const mayRetry = loss.kind === "unprocessed" && !this.#hasMessage &&
      this.#isWhole && this.#tries < MAX_TRIES;
    if (mayRetry) void this.#open(block);
    else this.#end(lossFailure(loss, this.path));
  }

  #end(failure: GrpcFailure | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stream = undefined;
    this.#options.signal?.removeEventListener("abort", this.#onAbort);
    for (const { sent } of this.#unsent) sent();
    this.#unsent.length = 0;
    this.#options.listener.ended(failure);
    this.#options.onEnd();
  }
}

/** The messages of a stream that have come and have not been taken. */
class Inbox implements CallListener, AsyncIterable<GrpcAnswer> {
  call: Call | undefined;
  readonly #messages: GrpcAnswer[] = [];
  #isEnded = false;
  #wake: (() => void) | undefined;

  message(message: Uint8Array): void {
    this.#messages.push(message);
    this.call?.holdBack();
    this.#wake?.();
  }

  ended(failure: GrpcFailure | undefined): void {
    if (failure !== undefined) this.#messages.push(failure);
    this.#isEnded = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<GrpcAnswer> {
    try {
      while (true) {
        const next = this.#messages.shift();
        if (next !== undefined) {
          if (this.#messages.length === 0) this.call?.letGo();
          yield next;
          continue;
        }
        if (this.#isEnded) return;
        await new Promise<void>((resolve) => this.#wake = resolve);
        this.#wake = undefined;
      }
    } finally {
      // A consumer that stops iterating needs no further messages.
      this.call?.fail(cancelled(this.call.path));
    }
  }
}

function cancelled(path: string): GrpcFailure {
  return new GrpcFailure(
    GRPC_STATUS.CANCELLED,
    `Cannot call ${quote(path)}: it was cancelled`,
  );
}

function failed(path: string, reason: string): GrpcFailure {
  return new GrpcFailure(
    GRPC_STATUS.INTERNAL,
    `Cannot call ${quote(path)}: ${reason}`,
  );
}
