/**
 * What the relayer tells everyone of itself, and what its ledger tells of an
 * account.
 *
 * @module
 */

/** The parts of `/config` that the page shows or uses. */
export interface RelayerConfig {
  /** The package with the contract of accounts. */
  readonly packageId: string;
  /** The ledger's network. */
  readonly network: string;
  /** Where the ledger answers JSON-RPC, if it does. */
  readonly suiRpcUrl?: string;
  /** The key servers; absent where the relayer uses keys of its own. */
  readonly keyServers?: readonly unknown[];
  /** How many of them open a memory. */
  readonly keyServerThreshold?: number;
}

/** A key that may act for an account. */
export interface DelegateEntry {
  /** What its owner calls it; empty for nothing. */
  readonly label: string;
  /** 64 hexadecimal digits. */
  readonly publicKey: string;
  /** When it was added, in milliseconds since the Unix epoch. */
  readonly createdMs: number | undefined;
}

/**
 * Asks the relayer for its configuration.
 *
 * @throws {Error} When it does not answer.
 */
export async function readConfig(): Promise<RelayerConfig> {
  return await askJson("/config");
}

/**
 * Asks the ledger which keys may act for an account.
 *
 * @throws {Error} When the ledger does not answer, or knows no such account.
 */
export async function readDelegates(
  { suiRpcUrl }: RelayerConfig,
  accountId: string,
): Promise<readonly DelegateEntry[]> {
  if (suiRpcUrl === undefined) {
    throw new Error(
      "Cannot list keys: the relayer does not say where its ledger answers",
    );
  }
  const { result } = await askJson<{
    readonly result?: {
      readonly data?: {
        readonly content?: {
          readonly fields?: { readonly delegate_keys?: readonly unknown[] };
        };
      };
    };
  }>(suiRpcUrl, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "sui_getObject",
      params: [accountId, { showContent: true }],
    }),
  });
  const keys = result?.data?.content?.fields?.delegate_keys;
  if (keys === undefined) {
    throw new Error("Cannot list keys: the ledger does not show the account");
  }
  return keys.map(readDelegate);
}

function readDelegate(entry: unknown): DelegateEntry {
  const fields = Object(Object(entry).fields ?? entry);
  const bytes: readonly unknown[] = Array.isArray(fields.public_key)
    ? fields.public_key
    : [];
  const createdMs = Number(fields.created_at);
  return {
    label: String(fields.label ?? ""),
    publicKey: bytes.map((byte) => Number(byte).toString(16).padStart(2, "0"))
      .join(""),
    createdMs: createdMs > 0 ? createdMs : undefined,
  };
}

async function askJson<T>(url: string, init?: RequestInit): Promise<T> {
  const response = await fetch(url, init);
  if (response.ok) return await response.json();
  throw new Error(`Cannot read ${url}: status ${response.status}`);
}
