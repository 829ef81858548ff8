/**
 * Sends one HTTP request and reads its answer, up to a limit of bytes.
 *
 * @module
 */

import { throwIfEnded } from "./life.ts";
import { decodeUtf8, joinBytes, readableUtf8 } from "./encodings.ts";
import { MemError } from "./errors.ts";
import type { PreparedRequest, RelayerAnswer } from "./exchange.ts";
import { errorOfAnswer, REDIRECT_HINT } from "./server_text.ts";

/** Makes one HTTP request, as the `fetch` of every runtime does. */
export type MemFetch = (url: string, init: RequestInit) => Promise<Response>;

/**
 * A {@linkcode MemFetch} rejects with this error when the relayer ended before
 * it answered, and another one has taken its place. A request that may be sent
 * twice is then signed and sent again.
 */
export class LostRelayerError extends Error {
  /** The name of the class. */
  override readonly name = "LostRelayerError";
}

/** What a round trip is made with. */
interface RoundTripOptions {
  /** The header fields. */
  readonly headers: Readonly<Record<string, string>>;
  /** Makes the request. */
  readonly fetch: MemFetch;
  /** Aborts the request with its reason. */
  readonly signal: AbortSignal;
  /** The most bytes of an accepted answer. */
  readonly maxAnswerBytes: number;
  /** Tells the time, in milliseconds since the Unix epoch. */
  readonly nowMs: () => number;
}

interface RawAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly isGood: boolean;
  /**
   * Whether the answer is a redirect of which a browser shows neither the
   * status nor the target.
   */
  readonly isHiddenRedirect: boolean;
  readonly body: BodyBytes;
}

/** The most bytes of an error's body that are read; more explain nothing. */
const MAX_ERROR_BYTES = 64 * 1024;

/**
 * Sends a request and returns its answer when the status is accepted. Redirects
 * are reported as errors and not followed, because a signature is for one
 * relayer. Cookies and other credentials of the browser are not sent.
 *
 * @throws {MemError} When no answer arrives, or its status is not accepted.
 * @throws {unknown} The signal's reason, when it aborts.
 */
export async function makeRoundTrip(
  request: PreparedRequest,
  options: RoundTripOptions,
): Promise<RelayerAnswer> {
  const answer = await reach(request, options);
  const { status, headers, body } = answer;
  if (answer.isHiddenRedirect) {
    throw new MemError(
      `Cannot complete ${request.purpose}: the relayer answered 3xx` +
        REDIRECT_HINT,
    );
  }
  if (answer.isGood) {
    return { status, headers, json: parseJson(request, status, body) };
  }
  throw errorOfAnswer({
    status,
    headers,
    body: readableUtf8(body.bytes),
    purpose: request.purpose,
    isSigned: request.isSigned,
    timeoutMs: request.timeoutMs,
    nowMs: options.nowMs(),
  });
}

async function reach(
  request: PreparedRequest,
  options: RoundTripOptions,
): Promise<RawAnswer> {
  const { signal, maxAnswerBytes } = options;
  try {
    const response = await options.fetch(request.url, {
      method: request.method,
      headers: { ...options.headers },
      ...(request.body === undefined ? {} : { body: request.body }),
      signal,
      // With the mode "error", fetch would not show the redirect's status.
      redirect: "manual",
      credentials: "omit",
      ...noStore(),
      referrerPolicy: "no-referrer",
    });
    const { status, headers } = response;
    const isGood = response.ok || request.alsoGood.includes(status);
    const maxBytes = isGood ? maxAnswerBytes : MAX_ERROR_BYTES;
    const body = await readBody(response, { maxBytes, signal });
    throwIfEnded(signal);
    const isHiddenRedirect = response.type === "opaqueredirect";
    return { status, headers, isGood, isHiddenRedirect, body };
  } catch (cause) {
    throwIfEnded(signal);
    throw new MemError(
      `Cannot complete ${request.purpose}: no answer from ` +
        `"${new URL(request.url).origin}"; is the relayer running there?`,
      { status: 0, cause },
    );
  }
}

/**
 * Keeps answers out of the browser's cache. React Native has none, but adds a
 * parameter to the signed query for the same option.
 */
function noStore(): Pick<RequestInit, "cache"> {
  const { product } = Object(globalThis.navigator);
  return product === "ReactNative" ? {} : { cache: "no-store" };
}

/**
 * Parses the body of an answer. When only the status matters, as with an
 * accepted 404, the body need not be JSON.
 */
function parseJson(
  request: PreparedRequest,
  status: number,
  body: BodyBytes,
): unknown {
  const isOwed = status >= 200 && status < 300;
  if (body.isCut) {
    if (!isOwed) return undefined;
    throw brokenAnswer(request, "longer than it may be");
  }
  if (body.bytes.length === 0) return undefined;
  try {
    const text = decodeUtf8(body.bytes);
    if (text === undefined) throw new TypeError("it is not UTF-8");
    return JSON.parse(text);
  } catch (cause) {
    if (!isOwed) return undefined;
    throw brokenAnswer(request, "no JSON", cause);
  }
}

function brokenAnswer(
  request: PreparedRequest,
  state: string,
  ...causes: readonly unknown[]
): MemError {
  return new MemError(
    `Cannot complete ${request.purpose}: the relayer's answer is ${state}`,
    causes.length === 0 ? {} : { cause: causes[0] },
  );
}

/** Options of {@linkcode readBody}. */
interface ReadBodyOptions {
  /** Most bytes that are kept. */
  readonly maxBytes: number;
  /** Ends the reading. */
  readonly signal: AbortSignal;
}

/** A body, or its beginning. */
interface BodyBytes {
  /** The bytes. */
  readonly bytes: Uint8Array;
  /** Whether the body was longer than allowed. */
  readonly isCut: boolean;
}

/**
 * Reads a body up to `maxBytes` and cancels the rest.
 *
 * @throws {Error} When the body breaks off; with the signal's reason when it
 * aborts.
 */
export async function readBody(
  response: Response,
  options: ReadBodyOptions,
): Promise<BodyBytes> {
  const { body } = response;
  if (body === null) return { bytes: new Uint8Array(0), isCut: false };
  // In some runtimes an answer has no stream.
  if (body === undefined) return await readWhole(response, options);
  const reader = body.getReader();
  const cancel = (): void => letGo(reader, options.signal.reason);
  options.signal.addEventListener("abort", cancel, { once: true });
  try {
    return await readChunks(reader, options.maxBytes);
  } finally {
    options.signal.removeEventListener("abort", cancel);
  }
}

async function readWhole(
  response: Response,
  options: ReadBodyOptions,
): Promise<BodyBytes> {
  const { maxBytes } = options;
  const announced = Number(response.headers.get("content-length") ?? 0);
  if (announced > maxBytes) return { bytes: new Uint8Array(0), isCut: true };
  const bytes = new Uint8Array(await response.arrayBuffer());
  return {
    bytes: bytes.subarray(0, maxBytes),
    isCut: bytes.length > maxBytes,
  };
}

async function readChunks(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  maxBytes: number,
): Promise<BodyBytes> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  while (true) {
    const { done, value } = await reader.read();
    if (done) return { bytes: joinBytes(chunks, length), isCut: false };
    const kept = value.subarray(0, maxBytes - length);
    chunks.push(kept);
    length += kept.length;
    if (kept.length < value.length) {
      letGo(reader, undefined);
      return { bytes: joinBytes(chunks, length), isCut: true };
    }
  }
}

/**
 * Cancels a body. Errors are ignored, because the rest of the body is not
 * needed.
 */
function letGo(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  reason: unknown,
): void {
  reader.cancel(reason).catch(() => {});
}
