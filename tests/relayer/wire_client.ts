/**
 * Talks to the relayer with requests that are signed by hand.
 *
 * @module
 */

import { type HandKey, signByHand } from "./hand_signer.ts";

/** An answer. */
export interface WireAnswer {
  /** The status. */
  readonly status: number;
  /** The header fields. */
  readonly headers: Headers;
  /** The body as text. */
  readonly text: string;
  /** The body, parsed; undefined when it is no JSON. */
  readonly json: unknown;
}

/** A request as it is sent, signed or not. */
export interface WireRequest {
  /** The method, in capitals. */
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /**
   * The body.
   *
   * @default none
   */
  readonly body?: string;
  /**
   * The header fields.
   *
   * @default none
   */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Longer than any answer takes, so that a test ends. */
const ANSWER_MS = 30_000;

/** Sends a request as it is. */
export async function sendWire(
  url: string,
  { method, target, body = "", headers = {} }: WireRequest,
): Promise<WireAnswer> {
  const answer = await fetch(`${url}${target}`, {
    method,
    headers,
    ...(body === "" ? {} : { body }),
    redirect: "manual",
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  const text = await answer.text();
  return {
    status: answer.status,
    headers: answer.headers,
    text,
    json: parsed(text),
  };
}

/** Somebody's own connection. */
export class WireClient {
  readonly #url: () => string;
  readonly #signer: HandKey;

  /** `url` is asked before each request, since restarts change the port. */
  constructor(url: () => string, signer: HandKey) {
    this.#url = url;
    this.#signer = signer;
  }

  /** Sends a signed request. */
  async call(
    method: string,
    target: string,
    body?: unknown,
  ): Promise<WireAnswer> {
    const text = body === undefined ? "" : JSON.stringify(body);
    const request = { method, target, body: text };
    return await sendWire(this.#url(), {
      ...request,
      headers: signByHand(request, this.#signer),
    });
  }

  /**
   * Sends a signed request that has to come to `status`, and gives the body.
   *
   * @throws {Error} When it comes to something else.
   */
  async expect(
    status: number,
    [method, target, body]: readonly [string, string, unknown?],
  ): Promise<unknown> {
    const answer = await this.call(method, target, body);
    if (answer.status === status) return answer.json;
    throw new Error(
      `Cannot go on: ${method} ${target} answered ${answer.status} ` +
        answer.text,
    );
  }
}

/** Member `name` of an answer. */
export function memberOf(json: unknown, name: string): unknown {
  return Reflect.get(Object(json), name);
}

/**
 * Member `name` of an answer, which has to be text.
 *
 * @throws {TypeError} When it is something else.
 */
export function textOf(json: unknown, name: string): string {
  const value = memberOf(json, name);
  if (typeof value === "string") return value;
  throw new TypeError(`Cannot read "${name}" of ${JSON.stringify(json)}`);
}

/**
 * Member `name` of an answer, which has to be a list.
 *
 * @throws {TypeError} When it is something else.
 */
export function listOf(json: unknown, name: string): readonly unknown[] {
  const value = memberOf(json, name);
  if (Array.isArray(value)) return value;
  throw new TypeError(`Cannot read "${name}" of ${JSON.stringify(json)}`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
