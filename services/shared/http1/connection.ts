/**
 * A connection of the HTTP/1.1 server: serves one request after the other, and
 * each wait has a timeout.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import type { ByteStream, HttpResponse } from "../http/exchange.ts";
import { describeError } from "../settled.ts";
import { RequestBody, type RequestBodyHost } from "./body.ts";
import type { ConnectionContext, Deadline } from "./connection_context.ts";
import { Exchange, Http1Request, type RequestOrigin } from "./exchange.ts";
import type { RequestHead } from "./head.ts";
import { HeadReader } from "./head_reader.ts";
import {
  encodeChunk,
  type EncodedResponse,
  type EncodeOptions,
  encodeResponse,
  LAST_CHUNK,
  plainProblem,
} from "./response.ts";
import { DRAIN_TIMEOUT_MS, MAX_DRAIN_BYTES } from "./settings.ts";
import { InputBuffer } from "./input_buffer.ts";
import type { Wire } from "../wire.ts";

/** Options of {@linkcode Http1Connection}. */
interface Http1ConnectionOptions {
  /** The connection's bytes; owned from now on. */
  readonly wire: Wire;
  /** Where requests of it come from. */
  readonly origin: RequestOrigin;
  /** What all connections share. */
  readonly context: ConnectionContext;
  /**
   * Called when the server begins, or ceases, to wait for the client; meanwhile
   * the connection may be closed to make room for another client.
   */
  readonly onOwing: (connection: Http1Connection, isOwing: boolean) => void;
}

type State =
  /** No request is complete. */
  | "waiting"
  /** A request is being answered. */
  | "busy"
  /** The last answer is sent; the client gets time to read it. */
  | "lingering";

/** How a request was served. */
type Served =
  /** Another request may follow. */
  | "next"
  /** It was the last one. */
  | "last"
  | Streaming;

/**
 * What an answer with a stream leaves to do once its head is sent. A stream may
 * last for hours, so this holds nothing of the request.
 */
interface Streaming {
  readonly stream: ByteStream;
  readonly isChunked: boolean;
  /** Whether more bytes of the request's body may come. */
  readonly mayCome: boolean;
}

const CONTINUE = Buffer.from("HTTP/1.1 100 Continue\r\n\r\n");

/** A part of an answer that the client must take within the time for it. */
const WRITE_BYTES = 65_536;

/** One connection. */
export class Http1Connection {
  readonly #options: Http1ConnectionOptions;
  readonly #context: ConnectionContext;
  readonly #wire: Wire;
  readonly #input: InputBuffer;
  readonly #heads: HeadReader;
  readonly #bodyHost: RequestBodyHost;
  readonly #inputDeadline: Deadline;
  readonly #endDeadline: Deadline;
  #state: State = "waiting";
  #isStopping = false;
  #exchange: Exchange | undefined;
  /** The body of the last answer, if it comes in the course of time. */
  #stream: ByteStream | undefined;
  /** Whether the client waits for a 100 (Continue) before it sends the body. */
  #awaitsContinue = false;
  #continued: Promise<unknown> | undefined;

  /** Nothing runs before `run()`. */
  constructor(options: Http1ConnectionOptions) {
    const { context, wire } = options;
    const { limits } = context;
    this.#options = options;
    this.#context = context;
    this.#wire = wire;
    this.#input = new InputBuffer(wire, limits.maxHeaderBytes);
    this.#inputDeadline = context.deadline(() => this.#input.interrupt());
    this.#endDeadline = context.deadline(() => this.destroy());
    this.#heads = new HeadReader(this.#input, this.#inputDeadline, limits);
    this.#bodyHost = {
      input: this.#input,
      budget: context.budget,
      beforeWait: () => this.#sendContinue(),
      startDeadline: () => {
        this.#setOwing(true);
        this.#inputDeadline.start(limits.requestTimeoutMs);
      },
      stopDeadline: () => {
        this.#setOwing(false);
        this.#inputDeadline.stop();
      },
    };
  }

  /** Serves until the connection ends, and closes it. Never rejects. */
  async run(): Promise<void> {
    const { limits, logger } = this.#context;
    this.#setOwing(true);
    try {
      this.#endDeadline.start(limits.headerTimeoutMs);
      await this.#wire.opened();
      this.#endDeadline.stop();
      let served = await this.#serveOne();
      while (served === "next") served = await this.#serveOne();
      // From here, as the frames below would keep the request.
      if (served !== "last") await this.#sendStream(served);
    } catch (error) {
      // Clients go away at any time, and any peer can be one.
      logger.debug("A connection broke", { error: describeError(error) });
    } finally {
      this.#inputDeadline.end();
      this.#endDeadline.end();
      this.#setOwing(false);
      this.destroy();
    }
  }

  /** Ends when the request under way, if there is one, has been answered. */
  shutdown(): void {
    this.#isStopping = true;
    if (this.#state === "waiting") this.destroy();
  }

  /**
   * Answers 503 to the request under way, if it has no answer yet; ends the
   * stream of one that has.
   */
  cut(): void {
    this.#exchange?.cut();
    this.#cancelStream();
  }

  /** Ends at once. */
  destroy(): void {
    this.cut();
    this.#wire.close();
  }

  /** Serves a request. */
  async #serveOne(): Promise<Served> {
    const next = await this.#heads.next();
    this.#state = "busy";
    this.#setOwing(false);
    if (next.kind === "ended") return "last";
    if (next.kind === "ok") return await this.#serve(next.head);
    const { status } = next.refusal;
    await this.#write(encodeResponse(plainProblem(status, next.refusal), {
      isHead: false,
      connection: "close",
      date: this.#context.date(),
    }));
    await this.#linger(true);
    return "last";
  }

  async #serve(head: RequestHead): Promise<Served> {
    const body = new RequestBody(head.framing, this.#bodyHost);
    this.#awaitsContinue = head.expectsContinue;
    const request = new Http1Request(head, body, this.#options.origin);
    const exchange = new Exchange(request, body, this.#context);
    const response = await this.#awaitAnswer(exchange);
    request.release();
    body.giveUp();
    // A client that got no 100 (Continue) may send the body or not.
    const isCutShort = !body.isComplete &&
      (this.#awaitsContinue || !body.isSkippable);
    const { stream } = response;
    const isLast = isCutShort || this.#isStopping || !head.keepsAlive ||
      this.#context.isDraining || stream !== undefined;
    if (stream !== undefined) {
      this.#stream = stream;
      await this.#write(this.#encode(response, { head, isLast, exchange }));
      if (head.method !== "HEAD") {
        this.#heads.forget();
        const isChunked = !head.isOldVersion;
        return { stream, isChunked, mayCome: !body.isComplete };
      }
      stream.cancel();
    } else {
      const output = this.#context.outputs.take();
      const context = { head, isLast, exchange, output };
      await this.#write(this.#encode(response, context));
      // Not after an error: a broken connection may still read the buffer.
      this.#context.outputs.give(output);
    }
    if (isLast || this.#isStopping) {
      await this.#linger(!body.isComplete);
      return "last";
    }
    this.#state = "waiting";
    this.#setOwing(true);
    return body.isComplete || await this.#skip(body) ? "next" : "last";
  }

  async #awaitAnswer(exchange: Exchange): Promise<HttpResponse> {
    this.#exchange = exchange;
    try {
      const answer = exchange.answer();
      if (!(answer instanceof Promise)) return answer;
      this.#input.watch(() => exchange.markGone());
      return await answer;
    } finally {
      this.#input.unwatch();
      this.#exchange = undefined;
    }
  }

  /** Sends a stream to its end, or until the client goes away. */
  async #sendStream(
    { stream, isChunked, mayCome }: Streaming,
  ): Promise<void> {
    this.#input.watch(() => this.#cancelStream());
    try {
      while (true) {
        const bytes = await stream.next();
        if (bytes === undefined) break;
        if (bytes.length === 0) continue;
        await this.#write([isChunked ? encodeChunk(bytes) : bytes]);
      }
      if (isChunked) await this.#write([LAST_CHUNK]);
    } finally {
      this.#input.unwatch();
      this.#cancelStream();
    }
    await this.#linger(mayCome);
  }

  #cancelStream(): void {
    try {
      this.#stream?.cancel();
    } catch (error) {
      this.#context.logger.error("Cannot end the stream of an answer", {
        error: describeError(error),
      });
    }
  }

  #encode(
    response: HttpResponse,
    { head, isLast, exchange, output }: EncodeContext,
  ): EncodedResponse {
    const options: EncodeOptions = {
      isHead: head.method === "HEAD",
      isChunked: !head.isOldVersion,
      connection: isLast
        ? "close"
        : head.isOldVersion
        ? "keep-alive"
        : undefined,
      date: this.#context.date(),
      output,
    };
    try {
      return encodeResponse(response, options);
    } catch (error) {
      const failed = exchange.failed(error);
      // A stream would follow the head of the failure.
      if (response.stream !== undefined) throw error;
      return encodeResponse(failed, options);
    }
  }

  async #write(pieces: EncodedResponse): Promise<void> {
    const { limits } = this.#context;
    if (this.#continued !== undefined) await this.#continued;
    this.#continued = undefined;
    for (const piece of pieces) {
      for (let start = 0; start < piece.length; start += WRITE_BYTES) {
        this.#endDeadline.start(limits.requestTimeoutMs);
        await this.#wire.write(
          piece.length <= WRITE_BYTES
            ? piece
            : piece.subarray(start, start + WRITE_BYTES),
        );
      }
    }
    this.#endDeadline.stop();
  }

  #sendContinue(): void {
    if (!this.#awaitsContinue) return;
    this.#awaitsContinue = false;
    this.#continued = this.#wire.write(CONTINUE);
    // The write of the answer awaits it, and reports its error.
    this.#continued.catch(() => {});
  }

  async #skip(body: RequestBody): Promise<boolean> {
    this.#inputDeadline.start(DRAIN_TIMEOUT_MS);
    const hasCome = await body.skip();
    this.#inputDeadline.stop();
    return hasCome;
  }

  /** Closes our side and, if more bytes may come, reads and drops them. */
  async #linger(mayCome: boolean): Promise<void> {
    this.#state = "lingering";
    this.#setOwing(true);
    this.#endDeadline.start(DRAIN_TIMEOUT_MS);
    await this.#wire.closeWrite();
    if (!mayCome && this.#input.length === 0) return;
    let leftBytes = MAX_DRAIN_BYTES;
    do {
      leftBytes -= this.#input.length;
      this.#input.consume(this.#input.length);
    } while (leftBytes > 0 && await this.#input.more() === "bytes");
  }

  #setOwing(isOwing: boolean): void {
    this.#options.onOwing(this, isOwing);
  }
}

interface EncodeContext {
  readonly head: RequestHead;
  readonly isLast: boolean;
  readonly exchange: Exchange;
  /** Memory for the answer. @default memory of its own */
  readonly output?: Uint8Array | undefined;
}
