/**
 * The key that the page acts with. It is held in the memory of the page, and
 * kept by the browser only where the owner asks for that; no request has it.
 *
 * @module
 */

import { Mem, type MemConfig, MemError } from "../../../mod.ts";
import {
  importSeed,
  signWithKey,
  subtleCrypto,
} from "../../../sdk/memory/cryptography.ts";
import { parsePrivateKey } from "../../../sdk/memory/private_key.ts";
import { dropKey, keepKey, keptKey } from "./key_store.ts";

/** What an owner signs in with. */
export interface Credentials {
  /** The private key of a delegate, in any form that the SDK reads. */
  readonly key: string;
  /** The account that the key acts for. */
  readonly accountId: string;
  /** Whether the browser keeps the key. */
  readonly isKept: boolean;
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

/**
 * Opens a session with a key that the owner has pasted. The relayer is asked
 * whether it knows the key before the browser keeps it.
 *
 * @throws {TypeError} When key or account do not have their form.
 * @throws {Error} When the key should be kept and this browser cannot do so.
 * @throws {MemError} When the relayer cannot be reached, or refuses the key.
 */
export async function openSession(
  { key, accountId, isKept }: Credentials,
): Promise<Session> {
  const session = await open({ key, accountId });
  if (!isKept) return session;
  try {
    const seed = parsePrivateKey(key);
    const { publicKey, signingKey } = await importSeed(seed);
    seed.fill(0);
    if (signingKey === undefined) {
      throw new Error(
        "Cannot keep the key: this browser has no Ed25519; go on without",
      );
    }
    await keepKey({ accountId, publicKey, signingKey });
    return session;
  } catch (error) {
    session.mem.destroy();
    throw error;
  }
}

/**
 * Opens a session with the key that the browser keeps; undefined when there is
 * none.
 *
 * @throws {MemError} When the relayer cannot be reached, or refuses the key.
 */
export async function openKept(): Promise<Session | undefined> {
  const [kept, subtle] = [await keptKey(), subtleCrypto()];
  if (kept === undefined || subtle === undefined) return undefined;
  const { accountId, publicKey, signingKey } = kept;
  const { sign } = signWithKey(signingKey, subtle);
  try {
    return await open({ accountId, key: { publicKey, sign } });
  } catch (error) {
    // A key that was removed is of no use any longer.
    if (error instanceof MemError && error.status === 401) await dropKey();
    throw error;
  }
}

/** Ends a session, and the browser keeps its key no longer. */
export async function closeSession({ mem }: Session): Promise<void> {
  mem.destroy();
  await dropKey();
}

async function open(
  config: Pick<MemConfig, "key" | "accountId">,
): Promise<Session> {
  const mem = Mem.create({
    ...config,
    serverUrl: location.origin,
    ranking: "fused",
  });
  try {
    const { owner, account_id: accountId } = await mem.whoami();
    const publicKey = await mem.getPublicKeyHex();
    return { mem, owner, publicKey, accountId };
  } catch (error) {
    mem.destroy();
    throw error;
  }
}
