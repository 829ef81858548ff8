/**
 * Puts the headers of a request together and checks them.
 *
 * @module
 */

import type { ByteSpan } from "./byte_span.ts";
import type { FieldReader } from "./hpack_decoder.ts";
import {
  FIELD,
  type FieldMeaning,
  METHOD,
  RequestFields,
} from "./request_field.ts";
import {
  HEAD_STATE,
  type HeadState,
  type RequestHead,
} from "./request_head.ts";

/** Options of {@linkcode RequestHeadReader}. */
export interface RequestHeadReaderOptions {
  /** The paths that are known. */
  readonly paths: readonly string[];
  /** Largest list of headers, as in RFC 9113, section 6.5.2. */
  readonly maxListBytes: number;
}

const REQUIRED = 1 << FIELD.METHOD | 1 << FIELD.SCHEME | 1 << FIELD.PATH;
/** Fields that a request has once at most. */
const UNIQUE = REQUIRED | 1 << FIELD.AUTHORITY | 1 << FIELD.CONTENT_TYPE |
  1 << FIELD.CONTENT_LENGTH | 1 << FIELD.TIMEOUT;

/** Reads one list of headers at a time; made once for all connections. */
export class RequestHeadReader implements FieldReader<FieldMeaning> {
  readonly #fields: RequestFields;
  readonly #maxListBytes: number;
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

  /** A reader of requests for these paths. */
  constructor(options: RequestHeadReaderOptions) {
    this.#fields = new RequestFields(options.paths);
    this.#maxListBytes = options.maxListBytes;
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
    }
  }

  /** The request that the fields make. */
  end(): RequestHead {
    return {
      state: this.#state(),
      path: this.#path,
      timeoutMs: this.#timeoutMs,
      contentLength: this.#contentLength,
      isEncoded: this.#isEncoded,
    };
  }

  #state(): HeadState {
    if (this.#sizeBytes > this.#maxListBytes) return HEAD_STATE.TOO_LARGE;
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
