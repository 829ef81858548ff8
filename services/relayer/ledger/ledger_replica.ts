/**
 * A ledger that is made from the log of another place: entries are added when
 * they were checked and lead to what they say, and changes are computed without
 * being kept.
 *
 * @module
 */

import { DatabaseSync } from "node:sqlite";
import type { Clock } from "../../shared/clock.ts";
import type { Settled } from "../../shared/settled.ts";
import { inTransaction, rollBack } from "../../shared/sqlite/transaction.ts";
import type { AccountRows } from "./account_rows.ts";
import {
  checkEntry,
  isSame,
  type LogState,
  OTHER_OUTCOME,
} from "./entry_check.ts";
import { type LedgerFile, makeTemporaryLedger } from "./ledger_file.ts";
import {
  type Entry,
  type EntryOutcome,
  type ObjectChange,
  outcomeText,
} from "./ledger_log.ts";
import { LocalLedger } from "./local_ledger.ts";
import { coinChange } from "./move_objects.ts";
import { writeOutcome } from "./transaction_executor.ts";
import { FileErrors } from "../store/sqlite/database_file.ts";

/** The log was changed behind the ledger's back: no account can be trusted. */
export class LedgerBrokenError extends Error {
  /** The name of the class. */
  override readonly name = "LedgerBrokenError";
  /** The number of the entry that is wrong. */
  readonly sequence: number;
  /** What is wrong. */
  readonly reason: string;

  /** Takes the entry's number and what is wrong with it. */
  constructor(sequence: number, reason: string) {
    super(
      `Cannot trust the ledger: entry ${sequence} of ledger_entries: ` +
        `${reason}; restore the entries from a backup`,
    );
    this.sequence = sequence;
    this.reason = reason;
  }
}

/** What changes lead to. */
export interface ComputedChanges {
  /** What became of each change, in their order. */
  readonly results: readonly Settled<unknown>[];
  /** The entries that they add to the log. */
  readonly entries: readonly Entry[];
}

/**
 * How much of the rows is in memory, in KiB: about 20,000 entries. The rest is in
 * a file without a name in the system's folder of temporary files.
 */
const MEMORY_KIB = 65_536;

const NO_WRITES: LedgerFile["writes"] = {
  add: () =>
    Promise.reject(new Error("Cannot change the ledger: it is a copy")),
};

/** A ledger that follows a log. */
export class LedgerReplica {
  /** The ledger, as of the last entry that was added. */
  readonly ledger: LocalLedger;
  readonly #db: DatabaseSync;
  readonly #errors = new FileErrors("copy of the ledger", "start again");

  /**
   * Makes the replica of an empty log.
   *
   * @param options.writes Queues changes of the ledger. Without it there are
   * none.
   * @throws {TypeError} when the package's id is not valid
   */
  constructor({ packageId, clock, writes = NO_WRITES }: {
    readonly packageId: string | undefined;
    readonly clock: Clock;
    readonly writes?: LedgerFile["writes"];
  }) {
    this.#db = new DatabaseSync(":memory:");
    try {
      // Only temporary tables leave the memory where they are too large for it.
      this.#db.exec(
        "PRAGMA temp_store = FILE; PRAGMA temp.synchronous = OFF; " +
          `PRAGMA temp.cache_size = -${MEMORY_KIB}`,
      );
      makeTemporaryLedger(this.#db);
      const file: LedgerFile = {
        ...{ db: this.#db, clock, writes, errors: this.#errors },
        eraseLog() {},
        close: () => Promise.resolve(this.close()),
      };
      this.ledger = new LocalLedger(file, packageId);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /**
   * Adds the entries that it does not have yet.
   *
   * @throws {LedgerBrokenError} when one does not follow from those before; none
   * is added then
   */
  add(entries: readonly Entry[]): void {
    try {
      replayEntries(entries, { ledger: this.ledger, db: this.#db });
    } catch (error) {
      throw this.#errors.named(error);
    }
  }

  /** Computes what changes lead to, one after the other, and undoes them all. */
  compute(changes: readonly (() => unknown)[]): ComputedChanges {
    const { ledger: { log }, ledger } = this;
    const { sequence: last } = log.head();
    try {
      return this.#errors.run(() => {
        this.#db.exec("BEGIN");
        const results = changes.map((change) => this.#attempt(change));
        const entries: Entry[] = [];
        for (let sequence = last + 1;; sequence++) {
          const entry = log.at(sequence);
          if (entry === undefined) return { results, entries };
          entries.push(entry);
        }
      });
    } finally {
      rollBack(this.#db);
      ledger.forget();
    }
  }

  /** Whether an entry is in the log. */
  has({ sequence, hash }: Entry): boolean {
    const there = this.ledger.log.at(sequence);
    return there !== undefined && isSame(there.hash, hash);
  }

  /** Forgets everything. */
  close(): void {
    if (this.#db.isOpen) this.#db.close();
  }

  #attempt(change: () => unknown): Settled<unknown> {
    this.#db.exec("SAVEPOINT change");
    try {
      return { kind: "ok", value: change() };
    } catch (error) {
      // SQLite has ended the whole transaction: all changes fail.
      if (!this.#db.isTransaction) throw error;
      this.#db.exec("ROLLBACK TO change");
      return { kind: "failed", error };
    } finally {
      if (this.#db.isTransaction) this.#db.exec("RELEASE change");
    }
  }
}

/**
 * Adds the entries that a ledger does not have yet, with all rows that follow
 * from them.
 *
 * @param options.db The database of the ledger.
 * @throws {LedgerBrokenError} when one does not follow from those before, or is
 * there otherwise; none is added then
 */
export function replayEntries(
  entries: readonly Entry[],
  { ledger, db }: { readonly ledger: LocalLedger; readonly db: DatabaseSync },
): void {
  const { log } = ledger;
  const { sequence: last } = log.head();
  const there = entries.filter(({ sequence }) => sequence <= last);
  for (const { sequence, hash } of there) {
    if (!isSame(log.at(sequence)?.hash ?? new Uint8Array(), hash)) {
      throw new LedgerBrokenError(sequence, "it was another one before");
    }
  }
  const added = entries.slice(there.length);
  if (added.length === 0) return;
  try {
    inTransaction(db, () => {
      for (const entry of added) replayOne(entry, ledger);
    });
  } finally {
    ledger.forget();
  }
}

function replayOne(entry: Entry, ledger: LocalLedger): void {
  const { log, packageId, rows } = ledger;
  const state = stateOf(packageId, rows);
  const verdict = checkEntry(entry, { state, last: log.head() });
  if (verdict.kind === "broken") {
    throw new LedgerBrokenError(entry.sequence, verdict.reason);
  }
  const outcome = write(verdict, { ledger, entry });
  // It names the digests of all objects after the entry.
  if (outcomeText(outcome) !== outcomeText(entry.outcome)) {
    throw new LedgerBrokenError(entry.sequence, OTHER_OUTCOME);
  }
  log.insert(entry);
}

function stateOf(packageId: string, rows: AccountRows): LogState {
  return {
    packageId,
    byId: (accountId) => rows.byId(accountId),
    byOwner: (owner) => rows.byOwner(owner),
    getCoin: (address) => rows.getCoin(address),
  };
}

/** Writes what an entry leads to, and returns its outcome. */
function write(
  verdict: Exclude<ReturnType<typeof checkEntry>, { readonly kind: "broken" }>,
  { ledger, entry: { digest } }: {
    readonly ledger: LocalLedger;
    readonly entry: Entry;
  },
): EntryOutcome {
  if (verdict.kind === "transaction") {
    const { sender, outcome, nextCoin } = verdict;
    const gas = coinChange(sender, nextCoin);
    const written = writeOutcome(outcome, { ledger, gas });
    ledger.rows.noteTransaction(sender, digest);
    return written;
  }
  const changes = verdict.kind === "key server"
    ? ledger.writeKeyServer(verdict.server, digest)
    : writeCommanded(verdict, ledger);
  return { abort: undefined, changes, events: [] };
}

function writeCommanded(
  { command, account }: Extract<
    ReturnType<typeof checkEntry>,
    { readonly kind: "command" }
  >,
  ledger: LocalLedger,
): readonly ObjectChange[] {
  if (command.kind === "adopt_account") return ledger.writeAdopted(account);
  const isNew = ledger.rows.byId(account.accountId) === undefined;
  return ledger.write(account, { isNew });
}
