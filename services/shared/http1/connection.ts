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
import type { HeadRefusal, RequestHead } from "./head.ts";
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

/** What requests are read with, which a stream as the last answer lets go. */
interface Intake {
  readonly heads: HeadReader;
  readonly bodyHost: RequestBodyHost;
  readonly deadline: Deadline;
}

/** What follows a request: another one, nothing, or the rest of a stream. */
type Following = "next" | "nothing" | Streaming;

/**
 * The rest of an answer with a stream, once its head is sent. A stream may
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
  readonly #context: ConnectionContext;
  readonly #origin: RequestOrigin;
  readonly #onOwing: Http1ConnectionOptions["onOwing"];
  readonly #wire: Wire;
  readonly #input: InputBuffer;
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
  constructor({ context, origin, wire, onOwing }: Http1ConnectionOptions) {
    this.#context = context;
    this.#origin = origin;
    this.#onOwing = onOwing;
    this.#wire = wire;
    this.#input = new InputBuffer(wire, context.limits.maxHeaderBytes);
    this.#endDeadline = context.deadline(() => this.destroy());
  }

  /** Serves until the connection ends, and closes it. Never rejects. */
  async run(): Promise<void> {
    const { limits, logger } = this.#context;
    this.#setOwing(true);
    try {
      this.#endDeadline.start(limits.headerTimeoutMs);
      await this.#wire.opened();
      this.#endDeadline.stop();
      const last = await this.#serveRequests();
      if (last === "nothing") return;
      // Streams are sent here: the frames of requests are gone with what they
      // hold, and a frame more would be half a kilobyte of each that waits.
      const { stream } = last;
      this.#input.watch(() => this.#cancelStream());
      let bytes = await stream.next();
      while (bytes !== undefined) {
        await this.#writePiece(bytes, last);
        bytes = await stream.next();
      }
      await this.#endStream(last);
    } catch (error) {
      // Clients go away at any time, and any peer can be one.
      logger.debug("A connection broke", { error: describeError(error) });
    } finally {
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

  /** Serves requests, up to the last one. */
  async #serveRequests(): Promise<Exclude<Following, "next">> {
    const intake = this.#openIntake();
    try {
      while (true) {
        const next = await intake.heads.next();
        this.#state = "busy";
        this.#setOwing(false);
        if (next.kind === "ended") return "nothing";
        if (next.kind === "refused") return await this.#refuse(next.refusal);
        const following = await this.#serve(next.head, intake);
        if (following !== "next") return following;
      }
    } finally {
      intake.deadline.end();
    }
  }

  #openIntake(): Intake {
    const { limits, budget } = this.#context;
    const input = this.#input;
    const deadline = this.#context.deadline(() => input.interrupt());
    return {
      heads: new HeadReader(input, deadline, limits),
      deadline,
      bodyHost: {
        input,
        budget,
        beforeWait: () => this.#sendContinue(),
        startDeadline: () => {
          this.#setOwing(true);
          deadline.start(limits.requestTimeoutMs);
        },
        stopDeadline: () => {
          this.#setOwing(false);
          deadline.stop();
        },
      },
    };
  }

  async #refuse(refusal: HeadRefusal): Promise<"nothing"> {
    await this.#write(encodeResponse(plainProblem(refusal.status, refusal), {
      isHead: false,
      connection: "close",
      date: this.#context.date(),
    }));
    await this.#linger(true);
    return "nothing";
  }

  async #serve(head: RequestHead, intake: Intake): Promise<Following> {
    const body = new RequestBody(head.framing, intake.bodyHost);
    this.#awaitsContinue = head.expectsContinue;
    const request = new Http1Request(head, body, this.#origin);
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
      return "nothing";
    }
    this.#state = "waiting";
    this.#setOwing(true);
    const hasCome = body.isComplete || await this.#skip(body, intake);
    return hasCome ? "next" : "nothing";
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

  async #writePiece(
    bytes: Uint8Array,
    { isChunked }: Streaming,
  ): Promise<void> {
    if (bytes.length === 0) return;
    await this.#write([isChunked ? encodeChunk(bytes) : bytes]);
  }

  async #endStream({ isChunked, mayCome }: Streaming): Promise<void> {
    if (isChunked) await this.#write([LAST_CHUNK]);
    this.#input.unwatch();
    this.#cancelStream();
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

  async #skip(body: RequestBody, { deadline }: Intake): Promise<boolean> {
    deadline.start(DRAIN_TIMEOUT_MS);
    const hasCome = await body.skip();
    deadline.stop();
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
    this.#onOwing(this, isOwing);
  }
}

interface EncodeContext {
  readonly head: RequestHead;
  readonly isLast: boolean;
  readonly exchange: Exchange;
  /** Memory for the answer. @default memory of its own */
  readonly output?: Uint8Array | undefined;
}
