/**
 * An HTTP/2 client without sockets, which a test controls step by step.
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
  KNOWN_PATH,
  type ReceivedFrame,
  splitFrames,
} from "./h2_frames.ts";
import { RecordingLogger } from "./recording_logger.ts";

/** Decodes header blocks to texts such as `te: trailers`. */
export class HeaderTexts {
  readonly #names: string[] = [];
  #fields: string[] = [];
  readonly #hpack: HpackDecoder<string>;

  /** Creates a decoder with an empty dynamic table. */
  constructor() {
    const decodeText = ({ bytes, start, end }: ByteSpan): string =>
      String.fromCharCode(...bytes.subarray(start, end));
    this.#hpack = new HpackDecoder(hpackShared({
      nameKind: (name) => this.#names.push(decodeText(name)) - 1,
      meaning: (kind, value) => `${this.#names[kind]}: ${decodeText(value)}`,
      field: (meaning) => this.#fields.push(meaning),
    }, new HuffmanSteps()));
  }

  /** The size of the dynamic table, in bytes as HPACK counts them. */
  get tableBytes(): number {
    return this.#hpack.table.sizeBytes;
  }

  /** The entries of the dynamic table, newest first. */
  get tableEntries(): string[] {
    const { table } = this.#hpack;
    return Array.from(
      { length: table.count },
      (_, at) => table.at(at)!.meaning,
    );
  }

  /** Limits the size of the dynamic table, as a peer's SETTINGS do. */
  resize(maxBytes: number): void {
    this.#hpack.table.resize(maxBytes);
  }

  /**
   * Returns the fields of a header block; `undefined` when the block is
   * invalid.
   */
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
  /** Limits of the server. */
  readonly limits?: Partial<H2Limits>;
  /**
   * Answers a request; `undefined` leaves requests unanswered, in `requests`.
   *
   * @default echoes the request
   */
  readonly answer?: ((request: ReachedRequest) => void) | undefined;
  /** An engine to share with other connections; a new one unless given. */
  readonly engine?: H2Engine;
}

/** Answers a request with its own message. */
export function echo({ stream, message }: ReachedRequest): void {
  stream.answer(message);
  stream.release();
}

/** The client side of a connection to the server under test. */
export class FakePeer {
  /** The clock of the server. */
  readonly clock = new FakeClock();
  /** The lines that the server has logged. */
  readonly log = new RecordingLogger();
  /** The engine, which several connections can share. */
  readonly engine: H2Engine;
  /** The server's side of the connection. */
  readonly connection: H2Connection;
  /** The requests that have reached the server. */
  readonly requests: ReachedRequest[] = [];
  /** The bytes that the server has written, one item for each write. */
  readonly writes: Uint8Array[] = [];
  /** Number of bytes that the simulated socket reports as not sent yet. */
  unsentBytes = 0;
  /** Whether the server has closed its side of the connection. */
  isEnded = false;
  /** Whether the server has aborted the connection. */
  isDestroyed = false;
  #taken = 0;

  /** Creates a connection on which nothing has been sent. */
  constructor(options: FakePeerOptions = {}) {
    const answer = "answer" in options ? options.answer : echo;
    this.engine = options.engine ?? new H2Engine({
      paths: ["/test.Test/Other", KNOWN_PATH],
      handler: {
        request: (stream, message) => {
          this.requests.push({ stream, message });
          answer?.({ stream, message });
        },
        // Methods whose requests have several messages are tested with the
        // servers.
        open: () => {},
      },
      logger: this.log,
      clock: this.clock,
      ...(options.limits === undefined ? {} : { limits: options.limits }),
    });
    this.connection = new H2Connection(this.engine, this.#port());
  }

  /** Sends bytes to the server, all at once. */
  send(...parts: readonly Uint8Array[]): void {
    this.connection.receive(concat(...parts));
  }

  /** Returns the frames that arrived since the last call. */
  take(): ReceivedFrame[] {
    const bytes = concat(...this.writes.slice(this.#taken));
    this.#taken = this.writes.length;
    return splitFrames(bytes);
  }

  /**
   * Returns the error code of the GOAWAY among the frames that arrived since
   * the last call.
   */
  takeGoaway(): number | undefined {
    const goaway = this.take().find(({ type }) => type === FRAME_TYPE.GOAWAY);
    return goaway === undefined ? undefined : read32Bits(goaway.payload, 4);
  }

  /**
   * Returns the stream ids and error codes of the RST_STREAM frames that
   * arrived since the last call.
   */
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
