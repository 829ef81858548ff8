/**
 * Ids and addresses of the ledger: 32 bytes, written as `0x` and hexadecimal
 * digits, and what accounts are called there.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { addressOfKey } from "../../shared/ledger/ed25519.ts";

/** The module and the name of the type that accounts have on the public ledger. */
export const ACCOUNT_TYPE = "account::MemWalAccount";

const ID = /^(?:0x)?([0-9a-f]{1,64})$/i;
const PUBLIC_KEY = /^(?:0x)?([0-9a-f]{64})$/i;

/**
 * An id in its normal form: `0x` and 64 lower-case digits. Leading zeros may be
 * left out, as may the prefix; case does not matter.
 *
 * @returns undefined when it is no id
 */
export function normalizeLedgerId(text: string): string | undefined {
  const digits = ID.exec(text)?.[1];
  if (digits === undefined) return undefined;
  // By way of bytes, so that nothing keeps the text it was a part of in memory.
  return `0x${Buffer.from(digits.padStart(64, "0"), "hex").toString("hex")}`;
}

/**
 * A public key in its normal form: 64 lower-case digits.
 *
 * @returns undefined when it is no key of 32 bytes
 */
export function normalizePublicKey(text: string): string | undefined {
  const digits = PUBLIC_KEY.exec(text)?.[1];
  return digits === undefined
    ? undefined
    : Buffer.from(digits, "hex").toString("hex");
}

/**
 * The address of an Ed25519 key: BLAKE2b-256 over a flag and the key.
 *
 * @throws {TypeError} when it is no key of 32 bytes
 */
export function addressOfPublicKey(publicKey: string): string {
  const digits = normalizePublicKey(publicKey);
  if (digits === undefined) {
    throw new TypeError(
      "Cannot derive address: the public key is not 64 hexadecimal digits",
    );
  }
  return addressOfKey(Buffer.from(digits, "hex"));
}
