/**
 * A JSON-RPC 2.0 client of the ledger, with limits on the time and size of
 * answers.
 *
 * @module
 */

import { boundedText } from "../shared/bounded_text.ts";
import { isJsonObject } from "../shared/schema/schema.ts";
import { describeError } from "../shared/settled.ts";

/** Options of {@linkcode LedgerRpc}. */
interface LedgerRpcOptions {
  /** The URL that takes the ledger's JSON-RPC calls. */
  readonly url: string;
  /** Makes the requests. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /**
   * Timeout of a call, in milliseconds.
   *
   * @default {5000}
   */
  readonly timeoutMs?: number | undefined;
}

/** The outcome of a call. */
type RpcOutcome =
  | { readonly kind: "ok"; readonly result: unknown }
  /** The ledger answered with an error: the call is wrong. */
  | { readonly kind: "error"; readonly reason: string }
  /** The ledger did not respond, or its response was malformed. */
  | { readonly kind: "unavailable"; readonly reason: string };

/**
 * Most bytes of an answer: enough for fifty transactions of the greatest size,
 * in Base64.
 */
const MAX_ANSWER_BYTES = 4 * 1_048_576;
const TIMEOUT_MS = 5_000;

/** Calls the JSON-RPC methods of a ledger. */
export class LedgerRpc {
  readonly #options: LedgerRpcOptions;
  #calls = 0;

  /** Makes a client of the ledger at a URL. */
  constructor(options: LedgerRpcOptions) {
    this.#options = options;
  }

  /** Calls a method; never rejects. */
  async call(method: string, params: readonly unknown[]): Promise<RpcOutcome> {
    const { url, fetch, timeoutMs = TIMEOUT_MS } = this.#options;
    const id = ++this.#calls;
    try {
      const response = await fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ jsonrpc: "2.0", id, method, params }),
        redirect: "error",
        signal: AbortSignal.timeout(timeoutMs),
      });
      const text = await boundedText(response, MAX_ANSWER_BYTES);
      if (text === undefined) return unavailable("its answer is too long");
      if (!response.ok) return unavailable(`it answers ${response.status}`);
      const json: unknown = JSON.parse(text);
      if (!isJsonObject(json) || json["id"] !== id) {
        return unavailable("its answer is to no call of ours");
      }
      const { error, result } = json;
      if (error === undefined) return { kind: "ok", result };
      const message = isJsonObject(error) ? String(error["message"]) : "";
      return { kind: "error", reason: message.slice(0, 200) };
    } catch (error) {
      return unavailable(describeError(error));
    }
  }
}

function unavailable(state: string): RpcOutcome {
  return { kind: "unavailable", reason: `Cannot ask the ledger: ${state}` };
}
