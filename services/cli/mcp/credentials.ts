/**
 * Files with an account and the private key of one of its delegates, in the
 * form of the existing relayer's stdio package (`~/.memwal/credentials.json`).
 *
 * @module
 */

import { dirname } from "node:path";
import { syncFolder, writeDurableFile } from "../../shared/data_file.ts";
import { quote } from "../../shared/quote.ts";
import { describeError } from "../../shared/settled.ts";

/** An account, and a key that may use it. */
export interface Credentials {
  /** The delegate's private key, hexadecimal. */
  readonly key: string;
  /** The account's id. */
  readonly accountId: string;
  /**
   * The relayer that the account is used at.
   *
   * @default the file names none
   */
  readonly relayerUrl?: string | undefined;
}

/**
 * Reads a file of credentials.
 *
 * @throws {Error} when it cannot be read, others may read it, or it is not of
 * that form; never shows what it holds
 */
export async function readCredentials(path: string): Promise<Credentials> {
  const text = await readSecretFile(path, "credentials");
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw unusable(path, "it is not JSON");
  }
  const { delegatePrivateKey: key, accountId, relayerUrl } = Object(json);
  if (typeof key !== "string" || key === "") {
    throw unusable(path, "it has no delegatePrivateKey");
  }
  if (typeof accountId !== "string" || accountId === "") {
    throw unusable(path, "it has no accountId");
  }
  const isUrl = typeof relayerUrl === "string" && relayerUrl !== "";
  return { key, accountId, ...(isUrl ? { relayerUrl } : {}) };
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
 * Reads a file that holds a secret, without the space around it.
 *
 * @param what What it holds, such as `key`, for errors.
 * @throws {Error} when it cannot be read, or others than its owner may read it
 */
export async function readSecretFile(
  path: string,
  what: string,
): Promise<string> {
  let text: string;
  let mode: number | null;
  try {
    ({ mode } = await Deno.stat(path));
    text = await Deno.readTextFile(path);
  } catch (error) {
    throw new Error(
      `Cannot read the ${what} in ${quote(path)}: ${describeError(error)}`,
    );
  }
  // Windows has no modes.
  if (mode !== null && Deno.build.os !== "windows" && (mode & 0o077) !== 0) {
    const shown = (mode & 0o777).toString(8);
    throw new Error(
      `Cannot use the ${what} in ${quote(path)}: others may read the file, ` +
        `its mode is ${shown}; run chmod 600 on it`,
    );
  }
  return text.trim();
}

function unusable(path: string, reason: string): Error {
  return new Error(
    `Cannot use the credentials in ${quote(path)}: ${reason}; make them ` +
      "again, or name another file",
  );
}
