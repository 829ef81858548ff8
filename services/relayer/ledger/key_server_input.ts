/**
 * Reads and validates the key servers that an operator names, before they
 * become objects of the ledger that clients rely on.
 *
 * @module
 */

import { withoutSlash } from "../remote/http_call.ts";
import type { KeyServerInput } from "./account_rows.ts";

/** The outcome of reading a key server. */
type KeyServerOutcome =
  | { readonly kind: "ok"; readonly server: KeyServerInput }
  | { readonly kind: "invalid"; readonly reason: string };

/** Most characters of a name or a URL. */
const MAX_CHARS = 1_024;

/**
 * Validates a key server. The check of its public key needs the arithmetic of
 * the curve, whose module is loaded only here.
 *
 * @param publicKey 192 hexadecimal digits, with or without `0x`.
 */
export async function readKeyServer(
  { name, url, publicKey: digits }: {
    readonly name: string;
    readonly url: string;
    readonly publicKey: string;
  },
): Promise<KeyServerOutcome> {
  const { protocol } = URL.parse(url) ?? { protocol: "" };
  if (protocol !== "http:" && protocol !== "https:") {
    return invalid("its address is not an http or https URL");
  }
  if (name.length > MAX_CHARS || url.length > MAX_CHARS) {
    return invalid(`name and URL have at most ${MAX_CHARS} characters each`);
  }
  if (!/^(?:0x)?[0-9a-fA-F]{192}$/.test(digits)) {
    return invalid("its public key is not 192 hexadecimal digits");
  }
  const publicKey = Uint8Array.fromHex(digits.replace(/^0x/, ""));
  const { readG2 } = await import("../../../sdk/vault/curve.ts");
  return readG2(publicKey) === undefined
    ? invalid("its public key is no point that keys can have")
    : { kind: "ok", server: { name, url: withoutSlash(url), publicKey } };
}

/**
 * Reads a list of `<url>=<public key>`; the last `=` parts the two.
 *
 * @throws {Error} when a key server is invalid
 */
export async function readKeyServers(
  texts: readonly string[],
): Promise<readonly KeyServerInput[]> {
  return await Promise.all(texts.map(async (text, at) => {
    const mark = text.lastIndexOf("=");
    const read = await readKeyServer({
      name: `key server ${at + 1}`,
      url: text.slice(0, Math.max(mark, 0)),
      publicKey: text.slice(mark + 1),
    });
    if (read.kind === "ok") return read.server;
    throw new Error(`${read.reason} (KEY_SERVERS)`);
  }));
}

/** A key server, as `/config` shows it to clients. */
export interface ToldKeyServer {
  /**
   * The id of the key server's object on the ledger, which follows from its
   * public key.
   */
  readonly objectId: string;
  /** The key server's URL. */
  readonly url: string;
  /** The key server's public key, 192 hexadecimal digits. */
  readonly publicKey: string;
  /** How many shares the key server counts for. */
  readonly weight: 1;
}

/**
 * Reads the key servers of a list of `<url>=<public key>`, in the form for
 * clients.
 *
 * @throws {Error} when a key server is invalid
 */
export async function toldKeyServers(
  texts: readonly string[],
): Promise<readonly ToldKeyServer[]> {
  if (texts.length === 0) return [];
  const { deriveKeyServerId } = await import(
    "../../../sdk/vault/identity_encryption.ts"
  );
  return (await readKeyServers(texts)).map(({ url, publicKey }) => {
    const objectId = deriveKeyServerId(publicKey);
    return { objectId, url, publicKey: publicKey.toHex(), weight: 1 };
  });
}

/**
 * Returns how many key servers are needed to decrypt: the setting, or two, or
 * as many as there are where it is fewer.
 */
export function resolveKeyServerThreshold(
  { keyServers, keyServerThreshold }: {
    readonly keyServers: readonly string[];
    readonly keyServerThreshold: number;
  },
): number {
  return keyServerThreshold || Math.min(2, keyServers.length);
}

function invalid(state: string): KeyServerOutcome {
  return { kind: "invalid", reason: `Cannot use key server: ${state}` };
}
