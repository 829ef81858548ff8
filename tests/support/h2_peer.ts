/**
 * A client of HTTP/2 without sockets that a test moves by hand.
 *
 * @module
 */

import type { ByteSpan } from "../../services/shared/h2/byte_span.ts";
import { H2Connection } from "../../services/shared/h2/connection.ts";
import { H2Engine } from "../../services/shared/h2/engine.ts";
import { FRAME_TYPE, read32Bits } from "../../services/shared/h2/frame.ts";
import { HpackDecoder, hpackShared } from "../../services/shared/h2/hpack.ts";
import { HuffmanSteps } from "../../services/shared/h2/huffman.ts";
import type { H2Limits } from "../../services/shared/h2/limits.ts";
import type { H2Stream } from "../../services/shared/h2/stream.ts";
import { FakeClock } from "./fake_clock.ts";
import {
  concat,
  framesOf,
  KNOWN_PATH,
  type ReceivedFrame,
} from "./h2_frames.ts";
import { RecordingLogger } from "./recording_logger.ts";

/** Decodes header blocks to texts, such as `te: trailers`. */
export class HeaderTexts {
  readonly #names: string[] = [];
  #fields: string[] = [];
  readonly #hpack: HpackDecoder<string>;

  /** A decoder whose table is empty. */
  constructor() {
    const textOf = ({ bytes, start, end }: ByteSpan): string =>
      String.fromCharCode(...bytes.subarray(start, end));
    this.#hpack = new HpackDecoder(hpackShared({
      nameKind: (name) => this.#names.push(textOf(name)) - 1,
      meaning: (kind, value) => `${this.#names[kind]}: ${textOf(value)}`,
      field: (meaning) => this.#fields.push(meaning),
    }, new HuffmanSteps()));
  }

  /** What the table counts. */
  get tableBytes(): number {
    return this.#hpack.table.sizeBytes;
  }

  /** The entries of the table, newest first. */
  get tableEntries(): string[] {
    const { table } = this.#hpack;
    return Array.from(
      { length: table.count },
      (_, at) => table.at(at)!.meaning,
    );
  }

  /** Limits the table, as a peer's SETTINGS do. */
  resize(maxBytes: number): void {
    this.#hpack.table.resize(maxBytes);
  }

  /** The fields of a block; undefined when it is broken. */
  decode(block: Uint8Array): string[] | undefined {
    this.#fields = [];
    const isWhole = this.#hpack.decode({
      bytes: block,
      start: 0,
      end: block.length,
    });
    return isWhole ? this.#fields : undefined;
  }
}

/** A request that has reached the server. */
export interface ReachedRequest {
  readonly stream: H2Stream;
  readonly message: Uint8Array;
}

/** Options of {@linkcode FakePeer}. */
export interface FakePeerOptions {
  /** Bounds of the server. */
  readonly limits?: Partial<H2Limits>;
  /**
   * Answers requests; without it they only are kept.
   *
   * @default echoes them
   */
  readonly answer?: ((request: ReachedRequest) => void) | undefined;
  /** An engine to share. */
  readonly engine?: H2Engine;
}

/** Sends a request back as its answer. */
export function echo({ stream, message }: ReachedRequest): void {
  stream.answer(message);
  stream.release();
}

/** A peer of a connection without sockets. */
export class FakePeer {
  /** The time. */
  readonly clock = new FakeClock();
  /** What the server logs. */
  readonly log = new RecordingLogger();
  /** What connections share. */
  readonly engine: H2Engine;
  /** The server's side. */
  readonly connection: H2Connection;
  /** Requests that have reached it. */
  readonly requests: ReachedRequest[] = [];
  /** What the server has written, piece by piece. */
  readonly writes: Uint8Array[] = [];
  /** What waits to be sent, as the socket would tell. */
  unsentBytes = 0;
  /** Whether the server has closed its side. */
  isEnded = false;
  /** Whether the server has broken the connection. */
  isDestroyed = false;
  #taken = 0;

  /** A connection without a word said. */
  constructor(options: FakePeerOptions = {}) {
    const answer = "answer" in options ? options.answer : echo;
    this.engine = options.engine ?? new H2Engine({
      paths: ["/test.Test/Other", KNOWN_PATH],
      handler: {
        request: (stream, message) => {
          this.requests.push({ stream, message });
          answer?.({ stream, message });
        },
        // Paths whose requests have several messages are for servers' tests.
        open: () => {},
      },
      logger: this.log,
      clock: this.clock,
      ...(options.limits === undefined ? {} : { limits: options.limits }),
    });
    this.connection = new H2Connection(this.engine, this.#port());
  }

  /** Sends bytes, all at once. */
  send(...parts: readonly Uint8Array[]): void {
    this.connection.receive(concat(...parts));
  }

  /** The frames that came since the last time this was asked. */
  take(): ReceivedFrame[] {
    const bytes = concat(...this.writes.slice(this.#taken));
    this.#taken = this.writes.length;
    return framesOf(bytes);
  }

  /** The code of the GOAWAY among the frames not taken yet. */
  takeGoaway(): number | undefined {
    const goaway = this.take().find(({ type }) => type === FRAME_TYPE.GOAWAY);
    return goaway === undefined ? undefined : read32Bits(goaway.payload, 4);
  }

  /** Codes of the RST_STREAM frames not taken yet, by stream. */
  takeResets(): (readonly [streamId: number, code: number])[] {
    return this.take().filter(({ type }) => type === FRAME_TYPE.RST_STREAM)
      .map(({ streamId, payload }) => [streamId, read32Bits(payload, 0)]);
  }

  #port(): ConstructorParameters<typeof H2Connection>[1] {
    const isLate = (): boolean => this.isEnded;
    const peer = {
      write: (bytes: Uint8Array): void => {
        if (isLate()) throw new Error("Cannot write: the end was told");
        this.writes.push(bytes);
      },
      unsent: (): number => this.unsentBytes,
    };
    return {
      write: peer.write,
      get unsentBytes(): number {
        return peer.unsent();
      },
      end: () => {
        this.isEnded = true;
      },
      destroy: () => {
        this.isDestroyed = true;
      },
    };
  }
}
