/**
 * What the embedded ledger's log consists of: transactions that owners signed and
 * commands of the operator, and what each makes of an account. Nothing is read or
 * written here, so a check of the log finds the same accounts again.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import {
  type AccountCall,
  type AccountEvent,
  accountIdOf,
  type AccountState,
  applyCalls,
  type DelegateKeyState,
  MAX_DELEGATE_KEYS,
  MAX_LABEL_BYTES,
  readAccountCall,
  registryIdOf,
} from "../../shared/ledger/account_contract.ts";
import { addressOfKey, isSmallOrderKey } from "../../shared/ledger/ed25519.ts";
import type {
  Transaction,
  TransactionInput,
} from "../../shared/ledger/transaction.ts";
import { normalizePublicKey } from "./ledger_id.ts";

/** An account as it is kept. */
export interface AccountRow extends AccountState {
  /** Whether its owner made it: then only its owner's transactions change it. */
  readonly isSigned: boolean;
  /** Whether the operator has switched it off. */
  readonly isQuarantined: boolean;
  /** Counts its changes, from 1. */
  readonly version: number;
  /** The digest of the entry that changed it last, 32 bytes. */
  readonly changedBy: Uint8Array;
}

/** What an operator enters. */
export type Command =
  | {
    readonly kind: "create_account";
    /** The owner's address. */
    readonly owner: string;
    /** A key that may speak for it from the beginning. */
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
    /** 64 hexadecimal digits. */
    readonly publicKey: string;
  }
  | {
    readonly kind: "set_active";
    readonly accountId: string;
    readonly isActive: boolean;
  }
  /** An account of a file that had no log yet, as it was. */
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
    /** Its id, which follows from its public key. */
    readonly objectId: string;
    /** What it is called. */
    readonly name: string;
    /** Where it answers. */
    readonly url: string;
    /** 192 hexadecimal digits. */
    readonly publicKey: string;
  };

/** A key as it is given. */
export interface DelegateKeyInput {
  /** The public key, 64 hexadecimal digits, with `0x` or without. */
  readonly publicKey: string;
  /** What its owner calls it, at most 64 bytes. */
  readonly label: string;
}

/** The outcome of a command about an account. */
export type CommandOutcome =
  | { readonly kind: "ok"; readonly account: AccountRow }
  /** It was so before; nothing is to be written. */
  | { readonly kind: "exists"; readonly account: AccountRow }
  /** There is no such account, or no such key. */
  | { readonly kind: "missing" }
  /** What was given cannot be taken. */
  | { readonly kind: "invalid"; readonly message: string };

type AccountCommand = Exclude<Command, { readonly kind: "add_key_server" }>;

/** What an entry is applied to. */
interface EntryContext {
  /** The package of the contract. */
  readonly packageId: string;
  /** The account that it is about; undefined when there is none. */
  readonly account: AccountRow | undefined;
  /** When, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** The entry's digest, 32 bytes. */
  readonly digest: Uint8Array;
}

/** What a command of the operator makes of an account. */
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

/** The same account with a change, in its next version. */
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
 * The operator switches an account that its owner signed for off without touching
 * what the owner said, so that it still follows from the owner's transactions.
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

/** The outcome of a transaction's calls. */
export type TransactionOutcome =
  /** The calls happened. */
  | {
    readonly kind: "success";
    /** The sender's account now; undefined while there is none. */
    readonly account: AccountRow | undefined;
    /** Whether the account is one that was not there before. */
    readonly isNew: boolean;
    readonly events: readonly AccountEvent[];
  }
  /** The contract aborted; nothing was changed. */
  | {
    readonly kind: "abort";
    readonly code: number;
    /** Which call it was, from 0. */
    readonly at: number;
    readonly functionName: string;
  }
  /** It cannot be carried out at all, and leaves no trace. */
  | { readonly kind: "refused"; readonly reason: string };

/** What a transaction is applied to. */
interface TransactionContext extends EntryContext {
  /** Tells whether there is an account of an id. */
  readonly isAccount: (accountId: string) => boolean;
}

/** What a transaction that its sender signed makes of the sender's account. */
export function applyTransaction(
  { calls: called, sender }: Pick<Transaction, "calls" | "sender">,
  context: TransactionContext,
): TransactionOutcome {
  const { packageId, account, nowMs, digest } = context;
  if (called.length === 0) return refused("it calls nothing");
  const calls: AccountCall[] = [];
  for (const call of called) {
    const fault = flagFault(call.inputs, packageId, call.functionName);
    if (fault !== undefined) return refused(fault);
    const read = readAccountCall(call, { packageId });
    if (read.kind === "invalid") {
      return { kind: "refused", reason: read.reason };
    }
    calls.push(read.call);
  }
  const fault = calls.map((call) => callFault(call, context)).find(Boolean);
  if (fault !== undefined) return refused(fault);
  // What the operator entered does not count before the owner signs.
  const signed = account?.isSigned ? account : undefined;
  const outcome = applyCalls(calls, {
    ...{ packageId, sender, nowMs, account: signed },
  });
  if (outcome.kind === "abort") {
    const { code, at } = outcome;
    const functionName = calls[at]?.kind ?? "";
    return { kind: "abort", code, at, functionName };
  }
  const { account: state, events } = outcome;
  return {
    kind: "success",
    account: state && {
      ...state,
      isSigned: true,
      isQuarantined: false,
      version: (account?.version ?? 0) + 1,
      changedBy: digest,
    },
    isNew: signed === undefined,
    events,
  };
}

function refused(state: string): TransactionOutcome {
  return { kind: "refused", reason: `Cannot carry transaction out: ${state}` };
}

/** The version in which every object became shared. */
const INITIAL_VERSION = 1n;

/** Objects must be named as they are: in which version shared, changed or only read. */
function flagFault(
  inputs: readonly TransactionInput[],
  packageId: string,
  functionName: string,
): string | undefined {
  const registryId = registryIdOf(packageId);
  for (const input of inputs) {
    if (input.kind !== "shared") continue;
    if (input.initialVersion !== INITIAL_VERSION) {
      return `object ${input.objectId} was shared in version 1, not ` +
        `${input.initialVersion}`;
    }
    const isRegistry = input.objectId === registryId;
    if (isRegistry && functionName === "create_account" && !input.isMutable) {
      return "create_account needs the registry to be mutable";
    }
  }
  return undefined;
}

function callFault(
  call: AccountCall,
  { account, isAccount }: TransactionContext,
): string | undefined {
  // Also the one that the operator entered and switched off before its owner came.
  const isOff = account?.isQuarantined === true ||
    (account?.isSigned === false && !account.isActive);
  if (isOff) return "the operator has switched the account off";
  if (call.kind === "create_account") return undefined;
  if (call.kind === "seal_approve") {
    return "seal_approve changes nothing: ask with a dry run";
  }
  if (call.accountId !== account?.accountId) {
    return isAccount(call.accountId)
      ? undefined
      : `there is no object ${call.accountId}`;
  }
  return account.isSigned
    ? undefined
    : "the operator has entered this account " +
      "for its owner; create_account takes it over, without the keys it has";
}
