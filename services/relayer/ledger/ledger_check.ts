/**
 * Verifies a ledger's file: no entry of the log was changed, removed or
 * reordered; transactions are signed and have the outcome that the log says;
 * the rows follow from the log.
 *
 * @module
 */

import { checkTransactionSignature } from "../../shared/ledger/ed25519.ts";
import {
  checkGas,
  firstGasCoin,
  nextGasCoin,
} from "../../shared/ledger/gas_chain.ts";
import { sha256 } from "../../shared/ledger/digest.ts";
import {
  hashTransaction,
  type ObjectRef,
  readSignedTransaction,
} from "../../shared/ledger/transaction.ts";
import { isJsonObject } from "../../shared/schema/schema.ts";
import type { AccountRow } from "./account_rows.ts";
import { applyCommand, type Command } from "./operator_command.ts";
import { applyTransaction } from "./owner_transaction.ts";
import { type Entry, FIRST_HASH, hashEntry } from "./ledger_log.ts";
import type { LocalLedger } from "./local_ledger.ts";

/** The outcome of a check. */
type CheckOutcome =
  | {
    readonly kind: "ok";
    /** How many entries the log has. */
    readonly entries: number;
    /** How many accounts there are. */
    readonly accounts: number;
    /**
     * The last entry's hash, 64 hexadecimal digits. An operator who keeps it
     * can check later whether the log up to this entry was replaced.
     */
    readonly head: string;
  }
  | {
    readonly kind: "broken";
    /** The number of the entry that is wrong; 0 when the rows are. */
    readonly sequence: number;
    /** What is wrong. */
    readonly reason: string;
  };

/**
 * The state that results from the entries so far, which the next entry is
 * checked against.
 */
interface State {
  readonly packageId: string;
  readonly accounts: Map<string, AccountRow>;
  readonly byOwner: Map<string, AccountRow>;
  readonly coins: Map<string, ObjectRef>;
  readonly keyServers: Map<string, string>;
}

/** Rows of accounts that are read at once. */
const ROWS_AT_A_TIME = 1_000;

/**
 * Verifies the whole log, from the first entry on, and the rows.
 *
 * @param head A hash that the log is known to have had, 64 hexadecimal digits.
 */
export function checkLedger(
  ledger: LocalLedger,
  { head }: { readonly head?: string | undefined } = {},
): CheckOutcome {
  const { log, packageId } = ledger;
  const state: State = {
    packageId,
    accounts: new Map(),
    byOwner: new Map(),
    coins: new Map(),
    keyServers: new Map(),
  };
  const last = log.head().sequence;
  let previous = FIRST_HASH;
  let timeMs = 0;
  let isHeadSeen = head === undefined;
  for (let sequence = 1; sequence <= last; sequence++) {
    const entry = log.at(sequence);
    if (entry === undefined) return broken(sequence, "it is not there");
    if (!isSame(hashEntry(entry, { sequence, previous }), entry.hash)) {
      return broken(sequence, "its hash is another one");
    }
    if (entry.timeMs < timeMs) return broken(sequence, "its time goes back");
    const fault = entry.kind === "command"
      ? commandFault(entry, { state, previous })
      : transactionFault(entry, state);
    if (fault !== undefined) return broken(sequence, fault);
    previous = entry.hash;
    ({ timeMs } = entry);
    isHeadSeen ||= head === previous.toHex();
  }
  if (!isHeadSeen) return broken(0, `the log never had the hash ${head}`);
  const fault = rowsFault(ledger, state);
  if (fault !== undefined) return broken(0, fault);
  return {
    kind: "ok",
    entries: last,
    accounts: state.accounts.size,
    head: previous.toHex(),
  };
}

function broken(sequence: number, reason: string): CheckOutcome {
  return { kind: "broken", sequence, reason };
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length &&
    one.every((byte, at) => byte === other[at]);
}

function commandFault(
  { payload, digest, sequence, timeMs }: Entry,
  { state, previous }: { readonly state: State; readonly previous: Uint8Array },
): string | undefined {
  const own = sha256(`command ${sequence} `, previous, payload);
  if (!isSame(own, digest)) return "its digest is another one";
  const command = readCommand(payload);
  if (command === undefined) return "it is no command";
  if (command.kind === "add_key_server") {
    state.keyServers.set(command.objectId, keyServerText(command));
    return undefined;
  }
  const account = command.kind === "create_account"
    ? state.byOwner.get(command.owner)
    : state.accounts.get(command.accountId);
  const { packageId } = state;
  const outcome = applyCommand(command, {
    ...{ packageId, account, nowMs: timeMs, digest },
  });
  if (outcome.kind !== "ok") return "it could not be carried out";
  keep(state, outcome.account);
  return undefined;
}

function keep({ accounts, byOwner }: State, account: AccountRow): void {
  accounts.set(account.accountId, account);
  byOwner.set(account.owner, account);
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

function transactionFault(entry: Entry, state: State): string | undefined {
  const { payload, digest, sender, timeMs } = entry;
  const read = readSignedTransaction(payload);
  if (read.kind === "invalid") return read.reason;
  const { transaction, data, signature } = read.value;
  if (transaction.sender !== sender) return "its sender is another one";
  if (!isSame(hashTransaction(data), digest)) {
    return "its digest is another one";
  }
  const checked = checkTransactionSignature({ data, signature, sender });
  if (checked.kind === "invalid") return checked.reason;
  const coin = state.coins.get(sender) ?? firstGasCoin(sender);
  const paid = checkGas(transaction, coin);
  if (paid.kind === "invalid") return paid.reason;
  state.coins.set(sender, nextGasCoin(coin, digest));
  const { packageId } = state;
  const outcome = applyTransaction(transaction, {
    ...{ packageId, digest, nowMs: timeMs },
    account: state.byOwner.get(sender),
    isAccount: (accountId) => state.accounts.has(accountId),
  });
  if (outcome.kind === "refused") return outcome.reason;
  const code = outcome.kind === "abort" ? outcome.code : undefined;
  if (entry.outcome.abort?.code !== code) {
    return "its recorded outcome differs from the computed one";
  }
  if (outcome.kind === "success" && outcome.account !== undefined) {
    keep(state, outcome.account);
  }
  return undefined;
}

function rowsFault(ledger: LocalLedger, state: State): string | undefined {
  const { rows } = ledger;
  let seen = 0;
  let after = "";
  for (;;) {
    const ids = rows.idsAfter(after, ROWS_AT_A_TIME);
    for (const id of ids) {
      const [row, account] = [rows.byId(id), state.accounts.get(id)];
      if (row === undefined || account === undefined) {
        return `account ${id} is in no entry`;
      }
      if (formatAccount(row) !== formatAccount(account)) {
        return `account ${id} is not as the log has it`;
      }
      seen++;
    }
    const last = ids.at(-1);
    if (last === undefined) break;
    after = last;
  }
  if (seen !== state.accounts.size) {
    return `${state.accounts.size - seen} accounts are gone`;
  }
  for (const [address, coin] of state.coins) {
    const row = rows.getCoin(address);
    if (row.version !== coin.version || !isSame(row.digest, coin.digest)) {
      return `the coin of ${address} is not as the log has it`;
    }
  }
  const servers = rows.keyServers().map((server) =>
    keyServerText({ ...server, publicKey: server.publicKey.toHex() })
  );
  return servers.toSorted().join() ===
      [...state.keyServers.values()].toSorted().join()
    ? undefined
    : "the key servers are not as the log has them";
}

function formatAccount(account: AccountRow): string {
  const { accountId, owner, isActive, isSigned, isQuarantined } = account;
  const { version, createdAtMs, delegateKeys, accessCounter } = account;
  return JSON.stringify([
    ...[accountId, owner, isActive, isSigned, isQuarantined, version],
    ...[createdAtMs, String(accessCounter), account.changedBy.toHex()],
    ...delegateKeys.map(({ publicKey, address, label, createdAtMs }) => [
      ...[publicKey, address, label, createdAtMs],
    ]),
  ]);
}

function keyServerText(
  { objectId, name, url, publicKey }: {
    readonly objectId: string;
    readonly name: string;
    readonly url: string;
    readonly publicKey: string;
  },
): string {
  return JSON.stringify([objectId, name, url, publicKey]);
}
