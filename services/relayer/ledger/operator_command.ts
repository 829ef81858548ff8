/**
 * Commands of the operator, which are entered into the embedded ledger without
 * a signature, and how they change an account. The functions here neither read
 * nor write, so a check of the log computes the same accounts again.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import {
  type AccountState,
  type DelegateKeyState,
  MAX_DELEGATE_KEYS,
  MAX_LABEL_BYTES,
  newAccount,
  switchedAccount,
  withoutKey,
} from "../../shared/ledger/account_contract.ts";
import { addressOfKey, isSmallOrderKey } from "../../shared/ledger/ed25519.ts";
import type {
  AccountRow,
  EntryContext,
  KeyServerInput,
} from "./account_rows.ts";
import { normalizePublicKey } from "./ledger_id.ts";

/** A command of the operator. */
export type Command =
  | {
    readonly kind: "create_account";
    /** The owner's address. */
    readonly owner: string;
    /**
     * The account's first delegate key; undefined for an account without keys.
     */
    readonly key: DelegateKeyInput | undefined;
  }
  | {
    readonly kind: "add_delegate_key";
    readonly accountId: string;
    readonly key: DelegateKeyInput;
  }
  | {
    readonly kind: "remove_delegate_key";
    readonly accountId: string;
    /** The public key, 64 hexadecimal digits. */
    readonly publicKey: string;
  }
  | {
    readonly kind: "set_active";
    readonly accountId: string;
    readonly isActive: boolean;
  }
  /** Adds an account to the log that its file had before there was a log. */
  | { readonly kind: "adopt_account" } & Omit<AccountState, "accessCounter">
  | { readonly kind: "add_key_server" } & KeyServerText;

/** A key server as a command has it. */
export interface KeyServerText extends Omit<KeyServerInput, "publicKey"> {
  /** The key server's object id, which follows from its public key. */
  readonly objectId: string;
  /** The key server's public key, 192 hexadecimal digits. */
  readonly publicKey: string;
}

/** A delegate key to add. */
export interface DelegateKeyInput {
  /** The public key, 64 hexadecimal digits, with or without `0x`. */
  readonly publicKey: string;
  /** The name that the owner gives the key, at most 64 bytes. */
  readonly label: string;
}

/** The outcome of a command about an account. */
export type CommandOutcome<Shown = AccountRow> =
  /** The change was made; this is the account after it. */
  | { readonly kind: "ok"; readonly account: Shown }
  /** The account is already so; nothing has to be written. */
  | { readonly kind: "exists"; readonly account: Shown }
  /** There is no such account, or no such key. */
  | { readonly kind: "missing" }
  /** The input is invalid. */
  | { readonly kind: "invalid"; readonly message: string };

/** A command about an account. */
export type AccountCommand = Exclude<
  Command,
  { readonly kind: "add_key_server" }
>;

/** Returns the account after a command. */
export function applyCommand(
  command: AccountCommand,
  context: EntryContext,
): CommandOutcome {
  const { account } = context;
  if (command.kind === "create_account") return created(command, context);
  if (command.kind === "adopt_account") {
    const { kind: _, ...state } = command;
    return account === undefined
      ? entered({ ...state, accessCounter: 0n }, context)
      : { kind: "exists", account };
  }
  if (account === undefined) return { kind: "missing" };
  const known = { ...context, account };
  if (command.kind === "set_active") return switched(command.isActive, known);
  if (account.isSigned) {
    return invalid(
      "Cannot change account: its owner has signed for it, so only " +
        "transactions of its owner change its keys",
    );
  }
  return command.kind === "add_delegate_key"
    ? keyAdded(command.key, known)
    : keyRemoved(command.publicKey, known);
}

/** The context of a command about an account that exists. */
type Known = EntryContext & { readonly account: AccountRow };

function invalid(message: string): CommandOutcome {
  return { kind: "invalid", message };
}

/** Returns the account with a change, in its next version. */
function changed(
  change: Partial<AccountRow>,
  { account, digest: changedBy }: Known,
): CommandOutcome {
  const version = account.version + 1;
  return { kind: "ok", account: { ...account, ...change, version, changedBy } };
}

/** Returns an account that was not there before. */
function entered(
  state: AccountState,
  { digest: changedBy }: EntryContext,
): CommandOutcome {
  const flags = { isSigned: false, isQuarantined: false };
  return { kind: "ok", account: { ...state, ...flags, version: 1, changedBy } };
}

function created(
  { owner, key }: Extract<Command, { readonly kind: "create_account" }>,
  context: EntryContext,
): CommandOutcome {
  const { packageId, account, nowMs } = context;
  const read = key === undefined ? undefined : readDelegateKey(key, nowMs);
  if (read?.kind === "invalid") return read;
  if (account !== undefined) return { kind: "exists", account };
  const state = newAccount({ packageId, sender: owner, nowMs });
  const delegateKeys = read === undefined ? [] : [read.key];
  return entered({ ...state, delegateKeys }, context);
}

/**
 * Switches an account on or off. When its owner has signed for the account, the
 * owner's own state stays as it is, so that it still follows from the owner's
 * transactions; a separate flag switches it off.
 */
function switched(isActive: boolean, known: Known): CommandOutcome {
  const { account } = known;
  if (account.isSigned) {
    return account.isQuarantined === !isActive
      ? { kind: "exists", account }
      : changed({ isQuarantined: !isActive }, known);
  }
  if (account.isActive === isActive) return { kind: "exists", account };
  return changed(switchedAccount(account, isActive), known);
}

function keyAdded(input: DelegateKeyInput, known: Known): CommandOutcome {
  const read = readDelegateKey(input, known.nowMs);
  if (read.kind === "invalid") return read;
  const { key } = read;
  const { account, account: { delegateKeys } } = known;
  if (delegateKeys.some(({ publicKey }) => publicKey === key.publicKey)) {
    return { kind: "exists", account };
  }
  if (delegateKeys.length >= MAX_DELEGATE_KEYS) {
    return invalid(
      "Cannot add delegate key: the account has " +
        `${MAX_DELEGATE_KEYS}, which are the most; remove one first`,
    );
  }
  return changed({ delegateKeys: [...delegateKeys, key] }, known);
}

function keyRemoved(digits: string, known: Known): CommandOutcome {
  const { account } = known;
  const publicKey = normalizePublicKey(digits);
  const key = account.delegateKeys.find((one) => one.publicKey === publicKey);
  return key === undefined
    ? { kind: "missing" }
    : changed(withoutKey(account, key), known);
}

/** The outcome of reading a key. */
type DelegateKeyOutcome =
  | { readonly kind: "ok"; readonly key: DelegateKeyState }
  | { readonly kind: "invalid"; readonly message: string };

function readDelegateKey(
  { publicKey: text, label }: DelegateKeyInput,
  createdAtMs: number,
): DelegateKeyOutcome {
  const publicKey = normalizePublicKey(text);
  if (publicKey === undefined) {
    return refusedKey("the public key is not 64 hexadecimal digits");
  }
  const bytes = Buffer.from(publicKey, "hex");
  if (isSmallOrderKey(bytes)) {
    return refusedKey("anyone can sign for this public key");
  }
  if (!label.isWellFormed() || /\p{Cc}/u.test(label)) {
    return refusedKey("the label has characters that cannot be shown");
  }
  const labelBytes = Buffer.byteLength(label);
  if (labelBytes > MAX_LABEL_BYTES) {
    return refusedKey(
      `the label has ${labelBytes} bytes, ${MAX_LABEL_BYTES} are the most`,
    );
  }
  const address = addressOfKey(bytes);
  return { kind: "ok", key: { publicKey, address, label, createdAtMs } };
}

function refusedKey(state: string): DelegateKeyOutcome {
  return { kind: "invalid", message: `Cannot take delegate key: ${state}` };
}
