/**
 * Reads and makes files with an account and the private key of one of its
 * delegates.
 *
 * @module
 */

import { dirname } from "node:path";
import { syncFolder, writeDurableFile } from "../../shared/data_file.ts";
import { ifThere } from "../../shared/missing_file.ts";
import { type Credentials, readCredentialsText } from "./credentials_text.ts";
import { readSecretFile } from "./secret_file.ts";

/**
 * Reads a file of credentials.
 *
 * @throws {Error} when it cannot be read, others may read it, or it is not of
 * that form; never shows what it holds
 */
export async function readCredentials(path: string): Promise<Credentials> {
  const text = await readSecretFile(path, "credentials");
  return readCredentialsText(text, path);
}

/**
 * Makes a file of credentials that only its owner may read, durably. A reader
 * sees no file, or all of it.
 *
 * @returns Whether it was made; false when there is one already.
 */
export async function makeCredentials(
  path: string,
  { key, accountId }: Credentials,
): Promise<boolean> {
  const json = { version: 1, accountId, delegatePrivateKey: key };
  const bytes = new TextEncoder().encode(`${JSON.stringify(json, null, 2)}\n`);
  const whole = `${path}.${crypto.randomUUID()}`;
  await writeDurableFile(whole, bytes);
  try {
    await Deno.link(whole, path);
    await syncFolder(dirname(path));
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return false;
    throw error;
  } finally {
    await Deno.remove(whole);
  }
}

/**
 * Returns the account and key of a folder; makes folder and key with the first
 * use. Processes that do so at once get the same key. The account's id follows
 * from the key, so that both are known before the memory is open.
 *
 * @throws {Error} when they cannot be read or made
 */
export async function localCredentials(folder: string): Promise<Credentials> {
  const path = `${folder}/client.json`;
  if (await ifThere(Deno.lstat(path)) === undefined) {
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
