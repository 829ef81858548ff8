/**
 * What an owner does with the account functions, in any runtime. Nothing here is of
 * Deno, and nothing is imported but types.
 *
 * @module
 */

/** The modules that are tried. */
export interface AccountModules {
  /** The account functions. */
  readonly account: typeof import("../../sdk/account.ts");
  /** The client. */
  readonly base: Pick<typeof import("../../mod.ts"), "Mem">;
}

/** What it must give. */
export const WANTED_LIFE = {
  namespaces: [],
  whileOff: 401,
  afterwards: 401,
  again: "ACCOUNT_EXISTS",
};

/**
 * Makes an account and a delegate that asks the relayer, switches the account off and on,
 * and takes the delegate away.
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
  const statusOf = () => mem.stats().then(() => 200, ({ status }) => status);
  await account.deactivateAccount(own);
  const whileOff = await statusOf();
  await account.reactivateAccount(own);
  const { namespaces } = await mem.listNamespaces();
  await account.removeDelegateKey({ ...own, publicKey });
  const afterwards = await statusOf();
  mem.destroy();
  const again = await account.createAccount(owner)
    .then(() => "made", ({ code }) => code);
  return { namespaces, whileOff, afterwards, again };
}
