/**
 * A connection to a public server: one request after the other, each wait
 * within a bound.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { describeError } from "../settled.ts";
import type { HttpResponse } from "./exchange.ts";
import { PublicBody, type PublicBodyHost } from "./public_body.ts";
import type { PublicDeadline } from "./public_deadline.ts";
import type { PublicEngine } from "./public_engine.ts";
import { PublicExchange } from "./public_exchange.ts";
import type { RequestHead } from "./public_head.ts";
import { PublicHeadReader } from "./public_head_reader.ts";
import { PublicInput } from "./public_input.ts";
import { DRAIN_TIMEOUT_MS, MAX_DRAIN_BYTES } from "./public_limits.ts";
import { PublicRequest, type RequestOrigin } from "./public_request.ts";
import {
  type EncodedResponse,
  type EncodeOptions,
  encodeResponse,
  plainProblem,
} from "./public_response.ts";
import type { Wire } from "./public_wire.ts";

/** Options of {@linkcode PublicConnection}. */
export interface PublicConnectionOptions {
  /** The connection's bytes; owned from now on. */
  readonly wire: Wire;
  /** Where requests of it come from. */
  readonly origin: RequestOrigin;
  /** What all connections share. */
  readonly engine: PublicEngine;
  /**
   * Called whenever the client begins, or ceases, to owe us something; while it
   * does the connection may be given to somebody else.
   */
  readonly onOwing: (connection: PublicConnection, isOwing: boolean) => void;
}

type State =
  /** No request has come in whole. */
  | "waiting"
  /** A request is being answered. */
  | "busy"
  /** All is said; the client is given time to hear it. */
  | "lingering";

const CONTINUE = Buffer.from("HTTP/1.1 100 Continue\r\n\r\n");

/** A part of an answer that the client must take within the time for it. */
const WRITE_BYTES = 65_536;

/** One connection. */
export class PublicConnection {
  readonly #options: PublicConnectionOptions;
  readonly #engine: PublicEngine;
  readonly #wire: Wire;
  readonly #input: PublicInput;
  readonly #heads: PublicHeadReader;
  readonly #bodyHost: PublicBodyHost;
  readonly #inputDeadline: PublicDeadline;
  readonly #endDeadline: PublicDeadline;
  #state: State = "waiting";
  #isStopping = false;
  #exchange: PublicExchange | undefined;
  /** Whether the client waits to be told that it may send the body. */
  #awaitsContinue = false;
  #continued: Promise<void> | undefined;

  /** Nothing runs before `run()`. */
  constructor(options: PublicConnectionOptions) {
    const { engine, wire } = options;
    const { limits } = engine;
    this.#options = options;
    this.#engine = engine;
    this.#wire = wire;
    this.#input = new PublicInput(wire, limits.maxHeaderBytes);
    this.#inputDeadline = engine.deadline(() => this.#input.interrupt());
    this.#endDeadline = engine.deadline(() => this.destroy());
    this.#heads = new PublicHeadReader({
      input: this.#input,
      maxBytes: limits.maxHeaderBytes,
      startIdle: () => this.#inputDeadline.start(limits.idleTimeoutMs),
      startHead: () => this.#inputDeadline.start(limits.headerTimeoutMs),
      stop: () => this.#inputDeadline.stop(),
    });
    this.#bodyHost = {
      input: this.#input,
      budget: engine.budget,
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
    const { limits, logger } = this.#engine;
    this.#setOwing(true);
    try {
      this.#endDeadline.start(limits.headerTimeoutMs);
      await this.#wire.opened();
      this.#endDeadline.stop();
      while (await this.#serveOne());
    } catch (error) {
      // Clients go away at any time, and anybody can be one.
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

  /** Answers 503 to the request under way, if it has no answer yet. */
  cut(): void {
    this.#exchange?.cut();
  }

  /** Ends at once. */
  destroy(): void {
    this.#exchange?.cut();
    this.#wire.close();
  }

  /** Whether another request may follow. */
  async #serveOne(): Promise<boolean> {
    const next = await this.#heads.next();
    this.#state = "busy";
    this.#setOwing(false);
    if (next.kind === "ended") return false;
    if (next.kind === "ok") return await this.#serve(next.head);
    const { status } = next.refusal;
    await this.#write(encodeResponse(plainProblem(status, next.refusal), {
      isHead: false,
      connection: "close",
      date: this.#engine.date(),
    }));
    await this.#linger(true);
    return false;
  }

  async #serve(head: RequestHead): Promise<boolean> {
    const body = new PublicBody(head.framing, this.#bodyHost);
    this.#awaitsContinue = head.expectsContinue;
    const { handler, logger } = this.#engine;
    const request = new PublicRequest(head, body, this.#options.origin);
    const exchange = new PublicExchange({ request, body, handler, logger });
    const response = await this.#answerOf(exchange);
    request.release();
    body.giveUp();
    // Who was not told to continue may send the body or leave it.
    const isCutShort = !body.isComplete &&
      (this.#awaitsContinue || !body.isSkippable);
    const isLast = isCutShort || this.#isStopping || !head.keepsAlive;
    const output = this.#engine.outputs.take();
    const context = { head, isLast, exchange, output };
    await this.#write(this.#encode(response, context));
    // Of a connection that broke it may still be read.
    this.#engine.outputs.giveBack(output);
    if (isLast || this.#isStopping) {
      await this.#linger(!body.isComplete);
      return false;
    }
    this.#state = "waiting";
    this.#setOwing(true);
    return body.isComplete || await this.#skip(body);
  }

  async #answerOf(exchange: PublicExchange): Promise<HttpResponse> {
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

  #encode(
    response: HttpResponse,
    { head, isLast, exchange, output }: EncodeContext,
  ): EncodedResponse {
    const options: EncodeOptions = {
      isHead: head.method === "HEAD",
      connection: isLast
        ? "close"
        : head.isOldVersion
        ? "keep-alive"
        : undefined,
      date: this.#engine.date(),
      output,
    };
    try {
      return encodeResponse(response, options);
    } catch (error) {
      return encodeResponse(exchange.failed(error), options);
    }
  }

  async #write(pieces: EncodedResponse): Promise<void> {
    const { limits } = this.#engine;
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
    // The answer comes after it, and fails where it has failed.
    this.#continued.catch(() => {});
  }

  async #skip(body: PublicBody): Promise<boolean> {
    this.#inputDeadline.start(DRAIN_TIMEOUT_MS);
    const hasCome = await body.skip();
    this.#inputDeadline.stop();
    return hasCome;
  }

  /** Says that nothing follows and, where more may come, lets it come. */
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
  readonly exchange: PublicExchange;
  readonly output: Uint8Array;
}
