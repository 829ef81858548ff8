/**
 * Reads the response headers of a gRPC server for a client: keeps the few
 * fields that say how a call ended, and ignores the others.
 *
 * @module
 */

import type { ByteSpan } from "./byte_span.ts";
import { type FieldReader, type HpackShared, hpackShared } from "./hpack.ts";
import { HuffmanSteps } from "./huffman.ts";

/** The fields of one header block; undefined where one was not sent. */
export interface ResponseHead {
  /** The HTTP status, as it was sent. */
  status: string | undefined;
  /** The media type. */
  contentType: string | undefined;
  /** How messages are compressed. */
  encoding: string | undefined;
  /** The gRPC status, as it was sent. */
  grpcStatus: string | undefined;
  /** Its text, still percent-encoded. */
  grpcMessage: string | undefined;
  /** What all fields count (RFC 9113, section 6.5.2). */
  sizeBytes: number;
}

/** Whether a media type is that of gRPC, with whatever codec. */
export function isGrpc(contentType: string | undefined): boolean {
  return /^application\/grpc(?:[+;]|\s*$)/i.test(contentType ?? "");
}

const KINDS = [
  undefined,
  "status",
  "contentType",
  "encoding",
  "grpcStatus",
  "grpcMessage",
] as const;

const KIND_OF_NAME: ReadonlyMap<string, number> = new Map([
  [":status", 1],
  ["content-type", 2],
  ["grpc-encoding", 3],
  ["grpc-status", 4],
  ["grpc-message", 5],
]);

/** A field: its kind, and its text where the kind is known. */
interface ResponseField {
  readonly kind: number;
  readonly text: string;
}

/** Understands the header fields of answers, one block after the other. */
class ResponseHeadReader implements FieldReader<ResponseField> {
  readonly #decoder = new TextDecoder("latin1");
  #head: ResponseHead = emptyHead();

  /** Starts a block. */
  begin(): void {
    this.#head = emptyHead();
  }

  /** What the block held that was decoded since {@linkcode begin}. */
  get head(): ResponseHead {
    return this.#head;
  }

  /** The kind of a name; 0 for one that is ignored. */
  nameKind({ bytes, start, end }: ByteSpan): number {
    // No name that is wanted is longer.
    if (end - start > 16) return 0;
    const name = this.#decoder.decode(bytes.subarray(start, end));
    return KIND_OF_NAME.get(name) ?? 0;
  }

  /** Keeps the text of a field that is not ignored. */
  meaning(kind: number, { bytes, start, end }: ByteSpan): ResponseField {
    if (kind === 0) return NO_FIELD;
    return { kind, text: this.#decoder.decode(bytes.subarray(start, end)) };
  }

  /** Takes a field; of one that comes twice the first counts. */
  field({ kind, text }: ResponseField, sizeBytes: number): void {
    this.#head.sizeBytes += sizeBytes;
    const member = KINDS[kind];
    if (member !== undefined) this.#head[member] ??= text;
  }
}

const NO_FIELD: ResponseField = { kind: 0, text: "" };

function emptyHead(): ResponseHead {
  return {
    status: undefined,
    contentType: undefined,
    encoding: undefined,
    grpcStatus: undefined,
    grpcMessage: undefined,
    sizeBytes: 0,
  };
}

/** What the decoders of all connections of a client have in common. */
export interface ResponseHeads {
  /** Collects the fields of the block that is decoded. */
  readonly reader: ResponseHeadReader;
  /** The tables. */
  readonly hpack: HpackShared<ResponseField>;
}

/** Makes what the decoders of a client's connections have in common. */
export function responseHeads(): ResponseHeads {
  const reader = new ResponseHeadReader();
  return { reader, hpack: hpackShared(reader, new HuffmanSteps()) };
}
