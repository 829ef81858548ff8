/**
 * Verifies a ledger's file: no entry of the log was changed, removed or
 * reordered; transactions are signed and have the outcome that the log says;
 * the rows follow from the log.
 *
 * @module
 */

import { firstGasCoin } from "../../shared/ledger/gas_chain.ts";
import type { ObjectRef } from "../../shared/ledger/transaction.ts";
import type { AccountRow } from "./account_rows.ts";
import { checkEntry, isSame, type LogState } from "./entry_check.ts";
import { EMPTY_LOG, type Entry, type LogHead } from "./ledger_log.ts";
import type { LocalLedger } from "./local_ledger.ts";

/** The outcome of a check. */
export type CheckOutcome =
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

/** The state that results from the entries so far. */
class ReplayedState implements LogState {
  readonly packageId: string;
  readonly accounts = new Map<string, AccountRow>();
  readonly coins = new Map<string, ObjectRef>();
  readonly keyServers = new Map<string, string>();
  readonly #byOwner = new Map<string, AccountRow>();

  constructor(packageId: string) {
    this.packageId = packageId;
  }

  byId(accountId: string): AccountRow | undefined {
    return this.accounts.get(accountId);
  }

  byOwner(owner: string): AccountRow | undefined {
    return this.#byOwner.get(owner);
  }

  getCoin(address: string): ObjectRef {
    return this.coins.get(address) ?? firstGasCoin(address);
  }

  keep(account: AccountRow): void {
    this.accounts.set(account.accountId, account);
    this.#byOwner.set(account.owner, account);
  }

  /** Returns what is wrong with an entry; undefined when it was taken. */
  add(entry: Entry, last: LogHead): string | undefined {
    const verdict = checkEntry(entry, { state: this, last });
    switch (verdict.kind) {
      case "broken":
        return verdict.reason;
      case "key server": {
        const { server } = verdict;
        this.keyServers.set(server.objectId, keyServerText(server));
        return undefined;
      }
      case "command":
        this.keep(verdict.account);
        return undefined;
      case "transaction": {
        const { outcome, sender, nextCoin } = verdict;
        this.coins.set(sender, nextCoin);
        if (outcome.kind === "success" && outcome.account !== undefined) {
          this.keep(outcome.account);
        }
        return undefined;
      }
    }
  }
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
  const state = new ReplayedState(packageId);
  const { sequence: entries } = log.head();
  let last: LogHead = EMPTY_LOG;
  let isHeadSeen = head === undefined;
  for (let sequence = 1; sequence <= entries; sequence++) {
    const entry = log.at(sequence);
    if (entry === undefined) return broken(sequence, "it is not there");
    const fault = state.add(entry, last);
    if (fault !== undefined) return broken(sequence, fault);
    last = entry;
    isHeadSeen ||= head === last.hash.toHex();
  }
  if (!isHeadSeen) return broken(0, `the log never had the hash ${head}`);
  const fault = rowsFault(ledger, state);
  if (fault !== undefined) return broken(0, fault);
  return {
    kind: "ok",
    entries,
    accounts: state.accounts.size,
    head: last.hash.toHex(),
  };
}

function broken(sequence: number, reason: string): CheckOutcome {
  return { kind: "broken", sequence, reason };
}

function rowsFault(
  ledger: LocalLedger,
  state: ReplayedState,
): string | undefined {
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
