/**
 * The configuration of a client, its defaults, and the checks of it.
 *
 * @module
 */

import { readAccessToken } from "./access_token.ts";
import { type ClientClock, machineClock } from "./client_clock.ts";
import {
  configFault,
  type KeyServerConfig,
  type KeyServerIds,
  readKeyServerConfigs,
  readKeyServerIds,
  readText,
} from "./key_server_config.ts";
import { parsePrivateKey } from "./private_key.ts";
import { checkRanking } from "./ranking.ts";
import type { Ranking } from "./recall_types.ts";
import type { ReceiptKey } from "./receipt.ts";
import type { MemFetch } from "./round_trip.ts";
import type { DelegateSigner } from "./signer.ts";
import type { TokenCredential } from "./token_use.ts";

/** The configuration of a client. */
export interface MemConfig {
  /**
   * The delegate's private key: hexadecimal, `suiprivkey…`, or 32 bytes; or what
   * signs with it.
   */
  readonly key: string | Uint8Array | DelegateSigner;
  /** The account's object id on the ledger. */
  readonly accountId: string;
  /** Not given together with a key; see {@linkcode MemTokenConfig}. */
  readonly accessToken?: undefined;
  /**
   * The relayer's URL. A path in it is put before the path of every route, and
   * is not signed: a proxy between client and relayer is expected to remove it.
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
   * The ranking of recalls and questions that name none. A relayer that does
   * not offer `recall.ranking` is not sent this option, and ranks by distance.
   *
   * @default the relayer's choice, which is `semantic` unless its operator chose
   * otherwise; `fused` for questions
   */
  readonly ranking?: Ranking | undefined;
  /**
   * Timeout of one request in milliseconds. Zero, a negative number, or one
   * that is not finite stands for the default, here and in the other timeouts.
   *
   * @default {30000}
   */
  readonly requestTimeoutMs?: number;
  /**
   * Timeout of a recall in milliseconds.
   *
   * @default {15000}
   */
  readonly recallTimeoutMs?: number;
  /**
   * Timeout in milliseconds of each request that is made before the first
   * signed request.
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
   * The relayer's public keys that receipts have to be signed with:
   * `receiptKeys` of its `/config`, as its operator has confirmed them.
   *
   * @default the keys that the relayer names when a receipt is verified
   */
  readonly receiptKeys?: readonly ReceiptKey[];
  /**
   * Makes the requests. Replace it for tests, or to use another transport.
   *
   * @default {fetch}
   */
  readonly fetch?: MemFetch;
  /**
   * Tells the time and sets timers. Replace it for tests.
   *
   * @default the machine's clock
   */
  readonly clock?: ClientClock;
}

/**
 * The configuration of a client with an access token in place of a key. Such a
 * client can do what the token permits. Without `namespace`, the namespace of
 * calls that name none is the token's, if it is for one only.
 */
export interface MemTokenConfig extends
  Omit<
    MemConfig,
    | "accessToken"
    | "accountId"
    | "key"
    | "keyServerConfigs"
    | "keyServers"
    | "ledgerNetwork"
  > {
  /** The access token, as `createAccessToken` or `tercet mcp token` makes it. */
  readonly accessToken: string;
  /** Not given together with a token. */
  readonly key?: undefined;
  /** Not given together with a token, which names its account. */
  readonly accountId?: undefined;
}

/**
 * A {@linkcode MemConfig} that was checked and completed with defaults. It
 * holds the private key.
 */
export interface ResolvedConfig extends
  Required<
    Omit<MemConfig, "accessToken" | "key" | "keyServers" | "receiptKeys">
  > {
  /**
   * The private key, 32 bytes, which is overwritten after signing; empty where
   * `signer` has it, or a token takes its place.
   */
  readonly seed: Uint8Array<ArrayBuffer>;
  /** What signs, where the configuration names it in place of a key. */
  readonly signer?: DelegateSigner;
  /** The access token, where the configuration has one in place of a key. */
  readonly token?: TokenCredential;
  /** Object ids of independent key servers; empty when none were given. */
  readonly keyServers: readonly string[];
  /**
   * The keys that receipts have to be signed with; undefined when the
   * configuration names none.
   */
  readonly receiptKeys: readonly ReceiptKey[] | undefined;
}

const DEFAULT_SERVER_URL = "http://localhost:8000";
const DEFAULT_NAMESPACE = "default";
const DEFAULT_LEDGER_NETWORK = "mainnet";
const DEFAULT_REQUEST_TIMEOUT_MS = 30_000;
const DEFAULT_RECALL_TIMEOUT_MS = 15_000;
const DEFAULT_PREFLIGHT_TIMEOUT_MS = 5_000;

/**
 * Checks a configuration and completes it with defaults. The key is copied.
 *
 * @throws {TypeError} When the key or the account is missing, a token is given
 * beside them, or an option other than a timeout is not valid.
 */
export function resolveConfig(
  config: MemConfig | MemTokenConfig,
): ResolvedConfig {
  if (typeof config !== "object" || config === null) {
    throw configFault("it needs an object with key and accountId");
  }
  const token = readToken(config);
  if (token === undefined && (config.key ?? undefined) === undefined) {
    throw configFault("key is missing, and accessToken as well");
  }
  const { fetch: givenFetch, clock = machineClock } = config;
  if (givenFetch !== undefined && typeof givenFetch !== "function") {
    throw configFault("fetch is not a function");
  }
  const { ledgerNetwork: network, keyServerConfigs = [], keyServers = [] } =
    config.accessToken === undefined ? config : { ledgerNetwork: undefined };
  const ledgerNetwork = readText(
    network ?? DEFAULT_LEDGER_NETWORK,
    "ledgerNetwork",
  );
  return {
    accountId: readAccountId(token?.claims.accountId ?? config.accountId),
    serverUrl: readServerUrl(config.serverUrl ?? DEFAULT_SERVER_URL),
    namespace: readText(
      config.namespace ?? onlyNamespace(token) ?? DEFAULT_NAMESPACE,
      "namespace",
    ),
    ranking: checkRanking(config.ranking),
    requestTimeoutMs: readTimeout(
      config.requestTimeoutMs,
      DEFAULT_REQUEST_TIMEOUT_MS,
    ),
    recallTimeoutMs: readTimeout(
      config.recallTimeoutMs,
      DEFAULT_RECALL_TIMEOUT_MS,
    ),
    preflightTimeoutMs: readTimeout(
      config.preflightTimeoutMs,
      DEFAULT_PREFLIGHT_TIMEOUT_MS,
    ),
    ledgerNetwork,
    keyServerConfigs: readKeyServerConfigs(keyServerConfigs),
    keyServers: readKeyServerIds(keyServers, ledgerNetwork),
    receiptKeys: readReceiptKeys(config.receiptKeys),
    // The global function is looked up at each call, so that replacing it also
    // affects this client. It is called as a function, because browsers refuse
    // to run it as a method of another object.
    fetch: (url, init) => (givenFetch ?? globalThis.fetch)(url, init),
    clock,
    // The key is read last, so that an error in another option leaves no copy
    // of it.
    ...(token === undefined ? {} : { token }),
    ...readKey(config.key),
  };
}

function readToken(
  { accessToken, key, accountId }: MemConfig | MemTokenConfig,
): TokenCredential | undefined {
  if (accessToken === undefined || accessToken === null) return undefined;
  if (key !== undefined || accountId !== undefined) {
    throw configFault(
      "accessToken takes the place of key and accountId; leave them out",
    );
  }
  const text = readText(accessToken, "accessToken").trim();
  return { text, claims: readAccessToken(text) };
}

function onlyNamespace(token: TokenCredential | undefined): string | undefined {
  const { namespaces = [] } = token?.claims ?? {};
  return namespaces.length === 1 ? namespaces[0] : undefined;
}

function readKey(
  key: MemConfig["key"] | undefined,
): Pick<ResolvedConfig, "seed" | "signer"> {
  // There is a token then.
  if (key === undefined) return { seed: new Uint8Array() };
  if (typeof key !== "object" || !("sign" in key)) {
    return { seed: parsePrivateKey(key) };
  }
  const { publicKey, sign } = key;
  if (publicKey?.length !== 32 || typeof sign !== "function") {
    throw configFault(
      "key signs, but has no publicKey of 32 bytes or no function sign",
    );
  }
  return {
    seed: new Uint8Array(),
    signer: {
      publicKey: Uint8Array.from(publicKey),
      sign: (bytes) => key.sign(bytes),
    },
  };
}

function readReceiptKeys(value: unknown): readonly ReceiptKey[] | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value)) throw configFault("receiptKeys is not a list");
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

function readAccountId(value: unknown): string {
  if (value === undefined || value === null || value === "") {
    throw configFault("accountId is missing");
  }
  const text = readText(value, "accountId").trim();
  // The id is sent in a header field, which must hold it unchanged.
  if (/^[\x21-\x7e]{1,256}$/.test(text)) return text;
  throw configFault("accountId is not an object id, such as 0x and 64 digits");
}

function readServerUrl(value: unknown): string {
  const url = parseUrl(readText(value, "serverUrl"));
  if (url === undefined) {
    throw configFault("serverUrl is not a URL, such as http://localhost:8000");
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

/** Does not use `URL.parse`, which some supported runtimes do not have. */
function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

function readTimeout(value: unknown, fallbackMs: number): number {
  const isUsable = typeof value === "number" && Number.isFinite(value) &&
    value > 0;
  return isUsable ? value : fallbackMs;
}
