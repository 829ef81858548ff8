/**
 * Sends requests that are signed by hand to the relayer.
 *
 * @module
 */

import { type HandKey, signByHand } from "./hand_signer.ts";

/** A response. */
export interface WireAnswer {
  /** The HTTP status code. */
  readonly status: number;
  /** The response headers. */
  readonly headers: Headers;
  /** The body as text. */
  readonly text: string;
  /** The body, parsed as JSON; `undefined` when it is not JSON. */
  readonly json: unknown;
}

/** A request as it is sent, signed or not. */
export interface WireRequest {
  /** The method, in capitals. */
  readonly method: string;
  /** The path and the query. */
  readonly target: string;
  /**
   * The body.
   *
   * @default none
   */
  readonly body?: string;
  /**
   * The request headers.
   *
   * @default none
   */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Longest wait for a response, in milliseconds; longer than any response takes,
 * so that a test always ends.
 */
const ANSWER_MS = 30_000;

/** Sends a request unchanged. */
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

/** A client whose requests are signed with one key. */
export class WireClient {
  readonly #url: () => string;
  readonly #signer: HandKey;

  /**
   * Creates a client; `url` is called before each request, since a restart
   * changes the port.
   */
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
   * Sends a signed request that must be answered with `status`; returns the
   * body.
   *
   * @throws {Error} When the response has another status.
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

/**
 * Returns the member `name` of a JSON object; `undefined` when it is missing.
 */
export function getMember(json: unknown, name: string): unknown {
  return Reflect.get(Object(json), name);
}

/**
 * Asks for a recall until its answer covers all memories. While a relayer reads
 * the memories of an owner, as after a failover, it recalls only those that it
 * has read.
 */
export async function recallAll<Answer>(
  recall: () => Promise<Answer>,
): Promise<Answer> {
  let answer = await recall();
  while (getMember(answer, "partial") === true) answer = await recall();
  return answer;
}

/**
 * Returns the member `name` of a JSON object, which has to be a string.
 *
 * @throws {TypeError} When it is something else.
 */
export function readText(json: unknown, name: string): string {
  const value = getMember(json, name);
  if (typeof value === "string") return value;
  throw new TypeError(`Cannot read "${name}" of ${JSON.stringify(json)}`);
}

/**
 * Returns the member `name` of a JSON object, which has to be a list.
 *
 * @throws {TypeError} When it is something else.
 */
export function readList(json: unknown, name: string): readonly unknown[] {
  const value = getMember(json, name);
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
