/**
 * The contract of accounts as pure functions: how a call changes an account, or
 * with which code it aborts. The embedded ledger executes calls with it and key
 * servers replay them with it, so both have the same accounts.
 *
 * @module
 */

import { addressBytes, BcsError, BcsReader } from "../../../sdk/vault/bcs.ts";
import { hexId, sha256 } from "./digest.ts";
import { addressOfKey, isSmallOrderKey, PUBLIC_KEY_BYTES } from "./ed25519.ts";
import type { MoveCall, TransactionInput } from "./transaction.ts";

/** The contract's module. */
export const ACCOUNT_MODULE = "account";
/** The package that the accounts are of unless another one is given. */
export const LOCAL_PACKAGE_ID =
  "0xc11a9b8583b607e291419bab05299f89f3beed6fbc79a78f158ea7bba51d1a28";
/** The object that tells the time. */
export const CLOCK_ID = `0x${"6".padStart(64, "0")}`;
/** Most keys of an account. */
export const MAX_DELEGATE_KEYS = 20;
/** Most bytes of a label. */
export const MAX_LABEL_BYTES = 64;

/** The codes with which a call of the contract aborts. */
export const AbortCode = {
  /** The key may speak for the account already. */
  keyExists: 0,
  /** There is no such key. */
  keyMissing: 1,
  /** The account has as many keys as it may have. */
  tooManyKeys: 2,
  /** The address has an account already. */
  accountExists: 3,
  /** Only the owner may do this. */
  notOwner: 4,
  /** The key has not 32 bytes, or everybody can sign under it. */
  badKey: 5,
  /** The account is switched off. */
  deactivated: 6,
  /** The label is too long. */
  labelTooLong: 10,
  /** The account is switched on already. */
  alreadyActive: 11,
  /** The sender may not decrypt under this identity. */
  noAccess: 100,
} as const;

/** One of {@linkcode AbortCode}. */
export type AbortCode = (typeof AbortCode)[keyof typeof AbortCode];

/** A key that may speak for an account. */
export interface DelegateKeyState {
  /** 64 hexadecimal digits, lower case. */
  readonly publicKey: string;
  /** Its address. */
  readonly address: string;
  /** What its owner calls it. */
  readonly label: string;
  /** When it was added, in milliseconds since the epoch. */
  readonly createdAtMs: number;
}

/** An account. */
export interface AccountState {
  /** Its id. */
  readonly accountId: string;
  /** The owner's address. */
  readonly owner: string;
  /** Whether it is switched on. */
  readonly isActive: boolean;
  /** When it was made, in milliseconds since the epoch. */
  readonly createdAtMs: number;
  /** Keys that may speak for it, in the order they were added. */
  readonly delegateKeys: readonly DelegateKeyState[];
  /**
   * Grows by one whenever access is withdrawn: a key is removed, or the account
   * switched off. Later encryption uses another identity.
   */
  readonly accessCounter: bigint;
}

/** A call of the contract. */
export type AccountCall =
  | { readonly kind: "create_account" }
  | {
    readonly kind: "add_delegate_key";
    readonly accountId: string;
    /** The key's bytes. */
    readonly publicKey: Uint8Array;
    /** What its owner calls it. */
    readonly label: string;
  }
  | {
    readonly kind: "remove_delegate_key";
    readonly accountId: string;
    /** The key's bytes. */
    readonly publicKey: Uint8Array;
  }
  | { readonly kind: "deactivate_account"; readonly accountId: string }
  | { readonly kind: "reactivate_account"; readonly accountId: string }
  /** Changes nothing: passes, or aborts. */
  | {
    readonly kind: "seal_approve";
    readonly accountId: string;
    /** The identity that the sender wants the key of. */
    readonly id: Uint8Array;
  };

/** An event that a call emits. */
export type AccountEvent =
  | {
    readonly kind:
      | "AccountCreated"
      | "AccountDeactivated"
      | "AccountReactivated";
  }
  | {
    readonly kind: "DelegateKeyAdded" | "DelegateKeyRemoved";
    /** The key. */
    readonly key: DelegateKeyState;
  };

/** The outcome of a call. */
type CallOutcome =
  | {
    readonly kind: "ok";
    /** The account as it is now. */
    readonly account: AccountState;
    /** Undefined when nothing was changed. */
    readonly event: AccountEvent | undefined;
  }
  | { readonly kind: "abort"; readonly code: AbortCode };

/** The outcome of a transaction's calls: all happen or none. */
type CallsOutcome =
  | {
    readonly kind: "ok";
    /** The sender's account as it is now. */
    readonly account: AccountState | undefined;
    /** The events it emits, in order. */
    readonly events: readonly AccountEvent[];
  }
  | {
    readonly kind: "abort";
    readonly code: AbortCode;
    /** Which call it was, from 0. */
    readonly at: number;
  };

/** Who calls, and when. */
interface CallContext {
  /** The package whose module the contract is. */
  readonly packageId: string;
  /** The sender's address. */
  readonly sender: string;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
}

/** The id of an owner's account: the same on every ledger with the package. */
export function deriveAccountId(packageId: string, owner: string): string {
  return hexId(sha256(`account ${packageId} ${owner}`));
}

/** The id of the object that lists the accounts by owner. */
export function deriveRegistryId(packageId: string): string {
  return hexId(sha256(`registry ${packageId}`));
}

/**
 * Executes the calls of a transaction. No sender can change the account of
 * another address, so only the sender's own is needed.
 *
 * @param account The sender's account; undefined when there is none.
 */
export function applyCalls(
  calls: readonly AccountCall[],
  options: CallContext & { readonly account: AccountState | undefined },
): CallsOutcome {
  let { account } = options;
  const events: AccountEvent[] = [];
  for (const [at, call] of calls.entries()) {
    const isOwn = call.kind === "create_account" ||
      call.accountId === account?.accountId;
    const outcome = isOwn
      ? applyCall(call, { ...options, account })
      : abort(AbortCode.notOwner);
    if (outcome.kind === "abort") return { ...outcome, at };
    account = outcome.account;
    if (outcome.event !== undefined) events.push(outcome.event);
  }
  return { kind: "ok", account, events };
}

/**
 * Executes one call.
 *
 * @param account The account that is called for; that of the sender's own
 * address where one is to be made. Undefined when there is none.
 */
export function applyCall(
  call: AccountCall,
  options: CallContext & { readonly account: AccountState | undefined },
): CallOutcome {
  const { account, sender } = options;
  if (call.kind === "create_account") {
    return account === undefined
      ? changed({ kind: "AccountCreated" }, newAccount(options))
      : abort(AbortCode.accountExists);
  }
  // The ledger itself refuses a call that names a missing object before this.
  if (account === undefined) return abort(AbortCode.notOwner);
  if (call.kind === "seal_approve") return approved(call.id, account, sender);
  if (account.owner !== sender) return abort(AbortCode.notOwner);
  switch (call.kind) {
    case "add_delegate_key":
      return keyAdded(call, account, options.nowMs);
    case "remove_delegate_key":
      return keyRemoved(call.publicKey, account);
    case "deactivate_account": {
      if (!account.isActive) return abort(AbortCode.deactivated);
      const off = switchedAccount(account, false);
      return changed({ kind: "AccountDeactivated" }, off);
    }
    case "reactivate_account": {
      if (account.isActive) return abort(AbortCode.alreadyActive);
      const on = switchedAccount(account, true);
      return changed({ kind: "AccountReactivated" }, on);
    }
  }
}

function abort(
  code: AbortCode,
): Extract<CallOutcome, { readonly kind: "abort" }> {
  return { kind: "abort", code };
}

function changed(event: AccountEvent, account: AccountState): CallOutcome {
  return { kind: "ok", account, event };
}

/** An account as it is when it was made. */
export function newAccount(
  { packageId, sender: owner, nowMs }: CallContext,
): AccountState {
  return {
    accountId: deriveAccountId(packageId, owner),
    owner,
    isActive: true,
    createdAtMs: nowMs,
    delegateKeys: [],
    accessCounter: 0n,
  };
}

/** An account after it was switched on, or off, which withdraws access. */
export function switchedAccount<State extends AccountState>(
  account: State,
  isActive: boolean,
): State {
  const withdrawn = isActive ? 0n : 1n;
  const accessCounter = account.accessCounter + withdrawn;
  return { ...account, isActive, accessCounter };
}

/** An account after a key of it was removed, which withdraws access. */
export function withoutKey<State extends AccountState>(
  account: State,
  key: DelegateKeyState,
): State {
  return {
    ...account,
    delegateKeys: account.delegateKeys.filter((one) => one !== key),
    accessCounter: account.accessCounter + 1n,
  };
}

function keyAdded(
  call: Extract<AccountCall, { readonly kind: "add_delegate_key" }>,
  account: AccountState,
  nowMs: number,
): CallOutcome {
  const { label } = call;
  if (!account.isActive) return abort(AbortCode.deactivated);
  if (
    call.publicKey.length !== PUBLIC_KEY_BYTES ||
    isSmallOrderKey(call.publicKey)
  ) {
    return abort(AbortCode.badKey);
  }
  if (new TextEncoder().encode(label).length > MAX_LABEL_BYTES) {
    return abort(AbortCode.labelTooLong);
  }
  if (account.delegateKeys.length >= MAX_DELEGATE_KEYS) {
    return abort(AbortCode.tooManyKeys);
  }
  const publicKey = call.publicKey.toHex();
  if (account.delegateKeys.some((known) => known.publicKey === publicKey)) {
    return abort(AbortCode.keyExists);
  }
  const address = addressOfKey(call.publicKey);
  const key = { publicKey, address, label, createdAtMs: nowMs };
  const delegateKeys = [...account.delegateKeys, key];
  return changed({ kind: "DelegateKeyAdded", key }, {
    ...account,
    delegateKeys,
  });
}

/** Removes a key, also of a deactivated account, so its owner can clean up. */
function keyRemoved(bytes: Uint8Array, account: AccountState): CallOutcome {
  const publicKey = bytes.toHex();
  const key = account.delegateKeys.find((one) => one.publicKey === publicKey);
  if (key === undefined) return abort(AbortCode.keyMissing);
  return changed({ kind: "DelegateKeyRemoved", key }, withoutKey(account, key));
}

function approved(
  id: Uint8Array,
  account: AccountState,
  sender: string,
): CallOutcome {
  if (!account.isActive) return abort(AbortCode.deactivated);
  const isKnown = account.owner === sender ||
    account.delegateKeys.some(({ address }) => address === sender);
  return isKnown && isIdentityOf(id, account)
    ? { kind: "ok", account, event: undefined }
    : abort(AbortCode.noAccess);
}

/** Bytes of the counter at the end of an identity. */
const COUNTER_BYTES = 8;

/**
 * Tells whether an identity belongs to an account: any bytes, then the owner's
 * address, then either nothing (older clients) or a counter that the account
 * has reached. A future counter is refused: otherwise a key fetched today would
 * decrypt what is encrypted after its holder was removed.
 */
export function isIdentityOf(
  id: Uint8Array,
  { owner, accessCounter }: Pick<AccountState, "owner" | "accessCounter">,
): boolean {
  const address = addressBytes(owner);
  if (endsWith(id, address)) return true;
  const at = id.length - COUNTER_BYTES;
  if (at < address.length || !endsWith(id.subarray(0, at), address)) {
    return false;
  }
  const counter = new DataView(id.buffer, id.byteOffset + at, COUNTER_BYTES)
    .getBigUint64(0, true);
  return counter <= accessCounter;
}

function endsWith(bytes: Uint8Array, end: Uint8Array): boolean {
  const from = bytes.length - end.length;
  return from >= 0 && end.every((byte, at) => bytes[from + at] === byte);
}

/** The outcome of reading a call. */
type CallReading =
  | { readonly kind: "ok"; readonly call: AccountCall }
  /** It is no call of the contract, or its arguments are not those it takes. */
  | { readonly kind: "invalid"; readonly reason: string };

/** The inputs of a call, by what they are; those of a kind in their order. */
interface Arguments {
  readonly values: readonly Uint8Array[];
  readonly accounts: readonly string[];
  /** One letter for each: account, registry, clock, value. */
  readonly form: string;
}

/**
 * Which parameters each function has, a letter for each: the account (`a`), the
 * registry (`r`), both as capitals where the function changes them, the clock
 * (`c`), bytes (`b`), a text (`t`), an address (`d`). The first form is that of
 * the newest contract; clients of earlier ones send the others.
 */
export const FUNCTION_FORMS: Readonly<
  Record<AccountCall["kind"], readonly string[]>
> = {
  create_account: ["Rc"],
  add_delegate_key: ["Arbtc", "Abdtc"],
  remove_delegate_key: ["Arb", "Ab"],
  deactivate_account: ["Ar", "A"],
  reactivate_account: ["Ar", "A"],
  seal_approve: ["bra", "ba", "bar"],
};

/** Reads a call; those of another package or module are invalid. */
export function readAccountCall(
  call: MoveCall,
  { packageId }: { readonly packageId: string },
): CallReading {
  const { module, functionName } = call;
  if (call.packageId !== packageId || module !== ACCOUNT_MODULE) {
    return invalid("its package or module is another one");
  }
  if (!isFunction(functionName)) return invalid("it is of no known function");
  const given = readArguments(call.inputs, deriveRegistryId(packageId));
  if (given === undefined) return invalid("an object is not a shared one");
  const forms = FUNCTION_FORMS[functionName].map((form) =>
    form.toLowerCase().replace(/[bdt]/g, "v")
  );
  if (!forms.includes(given.form)) {
    return invalid(`${functionName} takes other arguments`);
  }
  try {
    return readCall(functionName, given);
  } catch (error) {
    if (error instanceof BcsError) return invalid(error.message);
    throw error;
  }
}

/** Tells whether a name is that of a function of the contract. */
export function isFunction(name: string): name is AccountCall["kind"] {
  return Object.hasOwn(FUNCTION_FORMS, name);
}

function readArguments(
  inputs: readonly TransactionInput[],
  registryId: string,
): Arguments | undefined {
  const values: Uint8Array[] = [];
  const accounts: string[] = [];
  let form = "";
  for (const input of inputs) {
    if (input.kind === "owned") return undefined;
    if (input.kind === "pure") {
      values.push(input.bytes);
      form += "v";
    } else if (input.objectId === registryId) {
      form += "r";
    } else if (input.objectId === CLOCK_ID) {
      form += "c";
    } else {
      accounts.push(input.objectId);
      form += "a";
    }
  }
  return { values, accounts, form };
}

function readCall(kind: AccountCall["kind"], given: Arguments): CallReading {
  const [first = NO_BYTES, second = NO_BYTES, third] = given.values;
  const [accountId = ""] = given.accounts;
  switch (kind) {
    case "create_account":
      return { kind: "ok", call: { kind } };
    case "add_delegate_key": {
      const publicKey = readVector(first);
      // Before the contract derived the address itself, clients sent it.
      if (
        third !== undefined && readAddress(second) !== addressOfKey(publicKey)
      ) {
        return invalid("the address is not the public key's");
      }
      const label = readText(third ?? second);
      return { kind: "ok", call: { kind, accountId, publicKey, label } };
    }
    case "remove_delegate_key":
      return {
        kind: "ok",
        call: { kind, accountId, publicKey: readVector(first) },
      };
    case "deactivate_account":
    case "reactivate_account":
      return { kind: "ok", call: { kind, accountId } };
    case "seal_approve":
      return { kind: "ok", call: { kind, accountId, id: readVector(first) } };
  }
}

const NO_BYTES = new Uint8Array(0);

function invalid(state: string): CallReading {
  return { kind: "invalid", reason: `Cannot read call: ${state}` };
}

function readVector(bytes: Uint8Array): Uint8Array {
  return whole(bytes, (reader) => reader.byteVector());
}

function readText(bytes: Uint8Array): string {
  return whole(bytes, (reader) => reader.string());
}

function readAddress(bytes: Uint8Array): string {
  return whole(bytes, (reader) => reader.address());
}

function whole<T>(bytes: Uint8Array, read: (reader: BcsReader) => T): T {
  const reader = new BcsReader(bytes);
  const value = read(reader);
  reader.end();
  return value;
}
