/**
 * A single request with a JSON body, for commands that talk to a running service.
 *
 * @module
 */

import { request as httpRequest, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";

/** What is sent. */
export interface PostRequest {
  /** Where to. */
  readonly url: URL;
  /** The body. */
  readonly body: unknown;
  /**
   * The bearer token.
   * @default none
   */
  readonly token?: string | undefined;
  /**
   * How long the answer may take, in milliseconds.
   * @default {30000}
   */
  readonly timeoutMs?: number;
}

/** What came of it. */
export type PostOutcome =
  | { readonly kind: "ok"; readonly status: number; readonly text: string }
  | {
    readonly kind: "failed";
    /** Why, as a message for a person. */
    readonly reason: string;
  };

/** Sends a request and reads its answer; never rejects. */
export type PostJson = (request: PostRequest) => Promise<PostOutcome>;

const MAX_ANSWER_BYTES = 1_048_576;

/**
 * Sends over `node:http`, with its own Host header: names below `localhost` are
 * this machine by definition (RFC 6761, 6.3), which most resolvers do not know.
 */
export function postJson(request: PostRequest): Promise<PostOutcome> {
  const { url, body, token, timeoutMs = 30_000 } = request;
  const isTls = url.protocol === "https:";
  const isLocal = /(?:^|\.)localhost$/.test(url.hostname);
  const text = JSON.stringify(body);
  const options: RequestOptions & { readonly servername: string } = {
    method: "POST",
    // An IPv6 address has brackets in URLs alone.
    host: isLocal ? "localhost" : url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? (isTls ? 443 : 80) : Number(url.port),
    path: `${url.pathname}${url.search}`,
    servername: url.hostname,
    agent: false,
    headers: {
      host: url.host,
      accept: "application/json",
      "content-type": "application/json",
      "content-length": String(new TextEncoder().encode(text).byteLength),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
  };
  const { promise, resolve } = Promise.withResolvers<PostOutcome>();
  const call = (isTls ? httpsRequest : httpRequest)(options);
  const timer = setTimeout(() => fail("it did not answer in time"), timeoutMs);
  const fail = (reason: string): void => {
    clearTimeout(timer);
    resolve({ kind: "failed", reason });
    call.destroy();
  };
  call.on("error", (error) => fail(error.message));
  call.on("response", (response) => {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    response.on("data", (chunk: Uint8Array) => {
      bytes += chunk.byteLength;
      if (bytes > MAX_ANSWER_BYTES) return fail("its answer is too large");
      chunks.push(chunk);
    });
    response.on("error", (error) => fail(error.message));
    response.on("end", () => {
      clearTimeout(timer);
      resolve({
        kind: "ok",
        status: response.statusCode ?? 0,
        text: new TextDecoder().decode(concat(chunks, bytes)),
      });
    });
  });
  call.end(text);
  return promise;
}

function concat(chunks: readonly Uint8Array[], bytes: number): Uint8Array {
  const all = new Uint8Array(bytes);
  let offset = 0;
  for (const chunk of chunks) {
    all.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return all;
}
