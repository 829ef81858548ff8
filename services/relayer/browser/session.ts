/**
 * The key that the page acts with. It is held in the memory of the page, and
 * kept for a reload only where the owner asks for that; no request has it.
 *
 * @module
 */

import { Mem } from "../../../mod.ts";

/** What an owner signs in with. */
export interface Credentials {
  /** The private key of a delegate, in any form that the SDK reads. */
  readonly key: string;
  /** The account that the key acts for. */
  readonly accountId: string;
}

/** A client that acts with a key that the relayer knows. */
export interface Session {
  /** The client. */
  readonly mem: Mem;
  /** The account that the key acts for. */
  readonly accountId: string;
  /** Address of the owner. */
  readonly owner: string;
  /** The public key, 64 hexadecimal digits. */
  readonly publicKey: string;
}

/** The entry of the tab's storage that has the credentials. */
const KEPT = "tercet.relayer.key";

/**
 * Opens a session: the relayer is asked whether it knows the key.
 *
 * @throws {TypeError} When key or account do not have their form.
 * @throws {MemError} When the relayer cannot be reached, or refuses the key.
 */
export async function openSession(
  { key, accountId }: Credentials,
): Promise<Session> {
  const mem = Mem.create({
    ...{ key, accountId },
    serverUrl: location.origin,
    ranking: "fused",
  });
  try {
    const { owner, account_id } = await mem.whoami();
    const publicKey = await mem.getPublicKeyHex();
    return { mem, owner, publicKey, accountId: account_id };
  } catch (error) {
    mem.destroy();
    throw error;
  }
}

/** Keeps credentials until the tab is closed. */
export function keepCredentials(credentials: Credentials): void {
  sessionStorage.setItem(KEPT, JSON.stringify(credentials));
}

/** The credentials that are kept, if any. */
export function keptCredentials(): Credentials | undefined {
  const text = sessionStorage.getItem(KEPT);
  if (text === null) return undefined;
  const { key, accountId } = Object(JSON.parse(text));
  return typeof key === "string" && typeof accountId === "string"
    ? { key, accountId }
    : undefined;
}

/** Keeps no credentials any longer. */
export function dropCredentials(): void {
  sessionStorage.removeItem(KEPT);
}
