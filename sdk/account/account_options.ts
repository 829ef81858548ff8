/**
 * What the account functions take. Nothing here names a type of `@mysten/sui`, so that
 * the declarations of `./account` are whole without it.
 *
 * @module
 */

/** A client of `@mysten/sui` 2: `SuiJsonRpcClient`, `SuiGrpcClient` or another one. */
export interface LedgerClient {
  /** What clients of every transport have in common. */
  readonly core: object;
}

/** A wallet that is connected: it signs and sends, and keeps its key to itself. */
export interface AccountWallet {
  /** The wallet's address. */
  readonly address: string;
  /**
   * Has a transaction signed and sent. It gets an object of the class `Transaction` of
   * `@mysten/sui` 2; its parameter may be declared so.
   */
  signAndExecuteTransaction(
    input: { readonly transaction: unknown },
  ): Promise<{ readonly digest: string }>;
}

/** What every account function takes. One of `key` and `walletSigner` is needed. */
export interface AccountOptions {
  /**
   * The owner's private key: hexadecimal, `suiprivkey…` or 32 bytes.
   *
   * @default none
   */
  readonly key?: string | Uint8Array | undefined;
  /**
   * Another name of `key`.
   *
   * @default none
   */
  readonly suiPrivateKey?: string | Uint8Array | undefined;
  /**
   * The owner's wallet.
   *
   * @default none
   */
  readonly walletSigner?: AccountWallet | undefined;
  /**
   * The ledger's network.
   *
   * @default {"mainnet"}
   */
  readonly ledgerNetwork?: string | undefined;
  /**
   * Another name of `ledgerNetwork`.
   *
   * @default none
   */
  readonly suiNetwork?: string | undefined;
  /**
   * The package of the accounts' contract.
   *
   * @default what the relayer at `serverUrl` says, on the network `localnet` only: what
   * an owner signs elsewhere may cost money
   */
  readonly packageId?: string | undefined;
  /**
   * The registry of accounts.
   *
   * @default as `packageId`
   */
  readonly registryId?: string | undefined;
  /**
   * Where the ledger takes JSON-RPC.
   *
   * @default on `localnet` what the relayer says, elsewhere the network's public node
   */
  readonly rpcUrl?: string | undefined;
  /**
   * The client to ask the ledger with.
   *
   * @default one that is made for `rpcUrl`
   */
  readonly suiClient?: LedgerClient | undefined;
  /**
   * The relayer.
   *
   * @default none
   */
  readonly serverUrl?: string | undefined;
  /**
   * Milliseconds for each request that is made, and for a sent transaction to be seen.
   *
   * @default {30000}
   */
  readonly timeoutMs?: number | undefined;
}
