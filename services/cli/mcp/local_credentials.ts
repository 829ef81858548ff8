/**
 * The account and key of a local memory. The account's id follows from the key,
 * so that both are known before the memory is open.
 *
 * @module
 */

import { makeCredentials, readCredentials } from "./credentials.ts";
import type { Credentials } from "./credentials_text.ts";

/**
 * Returns the account and key of a folder; makes folder and key with the first
 * use. Processes that do so at once get the same key.
 *
 * @throws {Error} when they cannot be read or made
 */
export async function localCredentials(folder: string): Promise<Credentials> {
  const path = `${folder}/client.json`;
  if (!await exists(path)) {
    await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
    // Loaded for the first use alone.
    const { generateDelegateKey } = await import("../../../sdk/account.ts");
    const { deriveAccountId, LOCAL_PACKAGE_ID } = await import(
      "../../shared/ledger/account_contract.ts"
    );
    const { privateKey: key, suiAddress } = await generateDelegateKey();
    const accountId = deriveAccountId(LOCAL_PACKAGE_ID, suiAddress);
    await makeCredentials(path, { key, accountId });
  }
  return await readCredentials(path);
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
