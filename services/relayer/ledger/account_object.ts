/**
 * Reads accounts out of what a full node gives.
 *
 * @module
 */

import { ACCOUNT_TYPE } from "./ledger_object.ts";
import type { Account, AccountOutcome, DelegateKey } from "./ledger.ts";
import { addressOfPublicKey, normalizeLedgerId } from "./ledger_id.ts";

/** Options of {@linkcode readAccountObject}. */
export interface ReadAccountOptions {
  /** The id that was asked for, in its normal form. */
  readonly accountId: string;
  /** The package whose module accounts are of, in its normal form. */
  readonly packageId: string;
}

/** Keys beyond these are not read; the ledger allows far fewer. */
const MAX_KEYS = 1_000;

/**
 * Reads the result of asking for an object. An object of another package counts
 * as missing: anybody can publish one whose fields name any owner and any keys.
 */
export function readAccountObject(
  result: unknown,
  options: ReadAccountOptions,
): AccountOutcome {
  const error = member(result, "error");
  if (error !== undefined && error !== null) return outcomeOfError(error);
  const data = member(result, "data");
  const content = member(data, "content");
  if (content === undefined) return broken("it has no content");
  if (idOf(member(data, "objectId")) !== options.accountId) {
    return broken("it is another object than the one asked for");
  }
  if (!isAccountType(member(content, "type"), options.packageId)) {
    return { kind: "missing" };
  }
  const fields = member(content, "fields");
  const owner = idOf(member(fields, "owner"));
  const keys = member(fields, "delegate_keys");
  if (owner === undefined) return broken("it has no owner");
  if (!Array.isArray(keys)) return broken("it has no keys");
  const active = member(fields, "active");
  const account: Account = {
    accountId: options.accountId,
    owner,
    // Early accounts have no such field.
    isActive: active === undefined || active === true,
    delegateKeys: keys.slice(0, MAX_KEYS).flatMap(keysOf),
  };
  return { kind: "ok", account };
}

/** A member of what may be no object at all. */
export function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null &&
      Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}

function outcomeOfError(error: unknown): AccountOutcome {
  const code = member(error, "code");
  return code === "notExists" || code === "deleted"
    ? { kind: "missing" }
    : { kind: "unavailable", reason: `the ledger gives error "${code}"` };
}

/** `0x…::account::…`, the package's id in any spelling. */
function isAccountType(type: unknown, packageId: string): boolean {
  if (typeof type !== "string") return false;
  const at = type.indexOf("::");
  return type.slice(at + 2) === ACCOUNT_TYPE &&
    normalizeLedgerId(type.slice(0, at)) === packageId;
}

/** None when it cannot be read: a key that is not understood lets nobody in. */
function keysOf(entry: unknown): readonly DelegateKey[] {
  const fields = member(entry, "fields") ?? entry;
  const bytes = member(fields, "public_key");
  if (!Array.isArray(bytes) || bytes.length !== 32 || !bytes.every(isByte)) {
    return [];
  }
  const publicKey = Uint8Array.from(bytes).toHex();
  const label = member(fields, "label");
  return [{
    publicKey,
    address: idOf(member(fields, "sui_address")) ??
      addressOfPublicKey(publicKey),
    label: typeof label === "string" ? label : "",
  }];
}

function isByte(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 255;
}

function idOf(value: unknown): string | undefined {
  return typeof value === "string" ? normalizeLedgerId(value) : undefined;
}

function broken(state: string): AccountOutcome {
  return { kind: "unavailable", reason: `cannot read the object: ${state}` };
}
