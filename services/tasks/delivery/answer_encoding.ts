/**
 * Reads the compressed bodies of workers' answers, in bounds. No compression is
 * asked for, but servers and proxies in front of workers compress unasked.
 *
 * @module
 */

import {
  brotliDecompressSync,
  constants,
  gunzipSync,
  type ZlibOptions,
} from "node:zlib";
import { quote } from "../../shared/quote.ts";
import {
  MAX_ANSWER_BYTES,
  MAX_BODY_BYTES,
  type RawAnswer,
} from "./push_exchange.ts";

/** The outcome of reading a body. */
type DecodedBody =
  | {
    readonly kind: "ok";
    /** The beginning of the body. */
    readonly body: Uint8Array;
    /** Whether there was more of it. */
    readonly isTruncated: boolean;
  }
  | {
    readonly kind: "unreadable";
    /** Why, as a clause about the body. */
    readonly reason: string;
  };

/** Reads the body of an answer whose `content-encoding` says how. */
export function decodeBody(
  { headers, body, isTruncated }: Pick<
    RawAnswer,
    "headers" | "body" | "isTruncated"
  >,
): DecodedBody {
  const encoding = (headers["content-encoding"] ?? "").trim().toLowerCase();
  if (encoding === "" || encoding === "identity" || body.length === 0) {
    return { kind: "ok", body, isTruncated };
  }
  const decompress = pickDecompression(encoding, isTruncated);
  if (decompress === undefined) {
    const shown = quote(encoding, { maxChars: 64 });
    return unreadable(`its content-encoding is ${shown}, not gzip, br or none`);
  }
  try {
    const whole = decompress(body, { maxOutputLength: MAX_ANSWER_BYTES });
    if (whole.length === 0) return unreadable(`it is not ${encoding}`);
    return {
      kind: "ok",
      body: whole.subarray(0, MAX_BODY_BYTES),
      isTruncated: isTruncated || whole.length > MAX_BODY_BYTES,
    };
  } catch (error) {
    const isTooLong = error instanceof Error && "code" in error &&
      error.code === "ERR_BUFFER_TOO_LARGE";
    return unreadable(
      isTooLong
        ? `it expands to more than ${MAX_ANSWER_BYTES} bytes`
        : `it is not ${encoding}`,
    );
  }
}

/**
 * What decompresses an encoding; undefined when that is not read. Of a body that
 * was cut, what is there is decompressed.
 */
function pickDecompression(
  encoding: string,
  isCut: boolean,
): ((body: Uint8Array, options: ZlibOptions) => Uint8Array) | undefined {
  const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH } = constants;
  switch (encoding) {
    case "gzip":
    case "x-gzip":
      return (body, options) =>
        gunzipSync(
          body,
          isCut ? { ...options, finishFlush: Z_SYNC_FLUSH } : options,
        );
    case "br":
      return (body, options) =>
        brotliDecompressSync(
          body,
          isCut ? { ...options, finishFlush: BROTLI_OPERATION_FLUSH } : options,
        );
    default:
      return undefined;
  }
}

function unreadable(reason: string): DecodedBody {
  return { kind: "unreadable", reason };
}
