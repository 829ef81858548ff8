/**
 * A program that uses the SDK's account functions as an owner would, in any
 * JavaScript runtime: it uses nothing of Deno and imports only types.
 *
 * @module
 */

/** The modules of the SDK that the program uses. */
export interface AccountModules {
  /** The module with the account functions. */
  readonly account: typeof import("../../sdk/account.ts");
  /** The module with the client. */
  readonly base: Pick<typeof import("../../mod.ts"), "Mem">;
}

/** The expected result of the program. */
export const WANTED_LIFE = {
  namespaces: [],
  whileOff: 401,
  afterwards: 401,
  again: "ACCOUNT_EXISTS",
};

/**
 * Creates an account and a delegate that makes requests to the relayer,
 * deactivates and reactivates the account, and removes the delegate.
 */
export async function accountRoundTrip(
  { account, base }: AccountModules,
  { serverUrl }: { readonly serverUrl: string },
): Promise<unknown> {
  const { privateKey, publicKey } = await account.generateDelegateKey();
  const owner = {
    key: "01".repeat(32),
    ledgerNetwork: "localnet",
    serverUrl,
  };
  const { accountId } = await account.createAccount(owner);
  const own = { ...owner, accountId };
  await account.addDelegateKey({ ...own, publicKey, label: "laptop" });
  const mem = base.Mem.create({ key: privateKey, accountId, serverUrl });
  const fetchStatus = () => mem.stats().then(() => 200, ({ status }) => status);
  await account.deactivateAccount(own);
  const whileOff = await fetchStatus();
  await account.reactivateAccount(own);
  const { namespaces } = await mem.listNamespaces();
  await account.removeDelegateKey({ ...own, publicKey });
  const afterwards = await fetchStatus();
  mem.destroy();
  const again = await account.createAccount(owner)
    .then(() => "made", ({ code }) => code);
  return { namespaces, whileOff, afterwards, again };
}
