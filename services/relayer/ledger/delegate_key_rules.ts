/**
 * What the ledger takes as a key and as its label.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { isSmallOrderKey } from "../auth/signature.ts";
import type { DelegateKey } from "./ledger.ts";
import { addressOfPublicKey, normalizePublicKey } from "./ledger_id.ts";

/** Most keys of an account. */
export const MAX_DELEGATE_KEYS = 20;
/** Most bytes of a label. */
export const MAX_LABEL_BYTES = 64;

/** A key as somebody gives it. */
export interface DelegateKeyInput {
  /** The public key, 64 hexadecimal digits, with `0x` or without. */
  readonly publicKey: string;
  /** What its owner calls it, at most 64 bytes. */
  readonly label: string;
}

/** What reading a key comes to. */
export type DelegateKeyOutcome =
  | { readonly kind: "ok"; readonly key: DelegateKey }
  | { readonly kind: "invalid"; readonly message: string };

/** Reads a key. */
export function readDelegateKey(input: DelegateKeyInput): DelegateKeyOutcome {
  const publicKey = normalizePublicKey(input.publicKey);
  if (publicKey === undefined) {
    return invalid("the public key is not 64 hexadecimal digits");
  }
  if (isSmallOrderKey(Buffer.from(publicKey, "hex"))) {
    return invalid("anybody can sign for this public key");
  }
  const { label } = input;
  if (!label.isWellFormed() || /\p{Cc}/u.test(label)) {
    return invalid("the label has characters that cannot be shown");
  }
  const labelBytes = Buffer.byteLength(label);
  if (labelBytes > MAX_LABEL_BYTES) {
    return invalid(
      `the label has ${labelBytes} bytes, ${MAX_LABEL_BYTES} are the most`,
    );
  }
  const address = addressOfPublicKey(publicKey);
  return { kind: "ok", key: { publicKey, address, label } };
}

function invalid(state: string): DelegateKeyOutcome {
  return { kind: "invalid", message: `Cannot take delegate key: ${state}` };
}
