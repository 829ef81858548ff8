/**
 * How commands ask the running service: the flags that name it, and the request.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { request as httpRequest, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import { quote } from "../../shared/quote.ts";
import { describeError } from "../../shared/settled.ts";

/** The flags that name the service and the caller. */
export interface TargetFlags {
  /** The address of the service. */
  readonly url: string;
  /** The token. */
  readonly token?: string | undefined;
  /** The file with the token. */
  readonly tokenFile?: string | undefined;
}

/** Whom a command asks, or why it cannot. */
export type TargetOutcome =
  | {
    readonly kind: "ok";
    readonly url: URL;
    readonly token: string | undefined;
  }
  /** The arguments are wrong. */
  | { readonly kind: "wrong"; readonly problem: string }
  /** The token cannot be read. */
  | { readonly kind: "failed"; readonly problem: string };

/** Reads the address and the token of the service. */
export async function readTarget(
  { url: address, token, tokenFile }: TargetFlags,
  readText: (path: string) => Promise<string>,
): Promise<TargetOutcome> {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return {
      kind: "wrong",
      problem: `Cannot use address ${quote(address)}: it is not an http or ` +
        "https URL",
    };
  }
  if (tokenFile === undefined) return { kind: "ok", url, token };
  if (token !== undefined) {
    return {
      kind: "wrong",
      problem: "Cannot use both --token and --token-file: one is enough",
    };
  }
  try {
    return { kind: "ok", url, token: (await readText(tokenFile)).trim() };
  } catch (error) {
    return {
      kind: "failed",
      problem: `Cannot read token file ${quote(tokenFile)}: ${
        describeError(error)
      }`,
    };
  }
}

/** A request to the service. */
export interface ServiceRequest {
  /** The URL. */
  readonly url: URL;
  /**
   * The body of a POST.
   * @default it is a GET
   */
  readonly body?: unknown;
  /**
   * The bearer token.
   * @default none
   */
  readonly token?: string | undefined;
  /**
   * The timeout, in milliseconds.
   * @default {30000}
   */
  readonly timeoutMs?: number;
}

/** The outcome of a request. */
export type ServiceOutcome =
  | { readonly kind: "ok"; readonly status: number; readonly text: string }
  | {
    readonly kind: "failed";
    /** Why there is no answer, as a message for a person. */
    readonly reason: string;
  };

/** Sends a request and reads its answer; never rejects. */
export type CallService = (request: ServiceRequest) => Promise<ServiceOutcome>;

const MAX_ANSWER_BYTES = 1_048_576;

/**
 * Sends a request by `node:http`, with its own Host header. Names below
 * `localhost` are sent to this machine by definition (RFC 6761, 6.3), since
 * most resolvers do not know them.
 */
export function callService(request: ServiceRequest): Promise<ServiceOutcome> {
  const { url, body, token, timeoutMs = 30_000 } = request;
  const isTls = url.protocol === "https:";
  const isLocal = /(?:^|\.)localhost$/.test(url.hostname);
  const headers: Record<string, string> = {
    host: url.host,
    accept: "application/json",
  };
  const text = body === undefined ? undefined : JSON.stringify(body);
  if (text !== undefined) {
    headers["content-type"] = "application/json";
    headers["content-length"] = String(Buffer.byteLength(text));
  }
  if (token !== undefined) headers.authorization = `Bearer ${token}`;
  const options: RequestOptions & { readonly servername: string } = {
    method: text === undefined ? "GET" : "POST",
    // An IPv6 address has brackets only in URLs.
    host: isLocal ? "localhost" : url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? (isTls ? 443 : 80) : Number(url.port),
    path: `${url.pathname}${url.search}`,
    servername: url.hostname,
    agent: false,
    headers,
  };
  const { promise, resolve } = Promise.withResolvers<ServiceOutcome>();
  const call = (isTls ? httpsRequest : httpRequest)(options);
  const timer = setTimeout(() => fail("it did not answer in time"), timeoutMs);
  const fail = (reason: string): void => {
    clearTimeout(timer);
    resolve({ kind: "failed", reason });
    call.destroy();
  };
  call.on("error", (error) => fail(describeError(error)));
  call.on("response", (response) => {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    response.on("data", (chunk: Uint8Array) => {
      bytes += chunk.byteLength;
      if (bytes > MAX_ANSWER_BYTES) return fail("its answer is too large");
      chunks.push(chunk);
    });
    response.on("error", (error) => fail(describeError(error)));
    response.on("end", () => {
      clearTimeout(timer);
      resolve({
        kind: "ok",
        status: response.statusCode ?? 0,
        text: Buffer.concat(chunks).toString(),
      });
    });
  });
  if (text === undefined) call.end();
  else call.end(text);
  return promise;
}
