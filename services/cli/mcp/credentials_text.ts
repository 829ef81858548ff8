/**
 * The text of files with an account and the private key of one of its
 * delegates, in the form of the existing relayer's stdio package
 * (`~/.memwal/credentials.json`).
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";

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
 * Reads the text of such a file.
 *
 * @param path The file, for errors.
 * @throws {Error} when it is not of that form; never shows what it holds
 */
export function readCredentialsText(text: string, path: string): Credentials {
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

function unusable(path: string, reason: string): Error {
  return new Error(
    `Cannot use the credentials in ${quote(path)}: ${reason}; make them ` +
      "again, or name another file",
  );
}
