/**
 * Reads the headers of a request: decodes a block and checks it. A block equal
 * to the last one is not decoded again.
 *
 * @module
 */

import type { ByteSpan } from "./byte_span.ts";
import { type FieldReader, HpackDecoder, type HpackShared } from "./hpack.ts";
import {
  FIELD,
  type FieldMeaning,
  METHOD,
  RequestFields,
} from "./request_field.ts";

/** Whether a request is valid, and if not, why. */
export const HEAD_STATE = {
  /** It is valid. */
  OK: 0,
  /** It breaks the rules of HTTP/2 (RFC 9113, section 8.1.1). */
  MALFORMED: 1,
  /** It is gRPC, and its headers are larger than allowed. */
  TOO_LARGE: 2,
  /** Its HTTP method is not POST. */
  NOT_POST: 3,
  /** Its content type is not gRPC. */
  NOT_GRPC: 4,
  /** Its `grpc-timeout` cannot be read. */
  BAD_TIMEOUT: 5,
  /** It is no gRPC, and its headers are larger than allowed. */
  TOO_LARGE_NOT_GRPC: 6,
} as const;

/** One of {@linkcode HEAD_STATE}. */
type HeadState = typeof HEAD_STATE[keyof typeof HEAD_STATE];

/** The headers of a request, as far as they matter. Never changed. */
export interface RequestHead {
  /** Whether it can be answered. */
  readonly state: HeadState;
  /** Number of the path among the known ones; -1 for another path. */
  readonly path: number;
  /** How long the caller waits; -1 when it doesn't say. */
  readonly timeoutMs: number;
  /** How long its body is to be; -1 when it doesn't say. */
  readonly contentLength: number;
  /** Whether messages may be compressed, which is not supported. */
  readonly isEncoded: boolean;
  /** The texts of the fields that are kept, by name; undefined without any. */
  readonly kept: Readonly<Record<string, string>> | undefined;
}

/** What a {@linkcode RequestHeadReader} takes and keeps. */
interface HeadReaderOptions {
  /** The largest list of headers, as in RFC 9113, section 6.5.2. */
  readonly maxListBytes: number;
  /**
   * Names of fields whose text is kept, in lower case.
   *
   * @default none
   */
  readonly keptNames?: readonly string[] | undefined;
}

const REQUIRED = 1 << FIELD.METHOD | 1 << FIELD.SCHEME | 1 << FIELD.PATH;
/** Fields that a request has once at most. */
const UNIQUE = REQUIRED | 1 << FIELD.AUTHORITY | 1 << FIELD.CONTENT_TYPE |
  1 << FIELD.CONTENT_LENGTH | 1 << FIELD.TIMEOUT;

/** Reads one list of headers at a time; made once for all connections. */
export class RequestHeadReader implements FieldReader<FieldMeaning> {
  readonly #fields: RequestFields;
  readonly #maxListBytes: number;
  readonly #keptNames: readonly string[];
  #seen = 0;
  #sizeBytes = 0;
  #isMalformed = false;
  #isTrailer = false;
  #method: number = METHOD.OTHER;
  #path = -1;
  #isGrpc = false;
  #timeoutMs = -1;
  #contentLength = -1;
  #isEncoded = false;
  #kept: Record<string, string> | undefined;

  /** A reader of requests for these paths. */
  constructor(paths: readonly string[], options: HeadReaderOptions) {
    const { maxListBytes, keptNames = [] } = options;
    this.#fields = new RequestFields(paths, keptNames);
    this.#maxListBytes = maxListBytes;
    this.#keptNames = keptNames;
  }

  /** Begins with the headers of a request, or with its trailers. */
  begin(isTrailer: boolean): void {
    this.#seen = 0;
    this.#sizeBytes = 0;
    this.#isMalformed = false;
    this.#isTrailer = isTrailer;
    this.#method = METHOD.OTHER;
    this.#path = -1;
    this.#isGrpc = false;
    this.#timeoutMs = -1;
    this.#contentLength = -1;
    this.#isEncoded = false;
    this.#kept = undefined;
  }

  /** The kind of a name. */
  nameKind(name: ByteSpan): number {
    return this.#fields.nameKind(name);
  }

  /** The meaning of a value under a name of that kind. */
  meaning(nameKind: number, value: ByteSpan): FieldMeaning {
    return this.#fields.meaning(nameKind, value);
  }

  /** Takes the next field. */
  field(meaning: FieldMeaning, sizeBytes: number): void {
    this.#sizeBytes += sizeBytes;
    const { kind, value } = meaning;
    const bit = 1 << kind;
    if ((this.#seen & bit & UNIQUE) !== 0) this.#isMalformed = true;
    if (kind < FIELD.REGULAR) {
      // Pseudo headers come first, and never in trailers.
      if (this.#isTrailer || this.#seen >= 1 << FIELD.REGULAR) {
        this.#isMalformed = true;
      }
    }
    this.#seen |= bit;
    switch (kind) {
      case FIELD.METHOD:
        this.#method = value;
        break;
      case FIELD.PATH:
        this.#path = value;
        break;
      case FIELD.CONTENT_TYPE:
        this.#isGrpc = value === 1;
        break;
      case FIELD.TIMEOUT:
        this.#timeoutMs = value;
        break;
      case FIELD.CONTENT_LENGTH:
        this.#contentLength = value;
        break;
      case FIELD.ENCODING:
        this.#isEncoded = value !== 1;
        break;
      case FIELD.MALFORMED:
        this.#isMalformed = true;
        break;
      default:
        if (meaning.text !== undefined) this.#keep(kind, meaning.text);
    }
  }

  /** Keeps a text; values of a repeated field are joined (RFC 9110, 5.3). */
  #keep(kind: number, text: string): void {
    // A byte can repeat a field of hundreds, so what is refused keeps nothing.
    if (this.#sizeBytes > this.#maxListBytes) return;
    const name = this.#keptNames[kind - FIELD.KEPT]!;
    const kept = this.#kept ??= {};
    const before = kept[name];
    kept[name] = before === undefined ? text : `${before},${text}`;
  }

  /** The request that the fields make. */
  end(): RequestHead {
    return {
      state: this.#state(),
      path: this.#path,
      timeoutMs: this.#timeoutMs,
      contentLength: this.#contentLength,
      isEncoded: this.#isEncoded,
      kept: this.#kept,
    };
  }

  #state(): HeadState {
    if (this.#sizeBytes > this.#maxListBytes) {
      return this.#isGrpc
        ? HEAD_STATE.TOO_LARGE
        : HEAD_STATE.TOO_LARGE_NOT_GRPC;
    }
    if (this.#isMalformed) return HEAD_STATE.MALFORMED;
    if (this.#isTrailer) return HEAD_STATE.OK;
    if (this.#method !== METHOD.POST) {
      // CONNECT has neither scheme nor path (RFC 9113, section 8.5).
      const isWhole = (this.#seen & REQUIRED) === REQUIRED ||
        this.#method === METHOD.CONNECT;
      return isWhole ? HEAD_STATE.NOT_POST : HEAD_STATE.MALFORMED;
    }
    if ((this.#seen & REQUIRED) !== REQUIRED) return HEAD_STATE.MALFORMED;
    if (!this.#isGrpc) return HEAD_STATE.NOT_GRPC;
    const hasTimeout = (this.#seen & 1 << FIELD.TIMEOUT) !== 0;
    if (hasTimeout && this.#timeoutMs < 0) return HEAD_STATE.BAD_TIMEOUT;
    return HEAD_STATE.OK;
  }
}

/** What the head decoders of a server have in common. */
export interface HeadShared {
  /** Puts headers together. */
  readonly reader: RequestHeadReader;
  /** Tables and memory of the decoders. */
  readonly hpack: HpackShared<FieldMeaning>;
}

/** Longer blocks are not worth comparing. */
const MAX_MEMO_BYTES = 1_024;

/** Decodes the header blocks of a connection in their order. */
export class HeadDecoder {
  readonly #shared: HeadShared;
  readonly #hpack: HpackDecoder<FieldMeaning>;
  // The last block that changed no table. While no table has changed since,
  // the same bytes mean the same.
  #memo = new Uint8Array(0);
  #memoLength = -1;
  #memoGeneration = 0;
  #memoHead: RequestHead | undefined;

  /** A decoder for a connection that begins. */
  constructor(shared: HeadShared) {
    this.#shared = shared;
    this.#hpack = new HpackDecoder(shared.hpack);
  }

  /** Decodes the headers of a request; undefined when the block is broken. */
  request(block: ByteSpan): RequestHead | undefined {
    if (this.#isMemo(block)) return this.#memoHead;
    const generation = this.#hpack.table.generation;
    const { reader } = this.#shared;
    reader.begin(false);
    if (!this.#hpack.decode(block)) return undefined;
    const head = reader.end();
    if (this.#hpack.table.generation === generation) {
      this.#remember(block, head);
    }
    return head;
  }

  /** Decodes trailers; undefined when the block is broken. */
  trailers(block: ByteSpan): RequestHead | undefined {
    const { reader } = this.#shared;
    reader.begin(true);
    return this.#hpack.decode(block) ? reader.end() : undefined;
  }

  #isMemo({ bytes, start, end }: ByteSpan): boolean {
    const length = end - start;
    if (length !== this.#memoLength) return false;
    if (this.#memoGeneration !== this.#hpack.table.generation) return false;
    const memo = this.#memo;
    for (let index = 0; index < length; index++) {
      if (bytes[start + index] !== memo[index]) return false;
    }
    return true;
  }

  #remember({ bytes, start, end }: ByteSpan, head: RequestHead): void {
    const length = end - start;
    if (length > MAX_MEMO_BYTES) return;
    if (this.#memo.length < length) this.#memo = new Uint8Array(length * 2);
    for (let index = 0; index < length; index++) {
      this.#memo[index] = bytes[start + index]!;
    }
    this.#memoLength = length;
    this.#memoGeneration = this.#hpack.table.generation;
    this.#memoHead = head;
  }
}
