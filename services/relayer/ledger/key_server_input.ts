/**
 * Key servers as operators name them, checked before they become objects of the
 * ledger that clients rely on.
 *
 * @module
 */

import { withoutSlash } from "../remote/http_call.ts";
import type { KeyServerInput } from "./local_ledger.ts";

/** The outcome of reading a key server. */
type KeyServerOutcome =
  | { readonly kind: "ok"; readonly server: KeyServerInput }
  | { readonly kind: "invalid"; readonly reason: string };

/** Most characters of a name or a URL. */
const MAX_CHARS = 1_024;

/**
 * Reads a key server. Whether its key is one takes the arithmetic of its curve,
 * which is loaded only here.
 *
 * @param publicKey 192 hexadecimal digits, with `0x` or without.
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
    return invalid("its address is no http or https URL");
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

/** Reads a list of `<url>=<public key>`; the last `=` parts the two. */
export async function readKeyServers(
  texts: readonly string[],
): Promise<readonly KeyServerOutcome[]> {
  return await Promise.all(texts.map((text, at) => {
    const mark = text.lastIndexOf("=");
    return readKeyServer({
      name: `key server ${at + 1}`,
      url: text.slice(0, Math.max(mark, 0)),
      publicKey: text.slice(mark + 1),
    });
  }));
}

/** A key server as `/config` tells clients of it. */
export interface ToldKeyServer {
  /** Its object on the ledger, which follows from its public key. */
  readonly objectId: string;
  /** Where it answers. */
  readonly url: string;
  /** Its public key, 192 hexadecimal digits. */
  readonly publicKey: string;
  /** How many shares it stands for. */
  readonly weight: 1;
}

/**
 * Key servers of a list of `<url>=<public key>`, to tell clients of.
 *
 * @throws {Error} when one cannot be used
 */
export async function toldKeyServers(
  texts: readonly string[],
): Promise<readonly ToldKeyServer[]> {
  if (texts.length === 0) return [];
  const { keyServerIdOf } = await import(
    "../../../sdk/vault/identity_encryption.ts"
  );
  return (await readKeyServers(texts)).map((read) => {
    if (read.kind === "invalid") {
      throw new Error(`${read.reason} (KEY_SERVERS)`);
    }
    const { url, publicKey } = read.server;
    const objectId = keyServerIdOf(publicKey);
    return { objectId, url, publicKey: publicKey.toHex(), weight: 1 };
  });
}

/** How many shares are needed: as set, or two, or one where there is but one. */
export function keyServerThresholdOf(
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
