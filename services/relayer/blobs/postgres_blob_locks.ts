/**
 * Runs works for the same blob one after the other, over all relayers of a
 * schema: none may remove bytes that another one is about to name, and of two
 * accounts that claim a blob one is the first.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import { asStore, sqlState } from "../../shared/postgres/failure.ts";
import type { Pool } from "../../shared/postgres/pool.ts";
import { settle, type Settled, waitAtMost } from "../../shared/settled.ts";
import { StoreBusyError } from "../../shared/store_failed.ts";
import { BlobLocks } from "../concurrency/semaphore.ts";

/** Options of {@linkcode PostgresBlobLocks}. */
interface PostgresBlobLocksOptions {
  /**
   * Connections for locks alone, as a lock has one while its work uses others:
   * as many works run at a time. Its opener closes them.
   */
  readonly pool: Pool;
  /** The schema, since the locks are the database's. */
  readonly schema: string;
  /** Sets the timers. */
  readonly clock: Clock;
}

/** For how long a work waits for its lock at most, in milliseconds. */
const LONGEST_WAIT_MS = 10_000;
/** After how long a work has to give up what it has not committed to yet. */
const LONGEST_WORK_MS = 45_000;
/**
 * After how long the server takes the lock away. Until then, a work that was
 * told to give up has ended its last statements.
 */
const LOST_MS = 150_000;
const RETRY_MS = 1_000;
const LOCK = "SELECT pg_advisory_xact_lock(hashtextextended($1::text, 0))";
/** The server's code for a lock that was not had in time. */
const LOCK_NOT_AVAILABLE = "55P03";

/** Locks of the database, each held by a transaction that does nothing else. */
export class PostgresBlobLocks {
  readonly #options: PostgresBlobLocksOptions;
  /** Works of this relayer wait here, without a connection. */
  readonly #own = new BlobLocks();

  /** Uses these connections. */
  constructor(options: PostgresBlobLocksOptions) {
    this.#options = options;
  }

  /**
   * Runs work when all earlier work for the same blob has ended, on any relayer.
   * Its outcome is that of the work, whatever becomes of the lock meanwhile.
   *
   * @param work is given a signal, which is aborted when the work has to end: it
   * must then name no bytes that another one may remove
   * @throws what `work` throws
   * @throws {StoreBusyError} when the lock is not had in time
   * @throws {StoreFailedError} when the database fails before the work begins
   */
  async run<Result>(
    blobId: string,
    work: (held: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const begun = Promise.withResolvers<void>();
    let state: "waiting" | "begun" | "late" = "waiting";
    let done: Settled<Result> | undefined;
    const running = this.#own.run(blobId, async () => {
      if (state === "late") return;
      const ended = await settle(() =>
        asStore(() =>
          this.#locked(blobId, async () => {
            if (state === "late") return;
            state = "begun";
            begun.resolve();
            done = await settle(() => this.#timed(work));
          })
        )
      );
      // The work is done: that its lock ended otherwise changes nothing.
      if (ended.kind === "failed" && done === undefined) throw ended.error;
    });
    const { clock } = this.#options;
    await waitAtMost(Promise.race([begun.promise, running]), {
      ...{ clock, timeoutMs: LONGEST_WAIT_MS },
    });
    if (state === "waiting") {
      state = "late";
      running.catch(() => {});
      throw new StoreBusyError(RETRY_MS);
    }
    await running;
    return resultOf(done);
  }

  /** Calls `use` while the lock is held. */
  async #locked(blobId: string, use: () => Promise<void>): Promise<void> {
    const { pool, schema } = this.#options;
    try {
      await pool.transaction(async (open) => {
        await Promise.all([
          open.query(`SET LOCAL lock_timeout = ${LONGEST_WAIT_MS}`),
          open.query(LOCK, [`${schema} blob ${blobId}`]),
        ]);
        await use();
      }, { idleMs: LOST_MS });
    } catch (error) {
      throw sqlState(error) === LOCK_NOT_AVAILABLE
        ? new StoreBusyError(RETRY_MS)
        : error;
    }
  }

  async #timed<Result>(
    work: (held: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const ending = new AbortController();
    const timer = this.#options.clock.setTimer(
      () => ending.abort(new StoreBusyError(RETRY_MS)),
      LONGEST_WORK_MS,
    );
    try {
      return await work(ending.signal);
    } finally {
      timer.cancel();
    }
  }
}

function resultOf<Result>(done: Settled<Result> | undefined): Result {
  if (done === undefined) throw new StoreBusyError(RETRY_MS);
  if (done.kind === "failed") throw done.error;
  return done.value;
}
