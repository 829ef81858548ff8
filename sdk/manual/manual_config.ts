/**
 * The configuration of a client that encrypts for itself, and the checks of it.
 *
 * @module
 */

import {
  type MemConfig,
  resolveConfig,
  type ResolvedConfig,
} from "../memory/config.ts";
import { configFault, readText } from "../memory/key_server_config.ts";
import { parsePrivateKey } from "../memory/private_key.ts";
import type { KeyServerChoice } from "../vault/key_server_client.ts";
import type { EmbeddingChoice, EmbedFunction } from "./embedding.ts";
import type { DroppedMemory } from "./manual_results.ts";

/** A connected wallet: it signs messages, and never gives out its key. */
export interface WalletSigner {
  /** The wallet's address: that of the account's owner, or of a delegate. */
  readonly address: string;
  /** Signs a message and returns the signature in Base64, as wallets do. */
  readonly signPersonalMessage: (
    input: { readonly message: Uint8Array },
  ) => Promise<{ readonly signature: string }>;
}

/** The configuration of a client that encrypts for itself. */
export interface MemManualConfig extends Omit<MemConfig, "key" | "ranking"> {
  /** The delegate's private key: hexadecimal, `suiprivkey…`, or 32 bytes. */
  readonly key: string | Uint8Array;
  /**
   * The wallet that signs requests for the keys of memories. Requests to the
   * relayer are signed with `key` nevertheless. Cannot be given together with
   * `suiPrivateKey`.
   *
   * @default none
   */
  readonly walletSigner?: WalletSigner | undefined;
  /**
   * The private key that signs requests for the keys of memories, in the forms
   * of `key`.
   *
   * @default `key`: a delegate may request the keys of memories, too
   */
  readonly suiPrivateKey?: string | Uint8Array | undefined;
  /**
   * Makes the vectors of texts. One of this, `embeddingApiKey` and `embedWithRelayer`
   * is needed.
   *
   * @default none
   */
  readonly embed?: EmbedFunction | undefined;
  /**
   * The key of an endpoint with OpenAI's interface that makes the vectors of texts.
   *
   * @default none
   */
  readonly embeddingApiKey?: string | undefined;
  /**
   * The base URL of that endpoint.
   *
   * @default {"https://api.openai.com/v1"}
   */
  readonly embeddingApiBase?: string | undefined;
  /**
   * The endpoint's model. Its vectors must be as long as the relayer's.
   *
   * @default {"text-embedding-3-small"}
   */
  readonly embeddingModel?: string | undefined;
  /**
   * Lets the relayer compute the vectors of texts. The relayer then sees the
   * texts that are remembered and the questions, though it stores only what is
   * encrypted.
   *
   * @default {false}
   */
  readonly embedWithRelayer?: boolean | undefined;
  /**
   * The package of the account's contract.
   *
   * @default on the network `localnet` what the relayer says, checked with
   * `accountId`; elsewhere it must be given
   */
  readonly packageId?: string | undefined;
  /**
   * The registry of accounts.
   *
   * @default what the relayer says; with a wrong registry the key servers give
   * no keys
   */
  readonly registryId?: string | undefined;
  /**
   * The URL of the ledger's JSON-RPC interface.
   *
   * @default on `localnet` what the relayer says, whose answers are checked with
   * `accountId` and the ids of the key servers; on `mainnet`, `testnet` and `devnet`
   * the public full node
   */
  readonly ledgerRpcUrl?: string | undefined;
  /**
   * How many shares of key servers are needed to decrypt.
   *
   * @default 2, or 1 where the key servers have one share together
   */
  readonly keyServerThreshold?: number | undefined;
  /**
   * Takes the network, the package and the key servers from the relayer where
   * the configuration does not name them. The operator of the relayer could
   * then name its own key servers, and read the memories that are written from
   * then on.
   *
   * @default {false}
   */
  readonly trustRelayerKeyServers?: boolean | undefined;
  /**
   * Aggregators of the blob store that memories are read from, in the order in
   * which they are asked.
   *
   * @default none: the relayer gives the blobs
   */
  readonly blobAggregatorUrl?: string | readonly string[] | undefined;
  /**
   * Called for each memory that was found and could not be decrypted; an error
   * that the function throws is ignored.
   *
   * @default none; the result names them, too
   */
  readonly onDecryptError?: ((memory: DroppedMemory) => void) | undefined;
}

/** What signs requests for keys: a wallet or a private key. */
export type KeySigner =
  | { readonly kind: "wallet"; readonly wallet: WalletSigner }
  | { readonly kind: "seed"; readonly seed: Uint8Array<ArrayBuffer> };

/**
 * A {@linkcode MemManualConfig} that was checked and completed with defaults.
 * It holds private keys.
 */
export interface ResolvedManualConfig extends
  Required<
    Pick<
      MemManualConfig,
      | "packageId"
      | "registryId"
      | "ledgerRpcUrl"
      | "keyServerThreshold"
      | "onDecryptError"
    >
  > {
  /** The options that all kinds of clients have. */
  readonly base: ResolvedConfig;
  /** The network that the configuration names; undefined when it names none. */
  readonly givenNetwork: string | undefined;
  /** What signs requests for keys. */
  readonly signer: KeySigner;
  /** How texts become vectors. */
  readonly embedding: EmbeddingChoice;
  /** The key servers that were named; empty when none were. */
  readonly keyServers: readonly KeyServerChoice[];
  /**
   * Whether the relayer is trusted for values that the configuration does not
   * name.
   */
  readonly trustRelayerKeyServers: boolean;
  /**
   * Aggregators of the blob store; when empty, the relayer is asked for blobs.
   */
  readonly aggregatorUrls: readonly string[];
}

const DEFAULT_API_BASE = "https://api.openai.com/v1";
const DEFAULT_MODEL = "text-embedding-3-small";
const ROUTER_HOST = "openrouter.ai";
/** Matches the name of a header field (RFC 9110, section 5.6.2). */
const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const OBJECT_ID = /^0x[0-9a-f]{1,64}$/i;
const ID_DIGITS = 64;

/**
 * Checks a configuration and completes it with defaults. Keys are copied.
 *
 * @throws {TypeError} When something is missing, contradicts something else, or is not
 * what it must be.
 */
export function resolveManualConfig(
  config: MemManualConfig,
): ResolvedManualConfig {
  if (typeof config !== "object" || config === null) {
    throw configFault("it needs an object with key and accountId");
  }
  const { packageId, registryId, ledgerRpcUrl, onDecryptError } = config;
  if (onDecryptError !== undefined && typeof onDecryptError !== "function") {
    throw configFault("onDecryptError is not a function");
  }
  const checked = {
    givenNetwork: config.ledgerNetwork,
    embedding: readEmbedding(config),
    packageId: readId(packageId, "packageId"),
    registryId: readId(registryId, "registryId"),
    ledgerRpcUrl: ledgerRpcUrl === undefined
      ? undefined
      : readUrl(ledgerRpcUrl, "ledgerRpcUrl"),
    keyServerThreshold: readThreshold(config.keyServerThreshold),
    trustRelayerKeyServers: config.trustRelayerKeyServers === true,
    aggregatorUrls: readUrls(config.blobAggregatorUrl),
    onDecryptError,
  };
  const base = resolveConfig(config);
  try {
    if (base.signer !== undefined) {
      throw configFault("key only signs; this client needs the private key");
    }
    const keyServers = readChoices(base);
    if (keyServers.length === 0 && !checked.trustRelayerKeyServers) {
      throw configFault(
        "keyServers or keyServerConfigs is missing; trustRelayerKeyServers " +
          "takes those that the relayer names",
      );
    }
    return { ...checked, base, keyServers, signer: readSigner(config, base) };
  } catch (error) {
    base.seed.fill(0);
    throw error;
  }
}

/**
 * Returns an object id with all of its digits.
 *
 * @throws {TypeError} When it is something else.
 */
export function readObjectId(value: unknown, name: string): string {
  const text = readText(value, name).trim();
  if (!OBJECT_ID.test(text)) {
    throw configFault(`${name} is not an object id, such as 0x and 64 digits`);
  }
  return `0x${text.slice(2).toLowerCase().padStart(ID_DIGITS, "0")}`;
}

function readId(value: unknown, name: string): string | undefined {
  return value === undefined ? undefined : readObjectId(value, name);
}

function readEmbedding(config: MemManualConfig): EmbeddingChoice {
  const { embed, embeddingApiKey, embedWithRelayer = false } = config;
  const { embeddingApiBase, embeddingModel } = config;
  const given = [embed, embeddingApiKey].filter((one) => one !== undefined)
    .length + (embedWithRelayer ? 1 : 0);
  if (given !== 1) {
    throw configFault(
      (given === 0 ? "nothing makes vectors of texts" : "two make vectors") +
        ": give one of embed, embeddingApiKey and embedWithRelayer",
    );
  }
  if (embeddingApiKey === undefined) {
    if (embeddingApiBase !== undefined || embeddingModel !== undefined) {
      throw configFault(
        "embeddingApiBase and embeddingModel have no effect without " +
          "embeddingApiKey",
      );
    }
    if (embed === undefined) return { kind: "relayer" };
    if (typeof embed === "function") return { kind: "function", embed };
    throw configFault("embed is not a function");
  }
  const baseUrl = readUrl(
    embeddingApiBase ?? DEFAULT_API_BASE,
    "embeddingApiBase",
  );
  const model = readText(embeddingModel ?? DEFAULT_MODEL, "embeddingModel");
  const isRouter = new URL(baseUrl).hostname.endsWith(ROUTER_HOST);
  return {
    kind: "endpoint",
    baseUrl,
    apiKey: readHeaderText(embeddingApiKey, "embeddingApiKey"),
    // Such routers name models with the vendor's name in front.
    model: isRouter && !model.includes("/") ? `openai/${model}` : model,
  };
}

function readSigner(config: MemManualConfig, base: ResolvedConfig): KeySigner {
  const { walletSigner, suiPrivateKey } = config;
  if (walletSigner === undefined) {
    const seed = suiPrivateKey === undefined
      ? Uint8Array.from(base.seed)
      : parsePrivateKey(suiPrivateKey);
    return { kind: "seed", seed };
  }
  if (suiPrivateKey !== undefined) {
    throw configFault("give walletSigner or suiPrivateKey and not both");
  }
  if (
    typeof walletSigner !== "object" || walletSigner === null ||
    typeof walletSigner.signPersonalMessage !== "function"
  ) {
    throw configFault("walletSigner has no function signPersonalMessage");
  }
  const address = readObjectId(walletSigner.address, "walletSigner.address");
  return {
    kind: "wallet",
    wallet: {
      address,
      // A wallet may be an object of a class whose method needs `this`.
      signPersonalMessage: (input) => walletSigner.signPersonalMessage(input),
    },
  };
}

function readChoices(base: ResolvedConfig): readonly KeyServerChoice[] {
  const { keyServerConfigs, keyServers } = base;
  if (keyServerConfigs.length > 0 && keyServers.length > 0) {
    throw configFault("give keyServerConfigs or keyServers and not both");
  }
  const choices: readonly KeyServerChoice[] = keyServerConfigs.length > 0
    ? keyServerConfigs
    : keyServers.map((objectId) => ({ objectId }));
  const named = choices.map((choice) => ({
    ...choice,
    ...readApiKey(choice),
    objectId: readObjectId(choice.objectId, "the id of a key server"),
    aggregatorUrl: choice.aggregatorUrl === undefined
      ? undefined
      : readUrl(choice.aggregatorUrl, "aggregatorUrl"),
  }));
  if (new Set(named.map(({ objectId }) => objectId)).size < named.length) {
    throw configFault("a key server is named twice; give it a weight instead");
  }
  return named;
}

function readApiKey(
  { apiKeyName, apiKey }: KeyServerChoice,
): Pick<KeyServerChoice, "apiKeyName" | "apiKey"> {
  if (apiKeyName !== undefined && !FIELD_NAME.test(apiKeyName)) {
    throw configFault("the apiKeyName of a key server is not a header field");
  }
  return apiKey === undefined
    ? {}
    : { apiKey: readHeaderText(apiKey, "the apiKey of a key server") };
}

/**
 * Returns a text that a header field can hold, without the spaces and line ends
 * around it. The text may be a secret, so no error shows it; the runtimes' own
 * errors would.
 */
function readHeaderText(value: unknown, name: string): string {
  const text = readText(value, name).trim();
  if (/^[\x20-\x7e]+$/.test(text)) return text;
  throw configFault(`${name} has characters that no header field may have`);
}

function readThreshold(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "number" && Number.isInteger(value) && value > 0) {
    return value;
  }
  throw configFault("keyServerThreshold is not a whole number above 0");
}

function readUrls(value: unknown): readonly string[] {
  if (value === undefined) return [];
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.map((one) => readUrl(one, "blobAggregatorUrl"));
}

/** Returns a URL without a slash at its end. */
function readUrl(value: unknown, name: string): string {
  const text = readText(value, name);
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw configFault(`${name} is not a URL`);
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw configFault(`${name} is neither http: nor https:`);
  }
  return url.href.replace(/\/+$/, "");
}
