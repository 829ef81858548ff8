/**
 * Options of the account functions. No type here comes from `@mysten/sui`, so
 * that the declarations of `./account` can be used without that package.
 *
 * @module
 */

/** A client of `@mysten/sui` 2: `SuiJsonRpcClient`, `SuiGrpcClient` or another one. */
export interface LedgerClient {
  /** What clients of every transport have in common. */
  readonly core: object;
}

/**
 * A connected wallet: it signs and sends transactions, and never gives out its
 * key.
 */
export interface AccountWallet {
  /** The wallet's address. */
  readonly address: string;
  /**
   * Signs and sends a transaction. The input holds an object of the class
   * `Transaction` of `@mysten/sui` 2; an implementation may declare its
   * parameter with that type.
   */
  signAndExecuteTransaction(
    input: { readonly transaction: unknown },
  ): Promise<{ readonly digest: string }>;
}

/**
 * Options of every account function. Either `key` or `walletSigner` is needed.
 */
export interface AccountOptions {
  /**
   * The owner's private key: hexadecimal, `suiprivkey…` or 32 bytes.
   *
   * @default none
   */
  readonly key?: string | Uint8Array | undefined;
  /**
   * Alias of `key`.
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
   * Alias of `ledgerNetwork`.
   *
   * @default none
   */
  readonly suiNetwork?: string | undefined;
  /**
   * The id of the package with the accounts' contract.
   *
   * @default what the relayer at `serverUrl` says, on the network `localnet` only: what
   * an owner signs elsewhere may cost money
   */
  readonly packageId?: string | undefined;
  /**
   * The object id of the registry of accounts.
   *
   * @default as `packageId`
   */
  readonly registryId?: string | undefined;
  /**
   * The URL of the ledger's JSON-RPC interface.
   *
   * @default on `localnet` what the relayer says, elsewhere the network's public node
   */
  readonly rpcUrl?: string | undefined;
  /**
   * The client that sends requests to the ledger.
   *
   * @default a client that is made for `rpcUrl`
   */
  readonly suiClient?: LedgerClient | undefined;
  /**
   * The URL of the relayer.
   *
   * @default none
   */
  readonly serverUrl?: string | undefined;
  /**
   * Timeout in milliseconds of each request, and of the wait until a sent
   * transaction appears on the ledger.
   *
   * @default {30000}
   */
  readonly timeoutMs?: number | undefined;
}
