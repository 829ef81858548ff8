/**
 * An owner's key as it is stored. Its encrypted half says in the clear whose it
 * is, for which key servers, and when it was made.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { BcsReader, BcsWriter } from "../../../sdk/vault/bcs.ts";
import {
  readEncryptedObject,
  type SealedData,
} from "../../../sdk/vault/encrypted_object.ts";

/** An owner's key as it is stored. */
export interface KeptOwnerKey {
  /** The SHA-256 of `encrypted`, in hexadecimal digits. */
  readonly id: string;
  /** Its private half, encrypted for the key servers. */
  readonly encrypted: Uint8Array;
  /** Its public half, 32 bytes. */
  readonly publicKey: Uint8Array;
  /** The id of a newer key, and the private half wrapped under that key. */
  readonly link?:
    | { readonly newerId: string; readonly wrapped: Uint8Array }
    | undefined;
}

/** An owner's key, with data read from its encrypted private half. */
export interface DatedKey extends KeptOwnerKey {
  /** How often access was taken from a delegate before; see the ledger. */
  readonly accessCounter: bigint | undefined;
  /** When it was made, in milliseconds since the epoch; 0 if unknown. */
  readonly madeAtMs: number;
  /** The package, the key servers and how many of them are needed, as a text. */
  readonly audience: string;
}

const OWNER_BYTES = 32;
const COUNTER_BYTES = 8;

/** The id of an owner's key. */
export function ownerKeyId(encrypted: Uint8Array): string {
  return createHash("sha256").update(encrypted).digest("hex");
}

/**
 * The identity in the key servers' encoding: owner's address, access counter.
 */
export function buildIdentity(
  owner: string,
  accessCounter: bigint | undefined,
): Uint8Array {
  const writer = new BcsWriter().address(owner);
  return (accessCounter === undefined ? writer : writer.u64(accessCounter))
    .toBytes();
}

/** Tells whether an identity is one of that owner. */
export function isIdentityOf(owner: string, id: Uint8Array): boolean {
  return (id.length === OWNER_BYTES ||
    id.length === OWNER_BYTES + COUNTER_BYTES) &&
    new BcsReader(id).address() === owner;
}

/** Reads a stored key's encrypted half; an empty array if it is malformed. */
export function datedKey(key: KeptOwnerKey): readonly DatedKey[] {
  const read = readEncryptedObject(key.encrypted);
  if (read.kind === "invalid") return [];
  const { id, ciphertext, packageId, services, threshold } = read.object;
  const keyServerIds = services.map(({ objectId }) => objectId);
  const audience = formatAudience({ packageId, keyServerIds, threshold });
  const reader = new BcsReader(id.subarray(OWNER_BYTES));
  const accessCounter = id.length === OWNER_BYTES ? undefined : reader.u64();
  const madeAtMs = readMadeAt(ciphertext);
  return [{ ...key, accessCounter, madeAtMs, audience }];
}

/** Names whom a key is encrypted for, as a text to compare. */
export function formatAudience(
  { packageId, keyServerIds, threshold }: {
    /** The package whose function decides who gets keys. */
    readonly packageId: string;
    /** Object ids of the key servers, in any order. */
    readonly keyServerIds: readonly string[];
    /** How many of them are needed. */
    readonly threshold: number;
  },
): string {
  return [packageId, threshold, ...keyServerIds.toSorted()].join(" ");
}

/**
 * When a key was made according to its additional data; 0 if that is absent.
 */
function readMadeAt(sealed: SealedData): number {
  const aad = sealed.kind === "plain" ? undefined : sealed.aad;
  return aad?.length === COUNTER_BYTES ? Number(new BcsReader(aad).u64()) : 0;
}
