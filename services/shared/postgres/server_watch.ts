/**
 * Knows which server answers, and when another one has taken over: a standby
 * that was promoted, or the same data on another machine. Its clock may differ.
 *
 * @module
 */

import { type Clock, steadyClock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import { StoreFailedError } from "../store_failed.ts";

/** What tells servers, and lives of a server, apart. */
export interface ServerIdentity {
  /** Whether it takes no writes. */
  readonly isStandby: boolean;
  /** The data's own id; undefined where the server does not tell. */
  readonly system: string | undefined;
  /** Counts promotions; undefined where the server does not tell. */
  readonly timeline: number | undefined;
  /** When the server was started, by its own clock. */
  readonly started: string;
}

const LEAST_COLUMNS = "pg_is_in_recovery() OR " +
  "current_setting('transaction_read_only') = 'on' AS standby, " +
  "pg_postmaster_start_time()::text AS started";
const CONTROL = "(SELECT system_identifier::text FROM pg_control_system())";
// The control file names the new timeline only after a checkpoint.
const TIMELINE = "CASE WHEN pg_is_in_recovery() THEN NULL ELSE " +
  "('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END";

/** Columns of a statement that {@linkcode readIdentity} understands. */
export const IDENTITY_COLUMNS =
  `${LEAST_COLUMNS}, ${CONTROL} AS system, ${TIMELINE} AS timeline`;

/** The same for servers that do not let a role see their files. */
export const LEAST_IDENTITY_COLUMNS =
  `${LEAST_COLUMNS}, NULL AS system, NULL AS timeline`;

/** The identity in a row of {@linkcode IDENTITY_COLUMNS}. */
export function readIdentity(
  row: Readonly<Record<string, unknown>> = {},
): ServerIdentity {
  return {
    isStandby: row["standby"] === true,
    system: row["system"] === null ? undefined : String(row["system"]),
    timeline: row["timeline"] === null ? undefined : Number(row["timeline"]),
    started: String(row["started"]),
  };
}

/** Options of {@linkcode ServerWatch}. */
interface ServerWatchOptions {
  /** Measures how long ago another server took over. */
  readonly clock: Clock;
  /** Is told when one does. */
  readonly logger: Logger;
}

/** Compares the server that answers with the one before it. */
export class ServerWatch {
  readonly #clock: Clock;
  readonly #logger: Logger;
  #last: ServerIdentity | undefined;
  #changedMs: number | undefined;

  /** A watch that has seen no server. */
  constructor({ clock, logger }: ServerWatchOptions) {
    this.#clock = steadyClock(clock);
    this.#logger = logger;
  }

  /**
   * Notes who answers.
   *
   * @throws {StoreFailedError} when it is a standby, or a primary from before a
   * promotion that was seen; what it commits would be lost
   */
  see(identity: ServerIdentity): void {
    const last = this.#last;
    const { isStandby, system, timeline, started } = identity;
    if (isStandby) {
      throw new StoreFailedError("the server is a standby and takes no writes");
    }
    if (system === last?.system && (timeline ?? 0) < (last?.timeline ?? 0)) {
      throw new StoreFailedError(
        `the server is on timeline ${timeline}, and timeline ` +
          `${last?.timeline} has been seen; it is an old primary`,
      );
    }
    this.#last = identity;
    // Whether a promotion was a moment ago, an instance that starts can't know;
    // on the first timeline, there was none.
    const isSame = last === undefined
      ? timeline === 1
      : last.system === system && last.timeline === timeline &&
        last.started === started;
    if (isSame) return;
    this.#changedMs = this.#clock.nowMs();
    if (last === undefined) return;
    this.#logger.warn("Another database server answers", {
      timeline,
      started,
      started_before: last.started,
    });
  }

  /**
   * Milliseconds since another server took over, as far as this instance knows;
   * infinite when none did.
   */
  msSinceChange(): number {
    if (this.#changedMs === undefined) return Infinity;
    return this.#clock.nowMs() - this.#changedMs;
  }
}
