/**
 * The embedded ledger whose log is in a database that several relayers use. Each
 * has a replica, made from the log, and asks for newer entries before it answers:
 * a key that one relayer removed is refused by all from the next request on.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import { GatheredCalls } from "../concurrency/gathered_calls.ts";
import type { Logger } from "../../shared/logger.ts";
import {
  asStore,
  mayRunAgain,
  violatedConstraint,
} from "../../shared/postgres/failure.ts";
import { ON_DISK, type Pool } from "../../shared/postgres/pool.ts";
import type { Runner } from "../../shared/postgres/session.ts";
import { describeError, settle, type Settled } from "../../shared/settled.ts";
import { StoreFailedError } from "../../shared/store_failed.ts";
import { StoreBusyError } from "../store/store.ts";
import { AddressShares } from "./address_shares.ts";
import type { Entry } from "./ledger_log.ts";
import type { AccountOutcome, Ledger } from "./ledger.ts";
import type { LedgerFile, LedgerWrites } from "./ledger_file.ts";
import {
  type ComputedChanges,
  LedgerBrokenError,
  LedgerReplica,
} from "./ledger_replica.ts";
import type { LocalLedger } from "./local_ledger.ts";
import { adding, type LogPage, readPage, takeTurn } from "./postgres_log.ts";

/** Options of {@linkcode SharedLedger}. */
interface SharedLedgerOptions {
  /**
   * Connections whose search path is the schema; their opener closes them, after
   * the ledger was stopped.
   */
  readonly pool: Pool;
  /** The time of entries: that of the database, so that all relayers agree. */
  readonly clock: Clock;
  /** Told once when the log is not to be trusted. */
  readonly logger: Logger;
  /**
   * Lets a write pass; throws where it would not be as durable as promised.
   *
   * @default every write passes
   */
  readonly demandDurable?: (() => void) | undefined;
  /**
   * The package of the accounts' contract.
   *
   * @default that of an embedded ledger
   */
  readonly packageId?: string | undefined;
}

/** Most changes of one commit. */
const MAX_GROUP = 100;
/** Most bytes of changes of one commit, by what they take while they wait. */
const MAX_GROUP_BYTES = 4 * 1_048_576;
const MAX_WAITING_BYTES = 64 * 1_048_576;
const RETRY_MS = 1_000;
/** How often a commit is tried whose outcome is not known. */
const MAX_TRIES = 3;
/** For how long a relayer that hangs may keep others from adding entries. */
const IDLE_MS = 3_000;

/** A change that waits. */
interface WaitingChange {
  readonly apply: () => unknown;
  readonly bytes: number;
  readonly from?: string | undefined;
}

/** Reads accounts, and changes them, in a log that others change as well. */
export class SharedLedger implements Ledger {
  /** Queues changes of {@linkcode replica}, as those of a file are queued. */
  readonly writes: LedgerFile["writes"] = {
    add: async <T>(...[apply, of]: Parameters<LedgerWrites["add"]>) => {
      const result = await this.#changes.call({ apply, ...of });
      if (result.kind === "failed") throw result.error;
      return result.value as T;
    },
  };
  /** Counts transactions of changes by network address, over all relayers. */
  readonly addresses = new AddressShares();
  readonly #options: SharedLedgerOptions;
  readonly #replica: LedgerReplica;
  readonly #changes: GatheredCalls<WaitingChange, Settled<unknown>>;
  readonly #looks: GatheredCalls<void, Settled<void>>;
  #isTrusted = true;

  private constructor(options: SharedLedgerOptions) {
    this.#options = options;
    const { packageId, clock } = options;
    this.#replica = new LedgerReplica({
      packageId,
      clock,
      writes: this.writes,
    });
    const busy = () => new StoreBusyError(RETRY_MS);
    this.#changes = new GatheredCalls({
      run: async (changes) => {
        const done = await settle(() => asStore(() => this.#change(changes)));
        return done.kind === "ok" ? done.value : changes.map(() => done);
      },
      ...{ busy, maxGroup: MAX_GROUP, weigh: ({ bytes }) => bytes },
      maxGroupWeight: MAX_GROUP_BYTES,
      maxWaitingWeight: MAX_WAITING_BYTES,
    });
    this.#looks = new GatheredCalls({
      // All callers get the same outcome, and none looks again by itself.
      run: async (callers) => {
        const look = await settle(() => asStore(() => this.#look()));
        return callers.map(() => look);
      },
      busy,
    });
  }

  /**
   * Makes the replica from the log; the tables are there. A thousand entries
   * take about a second.
   *
   * @throws {LedgerBrokenError} when the log is not to be trusted
   * @throws {StoreFailedError} when the database fails
   * @throws {TypeError} when the package's id is not valid
   */
  static async open(options: SharedLedgerOptions): Promise<SharedLedger> {
    const opened = new SharedLedger(options);
    try {
      await opened.catchUp();
      return opened;
    } catch (error) {
      opened.#replica.close();
      throw error;
    }
  }

  /** The package of the accounts' contract. */
  get packageId(): string {
    return this.replica.packageId;
  }

  /**
   * The ledger as of the last look at the log. Changes have to run
   * within {@linkcode change}.
   */
  get replica(): LocalLedger {
    return this.#replica.ledger;
  }

  /**
   * Brings the replica up to the log, as it is now or later.
   *
   * @throws {LedgerBrokenError} when the log is not to be trusted
   * @throws {StoreFailedError} when the database fails
   */
  async catchUp(): Promise<void> {
    const look = await this.#looks.call();
    if (look.kind === "failed") throw look.error;
  }

  /**
   * Runs a change on the newest state, alone among all relayers; what it enters
   * into the log is durable when this resolves. It may run several times.
   *
   * @throws {LedgerBrokenError} when the log is not to be trusted
   * @throws {StoreBusyError} when too many changes wait
   * @throws {StoreFailedError} when it is unknown whether the change was made
   * @throws what `apply` throws; nothing was changed then
   */
  change<T>(apply: (ledger: LocalLedger) => T): Promise<T> {
    return this.writes.add(() => apply(this.replica), { bytes: 0 });
  }

  /** The account of an id. */
  account(accountId: string): Promise<AccountOutcome> {
    return this.#read((ledger) => ledger.account(accountId));
  }

  /** The account that a key speaks for. */
  accountOfKey(publicKey: string): Promise<AccountOutcome> {
    return this.#read((ledger) => ledger.accountOfKey(publicKey));
  }

  /** The account of an owner's address. */
  accountOfOwner(owner: string): Promise<AccountOutcome> {
    return this.#read((ledger) => ledger.accountOfOwner(owner));
  }

  /** Waits for what is under way. */
  async stop(): Promise<void> {
    await Promise.all([this.#changes.idle(), this.#looks.idle()]);
    this.#replica.close();
  }

  async #read(
    read: (ledger: LocalLedger) => Promise<AccountOutcome>,
  ): Promise<AccountOutcome> {
    const look = await settle(() => this.catchUp());
    return look.kind === "ok"
      ? await read(this.replica)
      : { kind: "unavailable", reason: describeError(look.error) };
  }

  #look(): Promise<void> {
    return this.#follow(this.#options.pool, readPage);
  }

  /** Adds all entries of the log that the replica lacks. */
  async #follow(
    runner: Runner,
    first: (runner: Runner, after: number) => Promise<LogPage>,
  ): Promise<void> {
    const { log } = this.replica;
    let read = first;
    for (;;) {
      const { sequence, hash } = log.head();
      const page = await read(runner, sequence);
      try {
        demandKnown(page.known, { sequence, hash });
        this.#replica.add(page.entries);
      } catch (error) {
        this.#tell(error);
        throw error;
      }
      this.#isTrusted = true;
      if (!page.hasMore) return;
      read = readPage;
    }
  }

  /** Logs that the log is not to be trusted, once. */
  #tell(error: unknown): void {
    if (!(error instanceof LedgerBrokenError) || !this.#isTrusted) return;
    this.#isTrusted = false;
    this.#options.logger.error(error.message);
  }

  /** Makes changes in one commit, and replays what it added. */
  async #change(
    changes: readonly WaitingChange[],
  ): Promise<readonly Settled<unknown>[]> {
    const { pool, clock, demandDurable } = this.#options;
    const addresses = changes.flatMap(({ from }) => from ?? []);
    demandDurable?.();
    let tried: ComputedChanges | undefined;
    for (let tries = 1;; tries++) {
      const outcome = await settle(() =>
        pool.transaction(async (open) => {
          // Sent behind the statement that takes the turn.
          await Promise.all([
            this.#follow(open, takeTurn),
            this.addresses.read(open, { addresses, nowMs: clock.nowMs() }),
          ]);
          // The commit of the try before was made, though its answer was lost.
          if (tried !== undefined && this.#has(tried.entries)) return tried;
          tried = this.#replica.compute(changes.map(({ apply }) => apply));
          const { entries } = tried;
          if (entries.length > 0) {
            const counted = this.addresses.statements();
            await open.commit([ON_DISK, adding(entries), ...counted]);
          }
          return tried;
        }, { idleMs: IDLE_MS })
      );
      if (outcome.kind === "ok") {
        const { results, entries } = outcome.value;
        this.#replica.add(entries);
        return results;
      }
      const { error } = outcome;
      if (!mayTryAgain(error) || tries === MAX_TRIES) throw error;
    }
  }

  #has(entries: readonly Entry[]): boolean {
    const last = entries.at(-1);
    return last !== undefined && this.#replica.has(last);
  }
}

/** Checks that the log still has the last entry that was seen. */
function demandKnown(
  known: Uint8Array | undefined,
  { sequence, hash }: Pick<Entry, "sequence" | "hash">,
): void {
  if (sequence === 0) return;
  if (known === undefined) {
    throw new LedgerBrokenError(
      sequence,
      "it is gone, so the log was set back behind this relayer's back",
    );
  }
  if (known.toHex() !== hash.toHex()) {
    throw new LedgerBrokenError(sequence, "it was another one before");
  }
}

/**
 * Whether a commit may be tried again: its outcome is unknown, or another one
 * was in its way, which the next try sees.
 */
function mayTryAgain(error: unknown): boolean {
  return error instanceof StoreFailedError || mayRunAgain(error) ||
    violatedConstraint(error) !== undefined;
}
