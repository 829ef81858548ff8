/**
 * Encodes the headers of a gRPC request for a client, and reads the status of a
 * call from the server's headers (PROTOCOL-HTTP2.md and
 * http-grpc-status-mapping.md of gRPC).
 *
 * @module
 */

import type { StreamLoss } from "../h2/client_stream.ts";
import { H2_ERROR } from "../h2/frame.ts";
import { isGrpc, type ResponseHead } from "../h2/response_head.ts";
import { pushInteger } from "../h2/response_headers.ts";
import { quote } from "../quote.ts";
import type { GrpcMetadata } from "./channel.ts";
import { GRPC_STATUS, GrpcFailure, type GrpcStatus } from "./method.ts";

/** What the headers of a request say besides its path. */
interface RequestHeaders {
  /** The server that the call is for: the `:authority` header. */
  readonly authority: string;
  /** Whether the connection uses TLS. */
  readonly isTls: boolean;
  /** Further fields. */
  readonly metadata: GrpcMetadata;
  /** How long the caller waits. */
  readonly deadlineMs: number | undefined;
}

/** Field names of metadata; those of the protocol itself are not among them. */
const NAME =
  /^(?!grpc-|te$|content-type$|user-agent$|connection$)[0-9a-z_.-]+$/;
const VALUE = /^[\x20-\x7e]*$/;
/** Most bytes of metadata, since most servers take no more. */
const MAX_METADATA_BYTES = 8_192;
/** The largest number that `grpc-timeout` takes. */
const MAX_TIMEOUT = 99_999_999;

/** A field that proxies must not put into a table: it may be a secret. */
const NEVER_INDEXED = 0x10;

/** Encodes the header block of a request; fails for invalid metadata. */
export function requestBlock(
  path: string,
  headers: RequestHeaders,
): Uint8Array | GrpcFailure {
  const { authority, isTls, metadata, deadlineMs } = headers;
  const block: number[] = [
    0x80 | (isTls ? 7 : 6), // :scheme
    0x80 | 3, // :method POST
  ];
  pushField(block, ":path", path);
  pushField(block, ":authority", authority);
  pushField(block, "te", "trailers");
  pushField(block, "content-type", "application/grpc");
  pushField(block, "user-agent", "tercet");
  if (deadlineMs !== undefined) {
    pushField(block, "grpc-timeout", timeoutText(deadlineMs));
  }
  let bytes = 0;
  for (const [name, given] of Object.entries(metadata)) {
    const value = name.endsWith("-bin") ? base64(given) : given;
    bytes += name.length + value.length;
    if (!NAME.test(name) || !VALUE.test(value) || bytes > MAX_METADATA_BYTES) {
      // The value may be a secret.
      return new GrpcFailure(
        GRPC_STATUS.INTERNAL,
        `Cannot call ${quote(path)}: the metadata ${quote(name)} can't be sent`,
      );
    }
    pushField(block, name, value, NEVER_INDEXED);
  }
  return Uint8Array.from(block);
}

/** Values of such names are bytes (PROTOCOL-HTTP2.md, "Custom-Metadata"). */
function base64(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

/** Writes the timeout in milliseconds if these fit, else in seconds. */
function timeoutText(deadlineMs: number): string {
  return deadlineMs <= MAX_TIMEOUT
    ? `${deadlineMs}m`
    : `${Math.min(MAX_TIMEOUT, Math.ceil(deadlineMs / 1_000))}S`;
}

function pushField(
  block: number[],
  name: string,
  value: string,
  form = 0,
): void {
  block.push(form);
  pushText(block, name);
  pushText(block, value);
}

function pushText(block: number[], text: string): void {
  pushInteger(block, text.length, 0, 0x7f);
  for (let at = 0; at < text.length; at++) block.push(text.charCodeAt(at));
}

/** The status of an HTTP answer that is not gRPC. */
const STATUS_OF_HTTP: Readonly<Record<string, GrpcStatus>> = {
  "400": GRPC_STATUS.INTERNAL,
  "401": GRPC_STATUS.UNAUTHENTICATED,
  "403": GRPC_STATUS.PERMISSION_DENIED,
  "404": GRPC_STATUS.UNIMPLEMENTED,
  "429": GRPC_STATUS.UNAVAILABLE,
  "502": GRPC_STATUS.UNAVAILABLE,
  "503": GRPC_STATUS.UNAVAILABLE,
  "504": GRPC_STATUS.UNAVAILABLE,
};

/** A server's message is cut to this length. */
const MAX_MESSAGE_CHARS = 4_096;

const STATUSES: ReadonlySet<number> = new Set(Object.values(GRPC_STATUS));

/**
 * What a server's last headers say of a call.
 *
 * @returns undefined when it succeeded.
 */
export function readStatus(
  head: ResponseHead,
  path: string,
): GrpcFailure | undefined {
  const { status = "", contentType, grpcStatus, grpcMessage } = head;
  if (grpcStatus === undefined) {
    const code = STATUS_OF_HTTP[status] ?? GRPC_STATUS.UNKNOWN;
    return new GrpcFailure(
      code,
      `Cannot call ${quote(path)}: the server ${
        status === "200" && isGrpc(contentType)
          ? "ended the call without a status"
          : `answered with HTTP status ${quote(status)} and no gRPC`
      }`,
    );
  }
  const code = /^\d{1,2}$/.test(grpcStatus) ? Number(grpcStatus) : -1;
  if (code === GRPC_STATUS.OK) return undefined;
  return new GrpcFailure(
    isStatus(code) ? code : GRPC_STATUS.UNKNOWN,
    percentDecoded((grpcMessage ?? "").slice(0, MAX_MESSAGE_CHARS)),
  );
}

function isStatus(code: number): code is GrpcStatus {
  return STATUSES.has(code);
}

/** Decodes `%` escapes; malformed ones stay as they are. */
function percentDecoded(text: string): string {
  const bytes: number[] = [];
  for (let at = 0; at < text.length; at++) {
    const hex = text[at] === "%" ? text.slice(at + 1, at + 3) : "";
    if (/^[0-9a-fA-F]{2}$/.test(hex)) {
      bytes.push(Number.parseInt(hex, 16));
      at += 2;
    } else bytes.push(text.charCodeAt(at) & 0xff);
  }
  return new TextDecoder().decode(Uint8Array.from(bytes));
}

const STATUS_OF_RESET: Readonly<Record<number, GrpcStatus>> = {
  [H2_ERROR.REFUSED_STREAM]: GRPC_STATUS.UNAVAILABLE,
  [H2_ERROR.CANCEL]: GRPC_STATUS.CANCELLED,
  [H2_ERROR.ENHANCE_YOUR_CALM]: GRPC_STATUS.RESOURCE_EXHAUSTED,
  [H2_ERROR.INADEQUATE_SECURITY]: GRPC_STATUS.PERMISSION_DENIED,
};

/** The failure of a call whose stream was lost. */
export function lossFailure(loss: StreamLoss, path: string): GrpcFailure {
  const call = `Cannot call ${quote(path)}`;
  switch (loss.kind) {
    case "unprocessed":
      return new GrpcFailure(
        GRPC_STATUS.UNAVAILABLE,
        `${call}: ${loss.reason}; it has not looked at the call`,
      );
    case "lost":
      return new GrpcFailure(
        GRPC_STATUS.UNAVAILABLE,
        `${call}: ${loss.reason}`,
      );
    case "reset":
      return new GrpcFailure(
        STATUS_OF_RESET[loss.code] ?? GRPC_STATUS.INTERNAL,
        `${call}: the server ended the stream with HTTP/2 error ${loss.code}`,
      );
    case "broken":
      return new GrpcFailure(GRPC_STATUS.INTERNAL, `${call}: ${loss.reason}`);
    case "too_large":
      return new GrpcFailure(
        GRPC_STATUS.RESOURCE_EXHAUSTED,
        `${call}: ${loss.reason}`,
      );
  }
}
