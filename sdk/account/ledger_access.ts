/**
 * Finds out how to send transactions about accounts: which ledger and which
 * contract they are for, and what signs them.
 *
 * @module
 */

import { isObject } from "../memory/answer_reader.ts";
import {
  delegateKeyToSuiAddress,
  parsePrivateKey,
} from "../memory/private_key.ts";
import { quote } from "../memory/server_text.ts";
import { readText } from "../vault/bounded_body.ts";
import { AccountError } from "./account_error.ts";
import type {
  AccountOptions,
  AccountWallet,
  LedgerClient,
} from "./account_options.ts";

/** What signs transactions: a wallet, or a private key. */
type AccountSigner =
  | { readonly kind: "wallet"; readonly wallet: AccountWallet }
  | { readonly kind: "seed"; readonly seed: Uint8Array<ArrayBuffer> };

/** A {@linkcode LedgerClient} that was checked to have the needed interface. */
type CheckedClient = import("@mysten/sui/client").ClientWithCoreApi;

/** What is needed to send a transaction about an account. */
export interface LedgerAccess {
  /** The contract's package. */
  readonly packageId: string;
  /**
   * Whether the ledger is embedded in a relayer. On such a ledger the id of an
   * account is computed from its owner.
   */
  readonly isLocal: boolean;
  /** The registry of accounts. */
  readonly registryId: string;
  /** The client that sends requests to the ledger. */
  readonly client: CheckedClient;
  /** What signs. A seed has to be overwritten after use. */
  readonly signer: AccountSigner;
  /** The signer's address. */
  readonly address: string;
  /** Timeout in milliseconds of each request and wait. */
  readonly timeoutMs: number;
}

const DEFAULT_TIMEOUT_MS = 30_000;
/** The longest delay of the runtimes' timers; a longer one fires at once. */
const MAX_TIMEOUT_MS = 2_147_483_647;
const LOCAL_NETWORK = "localnet";
const PUBLIC_NETWORKS = ["mainnet", "testnet", "devnet"] as const;
const MAX_CONFIG_BYTES = 65_536;

/**
 * Finds out what is needed to send a transaction.
 *
 * @throws {TypeError} When an option is missing or not valid.
 * @throws {AccountError} When the relayer cannot be asked or the package is missing.
 */
export async function ledgerAccess(
  options: AccountOptions,
): Promise<LedgerAccess> {
  const network = checkOptions(options).ledgerNetwork ?? options.suiNetwork ??
    "mainnet";
  const timeoutMs = readTimeout(options.timeoutMs);
  const signer = readSigner(options);
  try {
    const isTold = network === LOCAL_NETWORK && options.serverUrl !== undefined;
    const told = isTold
      ? await askRelayer(String(options.serverUrl), timeoutMs)
      : {};
    const packageId = readId(
      options.packageId ?? told["packageId"],
      "packageId",
    );
    const registryId = readId(
      options.registryId ?? told["registryId"],
      "registryId",
    );
    const { suiClient } = options;
    if (suiClient !== undefined && !isClient(suiClient)) {
      throw optionFault("suiClient is no client of @mysten/sui 2");
    }
    const client = suiClient ??
      await makeClient({
        network,
        url: options.rpcUrl ?? told["suiRpcUrl"],
        timeoutMs,
      });
    const address = signer.kind === "wallet"
      ? readId(signer.wallet.address, "walletSigner.address")
      : await delegateKeyToSuiAddress(signer.seed);
    const isLocal = network === LOCAL_NETWORK;
    return {
      ...{ packageId, registryId, client, signer, address, timeoutMs },
      isLocal,
    };
  } catch (error) {
    if (signer.kind === "seed") signer.seed.fill(0);
    throw error;
  }
}

/**
 * Throws the error that `@mysten/sui` cannot be loaded. It is called in a
 * `.catch()` right behind each `import()`: bundlers take that as a sign that
 * the package may be missing.
 */
export function packageMissing(cause: unknown): never {
  throw new AccountError(
    "Cannot build transactions: the package @mysten/sui cannot be loaded; " +
      "install it, with npm install @mysten/sui@2 for example",
    { code: "PACKAGE_MISSING", cause },
  );
}

/**
 * Checks an object id and returns it in full: `0x` and 64 digits.
 *
 * @throws {TypeError} When the value is not an object id.
 */
export function readId(value: unknown, name: string): string {
  const digits = typeof value === "string"
    ? /^0x([0-9a-f]{1,64})$/i.exec(value)?.[1]
    : undefined;
  if (digits !== undefined) {
    return `0x${digits.toLowerCase().padStart(64, "0")}`;
  }
  throw optionFault(
    value === undefined
      ? `${name} is missing; on ${LOCAL_NETWORK} serverUrl may tell it`
      : `${name} is ${quote(value)}, which is no id`,
  );
}

/**
 * Returns options, which a caller in JavaScript may have left out.
 *
 * @throws {TypeError} When there are none.
 */
export function checkOptions<Options extends AccountOptions>(
  options: Options,
): Options {
  if (typeof options === "object" && options !== null) return options;
  throw optionFault("it needs an object with key, and with serverUrl or ids");
}

/** Returns the error for options that cannot be used; `state` is the reason. */
export function optionFault(state: string): TypeError {
  return new TypeError(`Cannot use the ledger: ${state}`);
}

function readSigner(options: AccountOptions): AccountSigner {
  const { key, suiPrivateKey, walletSigner } = options;
  const given = [key, suiPrivateKey, walletSigner].filter((one) =>
    one !== undefined
  );
  if (given.length !== 1) {
    throw optionFault(
      "exactly one of key, suiPrivateKey and walletSigner must be given",
    );
  }
  if (walletSigner !== undefined) {
    return { kind: "wallet", wallet: walletSigner };
  }
  return { kind: "seed", seed: parsePrivateKey(key ?? suiPrivateKey ?? "") };
}

function isClient(client: LedgerClient): client is CheckedClient {
  const { core }: { readonly core?: unknown } = client;
  return typeof core === "object" && core !== null &&
    "executeTransaction" in core && "getTransaction" in core;
}

function readTimeout(value: number | undefined): number {
  return value !== undefined && Number.isFinite(value) && value > 0
    ? Math.min(value, MAX_TIMEOUT_MS)
    : DEFAULT_TIMEOUT_MS;
}

async function askRelayer(
  serverUrl: string,
  timeoutMs: number,
): Promise<Readonly<Record<string, unknown>>> {
  try {
    const response = await fetch(`${serverUrl.replace(/\/+$/, "")}/config`, {
      signal: AbortSignal.timeout(timeoutMs),
    });
    const text = await readText(response, MAX_CONFIG_BYTES);
    const json: unknown = JSON.parse(text ?? "");
    if (response.ok && isObject(json)) return json;
    throw new TypeError(`status ${response.status}`);
  } catch (cause) {
    throw new AccountError(
      `Cannot ask the relayer at ${quote(serverUrl)} for its ledger: ` +
        "it gave no usable answer to GET /config; check serverUrl",
      { code: "LEDGER_FAILED", cause },
    );
  }
}

async function makeClient({ network, url, timeoutMs }: {
  readonly network: string;
  readonly url: unknown;
  readonly timeoutMs: number;
}): Promise<CheckedClient> {
  const { getJsonRpcFullnodeUrl, JsonRpcHTTPTransport, SuiJsonRpcClient } =
    await import("@mysten/sui/jsonRpc").catch(packageMissing);
  const known = PUBLIC_NETWORKS.find((name) => name === network);
  const found = url ??
    (known === undefined ? undefined : getJsonRpcFullnodeUrl(known));
  if (typeof found !== "string" || !URL.canParse(found)) {
    throw optionFault(
      `the address of the ledger on ${
        quote(network)
      } is not known; give rpcUrl`,
    );
  }
  return new SuiJsonRpcClient({
    network: known ?? LOCAL_NETWORK,
    transport: new JsonRpcHTTPTransport({
      url: found,
      fetch: (input, init) => {
        const limit = AbortSignal.timeout(timeoutMs);
        const signal = init?.signal
          ? AbortSignal.any([init.signal, limit])
          : limit;
        return fetch(input, { ...init, signal });
      },
    }),
  });
}
