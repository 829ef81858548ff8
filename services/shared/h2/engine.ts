/**
 * What the connections of a server have in common.
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
   * Takes a whole request. The answer goes to the stream, at once or later;
   * `stream.release()` follows it, or comes in its place when the stream has
   * been closed meanwhile. The message may be kept.
   */
  request(stream: H2Stream, message: Uint8Array): void;
  /**
   * Takes a request of a streaming path when it begins; its messages come
   * through `stream.intake`. For the answer the same holds.
   */
  open(stream: H2Stream): void;
}

/** What an {@linkcode H2Engine} is made of. */
interface EngineParts extends Pick<H2Engine, "handler" | "logger" | "clock"> {
  /** Full paths of the methods; requests tell theirs by its number here. */
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
  /** Takes lines about peers. */
  readonly logger: Logger;
  /** The time source. */
  readonly clock: Clock;
  /** Bounds of a connection. */
  readonly limits: H2Limits;
  /** Deadlines of calls and connections. */
  readonly wheel: TimerWheel;
  /**
   * Buffers for output: as many as connections are answered at once when the
   * replies of a store come, each of which takes one until all are written.
   */
  readonly pool: BufferPool = new BufferPool(OUTPUT_BYTES, 64);
  /** Lets the connections take turns. */
  readonly turns: ConnectionTurns = new ConnectionTurns();
  /** Reads headers. */
  readonly heads: HeadShared;
  /** Unfinished messages of all connections. */
  readonly budget: ByteBudget;

  /** Prepares everything; nothing runs yet. */
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
