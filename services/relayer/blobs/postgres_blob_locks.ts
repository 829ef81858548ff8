/**
 * Runs works for the same blob one after the other, over all relayers of a
 * schema: none may remove bytes that another one is about to name, and of two
 * accounts that claim a blob one is the first.
 *
 * @module
 */

import { asStore } from "../../shared/postgres/failure.ts";
import type { Pool } from "../../shared/postgres/pool.ts";
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
}

/** For how long a work may have its lock, in milliseconds. */
const LONGEST_WORK_MS = 60_000;
const LOCK = "SELECT pg_advisory_xact_lock(hashtextextended($1::text, 0))";

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
   *
   * @throws what `work` throws
   * @throws {StoreFailedError} when the lock is not had, or was lost meanwhile
   */
  async run<Result>(
    blobId: string,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const { pool, schema } = this.#options;
    return await this.#own.run(
      blobId,
      () =>
        asStore(() =>
          pool.transaction(async (open) => {
            await open.query(LOCK, [`${schema} blob ${blobId}`]);
            return await work();
          }, { idleMs: LONGEST_WORK_MS })
        ),
    );
  }
}
