/**
 * Checks an entry of the log against the state that the entries before it lead
 * to: it follows them, its transaction is signed and paid for, and the contract
 * takes it.
 *
 * @module
 */

import { sha256 } from "../../shared/ledger/digest.ts";
import { checkTransactionSignature } from "../../shared/ledger/ed25519.ts";
import { checkGas, nextGasCoin } from "../../shared/ledger/gas_chain.ts";
import {
  hashTransaction,
  type ObjectRef,
  readSignedTransaction,
} from "../../shared/ledger/transaction.ts";
import { isJsonObject } from "../../shared/schema/schema.ts";
import type { AccountRow } from "./account_rows.ts";
import { type Entry, hashEntry, type LogHead } from "./ledger_log.ts";
import {
  type AccountCommand,
  applyCommand,
  type Command,
  type KeyServerText,
} from "./operator_command.ts";
import {
  applyTransaction,
  type TransactionOutcome,
} from "./owner_transaction.ts";

/** The state that entries lead to, as far as the next one depends on it. */
export interface LogState {
  /** The package of the accounts' contract. */
  readonly packageId: string;
  /** The account of an id. */
  byId(accountId: string): AccountRow | undefined;
  /** The account of an owner's address. */
  byOwner(owner: string): AccountRow | undefined;
  /** The coin that has to pay for an address's next transaction. */
  getCoin(address: string): ObjectRef;
}

/** What an entry leads to. */
type EntryVerdict =
  | { readonly kind: "broken"; readonly reason: string }
  | { readonly kind: "key server"; readonly server: KeyServerText }
  | {
    readonly kind: "command";
    readonly command: AccountCommand;
    /** The account after the command. */
    readonly account: AccountRow;
  }
  | {
    readonly kind: "transaction";
    readonly sender: string;
    readonly outcome: Exclude<TransactionOutcome, { readonly kind: "refused" }>;
    /** The coin that pays for the sender's next transaction. */
    readonly nextCoin: ObjectRef;
  };

/** Checks an entry that has to follow the last one of a log. */
export function checkEntry(
  entry: Entry,
  { state, last }: { readonly state: LogState; readonly last: LogHead },
): EntryVerdict {
  const { sequence, kind, timeMs } = entry;
  if (sequence !== last.sequence + 1) return broken("the one before is gone");
  if (
    !isSame(hashEntry(entry, { sequence, previous: last.hash }), entry.hash)
  ) {
    return broken("its hash is another one");
  }
  if (timeMs < last.timeMs) return broken("its time goes back");
  return kind === "command"
    ? checkCommand(entry, { state, previous: last.hash })
    : checkTransaction(entry, state);
}

/** Whether two hashes or digests are the same. */
export function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length &&
    one.every((byte, at) => byte === other[at]);
}

function broken(reason: string): EntryVerdict {
  return { kind: "broken", reason };
}

function checkCommand(
  { payload, digest, sequence, timeMs }: Entry,
  { state, previous }: {
    readonly state: LogState;
    readonly previous: Uint8Array;
  },
): EntryVerdict {
  const own = sha256(`command ${sequence} `, previous, payload);
  if (!isSame(own, digest)) return broken("its digest is another one");
  const command = readCommand(payload);
  if (command === undefined) return broken("it is no command");
  if (command.kind === "add_key_server") {
    return { kind: "key server", server: command };
  }
  const account = "owner" in command
    ? state.byOwner(command.owner)
    : state.byId(command.accountId);
  const { packageId } = state;
  const outcome = applyCommand(command, {
    ...{ packageId, account, nowMs: timeMs, digest },
  });
  return outcome.kind === "ok"
    ? { kind: "command", command, account: outcome.account }
    : broken("it could not be carried out");
}

function readCommand(payload: Uint8Array): Command | undefined {
  try {
    const json: unknown = JSON.parse(new TextDecoder().decode(payload));
    // Only this program writes commands, and the entry's hash is valid.
    return isJsonObject(json) && typeof json["kind"] === "string"
      ? json as unknown as Command
      : undefined;
  } catch {
    // Not JSON, so not a command.
    return undefined;
  }
}

function checkTransaction(entry: Entry, state: LogState): EntryVerdict {
  const { payload, digest, sender, timeMs } = entry;
  const read = readSignedTransaction(payload);
  if (read.kind === "invalid") return broken(read.reason);
  const { transaction, data, signature } = read.value;
  if (transaction.sender !== sender) return broken("its sender is another one");
  if (!isSame(hashTransaction(data), digest)) {
    return broken("its digest is another one");
  }
  const checked = checkTransactionSignature({ data, signature, sender });
  if (checked.kind === "invalid") return broken(checked.reason);
  const coin = state.getCoin(sender);
  const paid = checkGas(transaction, coin);
  if (paid.kind === "invalid") return broken(paid.reason);
  const { packageId } = state;
  const outcome = applyTransaction(transaction, {
    ...{ packageId, digest, nowMs: timeMs },
    account: state.byOwner(sender),
    isAccount: (accountId) => state.byId(accountId) !== undefined,
  });
  if (outcome.kind === "refused") return broken(outcome.reason);
  const code = outcome.kind === "abort" ? outcome.code : undefined;
  if (entry.outcome.abort?.code !== code) return broken(OTHER_OUTCOME);
  const nextCoin = nextGasCoin(coin, digest);
  return { kind: "transaction", sender, outcome, nextCoin };
}

/** What is wrong with an entry that claims another outcome than it has. */
export const OTHER_OUTCOME =
  "its recorded outcome differs from the computed one";
