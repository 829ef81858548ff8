/**
 * Commands of the operator, which are entered into the embedded ledger without
 * a signature, and how they change an account. The functions here neither read
 * nor write, so a check of the log computes the same accounts again.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import {
  accountIdOf,
  type DelegateKeyState,
  MAX_DELEGATE_KEYS,
  MAX_LABEL_BYTES,
} from "../../shared/ledger/account_contract.ts";
import { addressOfKey, isSmallOrderKey } from "../../shared/ledger/ed25519.ts";
import type { AccountRow, EntryContext } from "./account_rows.ts";
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
  | {
    readonly kind: "adopt_account";
    readonly accountId: string;
    readonly owner: string;
    readonly isActive: boolean;
    readonly createdAtMs: number;
    readonly delegateKeys: readonly DelegateKeyState[];
  }
  | {
    readonly kind: "add_key_server";
    /** The key server's object id, which follows from its public key. */
    readonly objectId: string;
    /** The key server's name. */
    readonly name: string;
    /** The key server's URL. */
    readonly url: string;
    /** The key server's public key, 192 hexadecimal digits. */
    readonly publicKey: string;
  };

/** A delegate key to add. */
export interface DelegateKeyInput {
  /** The public key, 64 hexadecimal digits, with or without `0x`. */
  readonly publicKey: string;
  /** The name that the owner gives the key, at most 64 bytes. */
  readonly label: string;
}

/** The outcome of a command about an account. */
export type CommandOutcome =
  | { readonly kind: "ok"; readonly account: AccountRow }
  /** The account is already so; nothing has to be written. */
  | { readonly kind: "exists"; readonly account: AccountRow }
  /** There is no such account, or no such key. */
  | { readonly kind: "missing" }
  /** The input is invalid. */
  | { readonly kind: "invalid"; readonly message: string };

type AccountCommand = Exclude<Command, { readonly kind: "add_key_server" }>;

/** Returns the account after a command. */
export function applyCommand(
  command: AccountCommand,
  context: EntryContext,
): CommandOutcome {
  const { account } = context;
  if (command.kind === "create_account") return created(command, context);
  if (command.kind === "adopt_account") return adopted(command, context);
  if (account === undefined) return { kind: "missing" };
  if (command.kind === "set_active") {
    return switched(account, { ...context, isActive: command.isActive });
  }
  if (account.isSigned) {
    return invalid(
      "Cannot change account: its owner has signed for it, so only " +
        "transactions of its owner change its keys",
    );
  }
  return command.kind === "add_delegate_key"
    ? keyAdded(account, { ...context, input: command.key })
    : keyRemoved(account, { ...context, publicKey: command.publicKey });
}

function invalid(message: string): CommandOutcome {
  return { kind: "invalid", message };
}

/** Returns the account with a change, in its next version. */
function changed(
  account: AccountRow,
  { digest }: EntryContext,
  change: Partial<AccountRow>,
): CommandOutcome {
  return {
    kind: "ok",
    account: {
      ...account,
      ...change,
      version: account.version + 1,
      changedBy: digest,
    },
  };
}

function created(
  { owner, key }: Extract<Command, { readonly kind: "create_account" }>,
  context: EntryContext,
): CommandOutcome {
  const { packageId, account, nowMs, digest } = context;
  const read = key === undefined ? undefined : readDelegateKey(key, nowMs);
  if (read?.kind === "invalid") return read;
  if (account !== undefined) return { kind: "exists", account };
  return {
    kind: "ok",
    account: {
      ...blank(accountIdOf(packageId, owner), owner),
      createdAtMs: nowMs,
      delegateKeys: read === undefined ? [] : [read.key],
      changedBy: digest,
    },
  };
}

function adopted(
  command: Extract<Command, { readonly kind: "adopt_account" }>,
  { account, digest }: EntryContext,
): CommandOutcome {
  if (account !== undefined) return { kind: "exists", account };
  const { accountId, owner, isActive, createdAtMs, delegateKeys } = command;
  return {
    kind: "ok",
    account: {
      ...blank(accountId, owner),
      ...{ isActive, createdAtMs, delegateKeys, changedBy: digest },
    },
  };
}

function blank(
  accountId: string,
  owner: string,
): Omit<AccountRow, "createdAtMs" | "delegateKeys" | "changedBy"> {
  return {
    ...{ accountId, owner },
    isActive: true,
    accessCounter: 0n,
    isSigned: false,
    isQuarantined: false,
    version: 1,
  };
}

/**
 * Switches an account on or off. When its owner has signed for the account, the
 * owner's own state stays as it is, so that it still follows from the owner's
 * transactions; a separate flag switches it off.
 */
function switched(
  account: AccountRow,
  context: EntryContext & { readonly isActive: boolean },
): CommandOutcome {
  const { isActive } = context;
  if (account.isSigned) {
    return account.isQuarantined === !isActive
      ? { kind: "exists", account }
      : changed(account, context, { isQuarantined: !isActive });
  }
  if (account.isActive === isActive) return { kind: "exists", account };
  return changed(account, context, {
    isActive,
    accessCounter: account.accessCounter + (isActive ? 0n : 1n),
  });
}

function keyAdded(
  account: AccountRow,
  context: EntryContext & { readonly input: DelegateKeyInput },
): CommandOutcome {
  const read = readDelegateKey(context.input, context.nowMs);
  if (read.kind === "invalid") return read;
  const { key } = read;
  const { delegateKeys } = account;
  if (delegateKeys.some(({ publicKey }) => publicKey === key.publicKey)) {
    return { kind: "exists", account };
  }
  if (delegateKeys.length >= MAX_DELEGATE_KEYS) {
    return invalid(
      "Cannot add delegate key: the account has " +
        `${MAX_DELEGATE_KEYS}, which are the most; remove one first`,
    );
  }
  return changed(account, context, { delegateKeys: [...delegateKeys, key] });
}

function keyRemoved(
  account: AccountRow,
  context: EntryContext & { readonly publicKey: string },
): CommandOutcome {
  const publicKey = normalizePublicKey(context.publicKey);
  const { delegateKeys, accessCounter } = account;
  const left = delegateKeys.filter((key) => key.publicKey !== publicKey);
  return left.length === delegateKeys.length
    ? { kind: "missing" }
    : changed(account, context, {
      delegateKeys: left,
      accessCounter: accessCounter + 1n,
    });
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
