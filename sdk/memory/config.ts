/**
 * What a client is made with, and what becomes of it.
 *
 * @module
 */

import { type ClientClock, machineClock } from "./client_clock.ts";
import {
  configFault,
  type KeyServerConfig,
  keyServerConfigsOf,
  type KeyServerIds,
  keyServerIdsOf,
  textOf,
} from "./key_server_config.ts";
import { parsePrivateKey } from "./private_key.ts";
import { checkRanking } from "./ranking.ts";
import type { Ranking } from "./recall_types.ts";
import type { ReceiptKey } from "./receipt.ts";

/** Makes one HTTP request, as the `fetch` of every runtime does. */
export type MemFetch = (url: string, init: RequestInit) => Promise<Response>;

/** What a client is made with. */
export interface MemConfig {
  /** The delegate's private key: hexadecimal, `suiprivkey…`, or 32 bytes. */
  readonly key: string | Uint8Array;
  /** The account's object id on the ledger. */
  readonly accountId: string;
  /**
   * Where the relayer is. A path in it is put before every route's, and is not
   * signed: what stands between is expected to take it away.
   *
   * @default {"http://localhost:8000"}
   */
  readonly serverUrl?: string;
  /**
   * The namespace of calls that name none.
   *
   * @default {"default"}
   */
  readonly namespace?: string;
  /**
   * What ranks memories of recalls and questions that name nothing. A relayer that
   * does not offer `recall.ranking` is not told, and goes by distance.
   *
   * @default the relayer's choice, which is `semantic` unless its operator chose
   * otherwise; `fused` for questions
   */
  readonly ranking?: Ranking | undefined;
  /**
   * Milliseconds that one request may take. Zero, less than that, or no finite
   * number stands for the default, here and in the other deadlines.
   *
   * @default {30000}
   */
  readonly requestTimeoutMs?: number;
  /**
   * Milliseconds that a recall may take.
   *
   * @default {15000}
   */
  readonly recallTimeoutMs?: number;
  /**
   * Milliseconds that each round trip before the first signed request may take.
   *
   * @default {5000}
   */
  readonly preflightTimeoutMs?: number;
  /**
   * The ledger's network, for the manual client.
   *
   * @default {"mainnet"}
   */
  readonly ledgerNetwork?: string;
  /**
   * The key servers, for the manual client.
   *
   * @default none
   */
  readonly keyServerConfigs?: readonly KeyServerConfig[];
  /**
   * Object ids of independent key servers, for the manual client; the older
   * form of `keyServerConfigs`.
   *
   * @default none
   */
  readonly keyServers?: KeyServerIds;
  /**
   * Keys of the relayer, which receipts have to be signed with: `receiptKeys` of its
   * `/config`, as its operator has confirmed them.
   *
   * @default those that the relayer names when a receipt is verified
   */
  readonly receiptKeys?: readonly ReceiptKey[];
  /**
   * Makes the requests: for tests, and for transports of one's own.
   *
   * @default {fetch}
   */
  readonly fetch?: MemFetch;
  /**
   * Tells the time and sets timers: for tests.
   *
   * @default the machine's clock
   */
  readonly clock?: ClientClock;
}

/** A {@linkcode MemConfig} that was checked and completed. It holds the key. */
export interface ResolvedConfig {
  /** The private key, 32 bytes; it is overwritten after signing. */
  readonly seed: Uint8Array<ArrayBuffer>;
  /** The account's object id. */
  readonly accountId: string;
  /** Where the relayer is, without a slash at the end. */
  readonly serverUrl: string;
  /** The namespace of calls that name none. */
  readonly namespace: string;
  /** What ranks memories when a call names nothing; undefined for no choice. */
  readonly ranking: Ranking | undefined;
  /** Milliseconds that one request may take. */
  readonly requestTimeoutMs: number;
  /** Milliseconds that a recall may take. */
  readonly recallTimeoutMs: number;
  /** Milliseconds that each round trip before the first signed request may take. */
  readonly preflightTimeoutMs: number;
  /** The ledger's network. */
  readonly ledgerNetwork: string;
  /** The key servers; empty when none were given. */
  readonly keyServerConfigs: readonly KeyServerConfig[];
  /** Object ids of independent key servers; empty when none were given. */
  readonly keyServers: readonly string[];
  /** Keys that receipts have to be signed with; undefined where none were named. */
  readonly receiptKeys: readonly ReceiptKey[] | undefined;
  /** Makes the requests. */
  readonly fetch: MemFetch;
  /** Tells the time and sets timers. */
  readonly clock: ClientClock;
}

const DEFAULT_SERVER_URL = "http://localhost:8000";
const DEFAULT_NAMESPACE = "default";
const DEFAULT_LEDGER_NETWORK = "mainnet";
const DEFAULT_REQUEST_TIMEOUT_MS = 30_000;
const DEFAULT_RECALL_TIMEOUT_MS = 15_000;
const DEFAULT_PREFLIGHT_TIMEOUT_MS = 5_000;

/**
 * Checks what a client is made with and puts the defaults in. The key becomes a
 * copy of its own.
 *
 * @throws {TypeError} When the key or the account is missing, or anything but a
 * deadline is not what it must be.
 */
export function resolveConfig(config: MemConfig): ResolvedConfig {
  if (typeof config !== "object" || config === null) {
    throw configFault("it needs an object with key and accountId");
  }
  if (config.key === undefined || config.key === null) {
    throw configFault("key is missing");
  }
  const { fetch: givenFetch, clock = machineClock } = config;
  if (givenFetch !== undefined && typeof givenFetch !== "function") {
    throw configFault("fetch is no function");
  }
  const ledgerNetwork = textOf(
    config.ledgerNetwork ?? DEFAULT_LEDGER_NETWORK,
    "ledgerNetwork",
  );
  return {
    accountId: accountIdOf(config.accountId),
    serverUrl: serverUrlOf(config.serverUrl ?? DEFAULT_SERVER_URL),
    namespace: textOf(config.namespace ?? DEFAULT_NAMESPACE, "namespace"),
    ranking: checkRanking(config.ranking),
    requestTimeoutMs: timeoutOf(
      config.requestTimeoutMs,
      DEFAULT_REQUEST_TIMEOUT_MS,
    ),
    recallTimeoutMs: timeoutOf(
      config.recallTimeoutMs,
      DEFAULT_RECALL_TIMEOUT_MS,
    ),
    preflightTimeoutMs: timeoutOf(
      config.preflightTimeoutMs,
      DEFAULT_PREFLIGHT_TIMEOUT_MS,
    ),
    ledgerNetwork,
    keyServerConfigs: keyServerConfigsOf(config.keyServerConfigs ?? []),
    keyServers: keyServerIdsOf(config.keyServers ?? [], ledgerNetwork),
    receiptKeys: receiptKeysOf(config.receiptKeys),
    // The global one is looked up at each call: who replaces it means this client
    // too. Browsers refuse to run theirs as a method of another object.
    fetch: (url, init) => (givenFetch ?? globalThis.fetch)(url, init),
    clock,
    // Last, so that no other fault leaves a copy of the key behind.
    seed: parsePrivateKey(config.key),
  };
}

function receiptKeysOf(value: unknown): readonly ReceiptKey[] | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) throw configFault("receiptKeys is no list");
  return value.map((key: unknown): ReceiptKey => {
    const { id, publicKey } = Object(key);
    if (typeof id === "string" && /^[0-9a-f]{64}$/i.test(String(publicKey))) {
      return { id, publicKey: String(publicKey) };
    }
    throw configFault(
      "receiptKeys has an entry without an id or a publicKey of 64 hexadecimal digits",
    );
  });
}

function accountIdOf(value: unknown): string {
  if (value === undefined || value === null || value === "") {
    throw configFault("accountId is missing");
  }
  const text = textOf(value, "accountId").trim();
  // It travels in a header field, which holds nothing but this unchanged.
  if (/^[\x21-\x7e]{1,256}$/.test(text)) return text;
  throw configFault("accountId is no object id, such as 0x and 64 digits");
}

function serverUrlOf(value: unknown): string {
  const url = parseUrl(textOf(value, "serverUrl"));
  if (url === undefined) {
    throw configFault("serverUrl is no URL, such as http://localhost:8000");
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw configFault("serverUrl is neither http: nor https:");
  }
  if (url.username !== "" || url.password !== "") {
    throw configFault(
      "serverUrl holds a user's name or password; leave it out",
    );
  }
  if (url.search !== "" || url.hash !== "") {
    throw configFault('serverUrl has a part after "?" or "#"; leave it out');
  }
  return url.origin + url.pathname.replace(/\/+$/, "");
}

/** `URL.parse` is newer than some runtimes this is for. */
function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

function timeoutOf(value: unknown, fallbackMs: number): number {
  const isUsable = typeof value === "number" && Number.isFinite(value) &&
    value > 0;
  return isUsable ? value : fallbackMs;
}
