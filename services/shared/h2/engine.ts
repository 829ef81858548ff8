/**
 * What all connections of an HTTP/2 server share: handler, limits, timers,
 * buffers and header tables.
 *
 * @module
 */

import { BufferPool, ByteBudget } from "../connection_memory.ts";
import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import { TimerWheel } from "../timer_wheel.ts";
import { ConnectionTurns } from "./connection_turns.ts";
import { hpackShared } from "./hpack.ts";
import { HuffmanSteps } from "./huffman.ts";
import { DEFAULT_LIMITS, type H2Limits } from "./limits.ts";
import { OUTPUT_BYTES } from "./output_batch.ts";
import { type HeadShared, RequestHeadReader } from "./request_head.ts";
import type { H2Stream } from "./stream.ts";

/** Answers requests. */
interface RequestHandler {
  /**
   * Handles a whole request. The handler answers on the stream, at once or
   * later, and then calls `stream.release()`; when the stream has been closed
   * meanwhile, it only calls `stream.release()`. The message may be kept.
   */
  request(stream: H2Stream, message: Uint8Array): void;
  /**
   * Handles a request of a streaming path when it begins; its messages come
   * through `stream.intake`. It is answered as in `request()`.
   */
  open(stream: H2Stream): void;
}

/** Options of {@linkcode H2Engine}. */
interface EngineParts extends Pick<H2Engine, "handler" | "logger" | "clock"> {
  /** Full paths of the methods; a request names its path by its index here. */
  readonly paths: readonly string[];
  /**
   * Names of fields whose text requests keep, in lower case.
   *
   * @default none
   */
  readonly keptNames?: readonly string[] | undefined;
  /**
   * Numbers of the paths whose requests may have any number of messages.
   *
   * @default no path
   */
  readonly streaming?: ReadonlySet<number> | undefined;
  /**
   * Bounds that differ from {@linkcode DEFAULT_LIMITS}.
   *
   * @default none differ
   */
  readonly limits?: Partial<H2Limits>;
}

/** Tables, memory and bounds for all connections of a server. */
export class H2Engine {
  /** Answers the requests. */
  readonly handler: RequestHandler;
  /** Numbers of the paths whose requests may have any number of messages. */
  readonly streaming: ReadonlySet<number>;
  /** Logs faults of peers. */
  readonly logger: Logger;
  /** The time source. */
  readonly clock: Clock;
  /** Bounds of a connection. */
  readonly limits: H2Limits;
  /** Runs the deadlines of calls and the timeouts of connections. */
  readonly wheel: TimerWheel;
  /**
   * Buffers for output: as many as connections are answered at once when the
   * replies of a store come, each of which takes one until all are written.
   */
  readonly pool: BufferPool = new BufferPool(OUTPUT_BYTES, 64);
  /** Lets the connections take turns. */
  readonly turns: ConnectionTurns = new ConnectionTurns();
  /** Decodes the headers of requests. */
  readonly heads: HeadShared;
  /** Limits the bytes of unfinished messages of all connections. */
  readonly budget: ByteBudget;

  /** Prepares everything; no timer runs yet. */
  constructor(options: EngineParts) {
    this.handler = options.handler;
    this.streaming = options.streaming ?? new Set();
    this.logger = options.logger;
    this.clock = options.clock;
    this.limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.wheel = new TimerWheel(options.clock);
    const reader = new RequestHeadReader(
      options.paths,
      {
        maxListBytes: this.limits.maxHeaderListBytes,
        keptNames: options.keptNames,
      },
    );
    this.heads = { reader, hpack: hpackShared(reader, new HuffmanSteps()) };
    this.budget = new ByteBudget(this.limits.maxServerBufferedBytes);
  }
}
