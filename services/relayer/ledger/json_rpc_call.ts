/**
 * Calls of another server's JSON-RPC that end: within a time, and with an answer
 * of no more than so many bytes.
 *
 * @module
 */

import { boundedText } from "../../shared/bounded_text.ts";
import type { Clock } from "../../shared/clock.ts";
import { describeError, settle, waitAtMost } from "../../shared/settled.ts";

/** What makes a call; the platform's `fetch` is one. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Options of {@linkcode callJsonRpc}. */
export interface JsonRpcCallOptions {
  /** Makes the call. */
  readonly fetch: Fetch;
  /** Measures the time. */
  readonly clock: Clock;
  /** Where to. */
  readonly url: string;
  /** Milliseconds until the whole answer has to be there. */
  readonly timeoutMs: number;
  /** Most bytes of an answer. */
  readonly maxBytes: number;
  /** Ends the call early. */
  readonly signal: AbortSignal;
}

/** What a call comes to. */
export type JsonRpcCallOutcome =
  /** The server's result, unchecked. */
  | { readonly kind: "ok"; readonly result: unknown }
  /** There is none; why, for a log. */
  | { readonly kind: "failed"; readonly reason: string };

/** Calls a method. Never rejects. */
export async function callJsonRpc(
  call: { readonly method: string; readonly params: readonly unknown[] },
  options: JsonRpcCallOptions,
): Promise<JsonRpcCallOutcome> {
  const { clock, timeoutMs } = options;
  const late = new AbortController();
  const signal = AbortSignal.any([options.signal, late.signal]);
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, ...call });
  const exchange = settle(() => exchangeOnce(body, { ...options, signal }));
  const settled = await waitAtMost(exchange, { clock, timeoutMs });
  if (settled === "late") {
    late.abort();
    return failed(`no answer within ${timeoutMs} ms`);
  }
  return settled.kind === "ok"
    ? settled.value
    : failed(describeError(settled.error));
}

async function exchangeOnce(
  body: string,
  options: JsonRpcCallOptions,
): Promise<JsonRpcCallOutcome> {
  const response = await options.fetch(options.url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
    // An address of somebody else's choosing is not gone to.
    redirect: "manual",
    signal: options.signal,
  });
  if (response.status !== 200) {
    // What is left of the answer has no reader; its failure matters to nobody.
    response.body?.cancel().catch(() => {});
    return failed(`it answers with status ${response.status}`);
  }
  const text = await boundedText(response, options.maxBytes);
  return text === undefined
    ? failed(`its answer has more than ${options.maxBytes} bytes`)
    : resultOf(text);
}

function resultOf(text: string): JsonRpcCallOutcome {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    return failed("its answer is not JSON");
  }
  if (typeof answer !== "object" || answer === null) {
    return failed("its answer is not an object");
  }
  if ("result" in answer && answer.result !== undefined) {
    return { kind: "ok", result: answer.result };
  }
  return failed(
    "error" in answer
      ? `it answers with an error: ${
        JSON.stringify(answer.error).slice(0, 200)
      }`
      : "its answer has no result",
  );
}

function failed(reason: string): JsonRpcCallOutcome {
  return { kind: "failed", reason };
}
