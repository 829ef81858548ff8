/**
 * Accounts on a public ledger, read from a full node.
 *
 * @module
 */

import { boundedText } from "../../shared/bounded_text.ts";
import type { Clock } from "../../shared/clock.ts";
import { describeError, settle, waitAtMost } from "../../shared/settled.ts";
import { member, readAccountObject } from "./account_object.ts";
import type { AccountOutcome, Ledger } from "./ledger.ts";
import { normalizeLedgerId } from "./ledger_id.ts";

/** What makes a call; the platform's `fetch` is one. */
type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Options of {@linkcode callJsonRpc}. */
interface JsonRpcCallOptions {
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

/** The outcome of a call. */
type JsonRpcCallOutcome =
  /** The server's result, unchecked. */
  | { readonly kind: "ok"; readonly result: unknown }
  /** There is none; why, for a log. */
  | { readonly kind: "failed"; readonly reason: string };

/**
 * Calls a method of another server's JSON-RPC, which ends within a time and with an
 * answer of no more than so many bytes. Never rejects.
 */
async function callJsonRpc(
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
    // Redirects are not followed.
    redirect: "manual",
    signal: options.signal,
  });
  if (response.status !== 200) {
    // What is left of the answer is not read; its failure does not matter.
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

/** Options of {@linkcode FullNodeLedger}. */
export interface FullNodeLedgerOptions {
  /** Where the node takes JSON-RPC. */
  readonly url: string;
  /** The package whose module accounts are of. */
  readonly packageId: string;
  /** Makes calls; the platform's `fetch` is one. */
  readonly fetch: Fetch;
  /** Measures the time. */
  readonly clock: Clock;
  /**
   * The object that lists the accounts by owner.
   *
   * @default none; accounts are then not found by owner
   */
  readonly registryId?: string | undefined;
  /**
   * Milliseconds until the node has to have answered.
   *
   * @default {5000}
   */
  readonly timeoutMs?: number;
  /**
   * Most bytes of an answer.
   *
   * @default {262144}
   */
  readonly maxBytes?: number | undefined;
  /**
   * Most calls under way; one more counts as not answered.
   *
   * @default {256}
   */
  readonly maxCalls?: number;
}

type Asked =
  | { readonly kind: "ok"; readonly result: unknown }
  | { readonly kind: "unavailable"; readonly reason: string };

const SHOWN = { showType: true, showOwner: true, showContent: true };

/**
 * Reads accounts again each time. Who asks for an account that is being read
 * shares the answer; otherwise nothing is kept.
 */
export class FullNodeLedger implements Ledger {
  /** The package whose module accounts are of. */
  readonly packageId: string;
  readonly #options: FullNodeLedgerOptions;
  readonly #registryId: string | undefined;
  readonly #ending = new AbortController();
  readonly #underWay = new Map<string, Promise<AccountOutcome>>();
  #calls = 0;
  /** The registry's table; it never becomes another one. */
  #tableId: string | undefined;

  /**
   * A ledger behind a node.
   *
   * @throws {TypeError} when an id is not valid
   */
  constructor(options: FullNodeLedgerOptions) {
    this.#options = options;
    this.packageId = idOf(options.packageId, "package");
    this.#registryId = options.registryId === undefined
      ? undefined
      : idOf(options.registryId, "registry");
  }

  /** There is nothing to get ready: a node that is away now may come back. */
  start(): Promise<void> {
    return Promise.resolve();
  }

  /** Ends the calls that are under way. */
  async stop(): Promise<void> {
    this.#ending.abort();
    await Promise.all(this.#underWay.values());
  }

  /** The account of an id. */
  account(accountId: string): Promise<AccountOutcome> {
    const id = normalizeLedgerId(accountId);
    if (id === undefined) return Promise.resolve({ kind: "missing" });
    return this.#share(id, () => this.#readAccount(id));
  }

  /** Never found: a ledger has no list of its accounts by key. */
  accountOfKey(_publicKey: string): Promise<AccountOutcome> {
    return Promise.resolve({ kind: "missing" });
  }

  /** The account of an owner's address, where the registry is known. */
  accountOfOwner(owner: string): Promise<AccountOutcome> {
    const address = normalizeLedgerId(owner);
    const registryId = this.#registryId;
    if (address === undefined || registryId === undefined) {
      return Promise.resolve({ kind: "missing" });
    }
    return this.#share(
      `owner ${address}`,
      () => this.#readByOwner(address, registryId),
    );
  }

  #share(
    key: string,
    read: () => Promise<AccountOutcome>,
  ): Promise<AccountOutcome> {
    const known = this.#underWay.get(key);
    if (known !== undefined) return known;
    const reading = read().finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, reading);
    return reading;
  }

  async #readAccount(accountId: string): Promise<AccountOutcome> {
    const asked = await this.#ask("sui_getObject", [accountId, SHOWN]);
    if (asked.kind === "unavailable") return asked;
    const { packageId } = this;
    return readAccountObject(asked.result, { accountId, packageId });
  }

  async #readByOwner(
    owner: string,
    registryId: string,
  ): Promise<AccountOutcome> {
    const table = await this.#findTable(registryId);
    if (table.kind === "unavailable") return table;
    const asked = await this.#ask("suix_getDynamicFieldObject", [
      table.id,
      { type: "address", value: owner },
    ]);
    if (asked.kind === "unavailable") return asked;
    const code = member(member(asked.result, "error"), "code");
    if (code === "dynamicFieldNotFound" || code === "notExists") {
      return { kind: "missing" };
    }
    const value = member(fieldsOf(asked.result), "value");
    const accountId = typeof value === "string"
      ? normalizeLedgerId(value)
      : undefined;
    if (accountId === undefined) {
      return unavailable("the registry's entry cannot be read");
    }
    const read = await this.account(accountId);
    return read.kind === "ok" && read.account.owner !== owner
      ? { kind: "missing" }
      : read;
  }

  async #findTable(
    registryId: string,
  ): Promise<
    | { readonly kind: "ok"; readonly id: string }
    | { readonly kind: "unavailable"; readonly reason: string }
  > {
    if (this.#tableId !== undefined) return { kind: "ok", id: this.#tableId };
    const asked = await this.#ask("sui_getObject", [registryId, SHOWN]);
    if (asked.kind === "unavailable") return asked;
    const accounts = member(fieldsOf(asked.result), "accounts");
    const id = member(member(member(accounts, "fields"), "id"), "id");
    const tableId = typeof id === "string" ? normalizeLedgerId(id) : undefined;
    if (tableId === undefined) {
      return unavailable("the registry has no table of accounts");
    }
    this.#tableId = tableId;
    return { kind: "ok", id: tableId };
  }

  async #ask(method: string, params: readonly unknown[]): Promise<Asked> {
    const { maxCalls = 256, timeoutMs = 5_000, maxBytes = 262_144 } =
      this.#options;
    if (this.#ending.signal.aborted) return unavailable("it was stopped");
    if (this.#calls >= maxCalls) {
      return unavailable(`${maxCalls} calls are under way already`);
    }
    this.#calls++;
    try {
      const { fetch, clock, url } = this.#options;
      const outcome = await callJsonRpc({ method, params }, {
        fetch,
        clock,
        url,
        timeoutMs,
        maxBytes,
        signal: this.#ending.signal,
      });
      return outcome.kind === "ok" ? outcome : unavailable(outcome.reason);
    } finally {
      this.#calls--;
    }
  }
}

function fieldsOf(result: unknown): unknown {
  return member(member(member(result, "data"), "content"), "fields");
}

function unavailable(
  reason: string,
): { readonly kind: "unavailable"; readonly reason: string } {
  return { kind: "unavailable", reason };
}

function idOf(text: string, what: string): string {
  const id = normalizeLedgerId(text);
  if (id !== undefined) return id;
  throw new TypeError(
    `Cannot read the ledger: the ${what}'s id is not hexadecimal`,
  );
}
