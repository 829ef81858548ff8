/**
 * Reads the rows of jobs, and says who has them.
 *
 * A commit of a lease waits for no disk and no standby. A failover that loses it
 * loses all that was written because of it; another instance may then do the job
 * as well, as after a lease that has ended, and the version of the job lets one
 * of them write. Rows that a commit holds, perhaps while it waits for a standby,
 * are passed over: they are about to change, or to be given back.
 *
 * @module
 */

import { UNAWAITED } from "../../../shared/postgres/pool.ts";
import type { Row, Runner } from "../../../shared/postgres/session.ts";
import {
  FIRST_FINISHED,
  FIRST_SETTLED,
  IS_DELETED,
  JOBS,
  readJob,
} from "../row_columns.ts";
import type { JobRow } from "../rows.ts";
import type { RelayerStore } from "../store.ts";
import { NamedRows, qualify } from "./named_rows.ts";

const UNFINISHED = `status < ${FIRST_FINISHED}`;
const COLUMNS = `${JOBS.selected}, leased_by AS "leasedBy", ` +
  'leased_until_ms AS "leasedUntilMs", payload';

/** The instances that live. */
const ALIVE = "SELECT member->>'id' FROM members, " +
  "json_array_elements(state::json->'members') AS member";

/** When leases are judged. */
interface LeaseTime {
  /** The time, in milliseconds since the epoch. */
  readonly nowMs: number;
  /** Whether leases may be judged to have ended. */
  readonly mayEnd: boolean;
}

/** How many jobs are under way, by the id of the instance that has them. */
export type LeasedJobs = ReadonlyMap<string, number>;

/** The most jobs, in the order in which they are due, that are counted. */
const MAX_COUNTED = 10_000;

/** Reads jobs. */
export class JobReads {
  readonly #runner: Runner;
  /** Jobs by id. */
  readonly jobs: RelayerStore["jobs"];

  /** Takes the connections to use. */
  constructor(runner: Runner) {
    this.#runner = runner;
    this.jobs = new NamedRows(runner, {
      ...{ table: "jobs", columns: qualify(COLUMNS, "jobs"), read: toJob },
    }).find;
  }

  /** Those of some jobs for which a request waits no longer. */
  settledJobs: RelayerStore["settledJobs"] = async (jobs) => {
    const rows = await this.#runner.query(
      "SELECT of.owner, of.id FROM unnest($1::text[], $2::text[]) " +
        "AS of(owner, id) LEFT JOIN jobs USING(owner, id) " +
        `WHERE status IS NULL OR status >= ${FIRST_SETTLED}`,
      [jobs.map(({ owner }) => owner), jobs.map(({ id }) => id)],
    );
    return rows.map((row) => ({
      owner: String(row["owner"]),
      id: String(row["id"]),
    }));
  };

  /** Takes jobs whose next attempt is due. */
  async lease(
    leases: Parameters<RelayerStore["leaseJobs"]>[0],
    mayEnd: boolean,
  ): Promise<readonly JobRow[]> {
    const { nowMs, dueMs = nowMs, limit, instance, leaseMs } = leases;
    const rows = await this.#runner.query(
      `WITH due AS MATERIALIZED (SELECT owner, id, n, next_attempt_ms, ` +
        `payload_bytes FROM jobs WHERE ${UNAWAITED} AND ${UNFINISHED} ` +
        "AND next_attempt_ms <= $1::bigint AND (leased_until_ms IS NULL OR " +
        "leased_until_ms <= $2::bigint OR $3::boolean AND " +
        `leased_by <> $4::text AND leased_by <> ALL(ARRAY(${ALIVE}))) ` +
        "ORDER BY next_attempt_ms, n LIMIT $5::bigint FOR UPDATE SKIP LOCKED), " +
        "taken AS (SELECT owner, id FROM (SELECT due.*, " +
        "row_number() OVER (ORDER BY next_attempt_ms, n) AS place, " +
        "sum(payload_bytes) OVER (ORDER BY next_attempt_ms, n) AS bytes " +
        "FROM due) AS counted WHERE place = 1 OR bytes <= $6::bigint) " +
        "UPDATE jobs SET leased_by = $4::text, " +
        "leased_until_ms = $7::bigint FROM taken " +
        "WHERE jobs.owner = taken.owner AND jobs.id = taken.id " +
        `RETURNING n, ${qualify(COLUMNS, "jobs")}`,
      [
        dueMs,
        endedBefore({ nowMs, mayEnd }),
        mayEnd,
        instance,
        limit,
        leases.maxBytes ?? Number.MAX_SAFE_INTEGER,
        nowMs + leaseMs,
      ],
    );
    return rows.toSorted((a, b) =>
      Number(a["nextAttemptAtMs"]) - Number(b["nextAttemptAtMs"]) ||
      Number(a["n"]) - Number(b["n"])
    ).map(toJob);
  }

  /** Sets when leases end. */
  renew: RelayerStore["renewLeases"] = async (
    { instance, jobs, untilMs },
  ) => {
    await this.#runner.query(
      "WITH held AS MATERIALIZED (SELECT jobs.owner, jobs.id FROM " +
        "unnest($1::text[], $2::text[]) AS of(owner, id) JOIN jobs " +
        `USING(owner, id) WHERE ${UNAWAITED} AND leased_by = $3::text ` +
        "FOR UPDATE OF jobs SKIP LOCKED) " +
        "UPDATE jobs SET leased_until_ms = $4::bigint FROM held " +
        "WHERE jobs.owner = held.owner AND jobs.id = held.id",
      [
        jobs.map(({ owner }) => owner),
        jobs.map(({ id }) => id),
        instance,
        untilMs,
      ],
    );
  };

  /**
   * When the next attempt of any unfinished job is due, or its lease ends. Jobs
   * that are leased stand before those that are not: they are only looked at
   * when no other one is due.
   */
  async nextMs({ nowMs, mayEnd }: LeaseTime): Promise<number | undefined> {
    const next = "SELECT next_attempt_ms AS ms FROM jobs " +
      `WHERE ${UNFINISHED} AND (leased_until_ms IS NULL OR ` +
      "leased_until_ms <= $1::bigint) ORDER BY next_attempt_ms, n LIMIT 1";
    const [row] = await this.#runner.query(
      `WITH next AS MATERIALIZED (${next}) SELECT CASE ` +
        "WHEN (SELECT ms FROM next) <= $2::bigint THEN (SELECT ms FROM next) " +
        "ELSE least((SELECT ms FROM next), (SELECT " +
        "min(greatest(leased_until_ms, next_attempt_ms)) FROM jobs " +
        `WHERE ${UNFINISHED} AND leased_until_ms > $1::bigint AND ` +
        "next_attempt_ms <= coalesce((SELECT ms FROM next), " +
        "9223372036854775807))) END AS ms",
      [endedBefore({ nowMs, mayEnd }), nowMs],
    );
    const ms = row?.["ms"];
    return typeof ms === "number" ? ms : undefined;
  }

  /** Deleted jobs that are due. */
  deletedJobs: RelayerStore["deletedJobs"] = async ({ nowMs, limit }) => {
    const rows = await this.#runner.query(
      `SELECT ${COLUMNS} FROM jobs WHERE ${IS_DELETED} ` +
        "AND next_attempt_ms <= $1::bigint ORDER BY next_attempt_ms " +
        "LIMIT $2::bigint",
      [nowMs, limit],
    );
    return rows.map(toJob);
  };

  /**
   * How many jobs of an owner are unfinished, and the bytes of their payloads.
   */
  openJobs: RelayerStore["openJobs"] = async (owner) => {
    const [row] = await this.#runner.query(
      "SELECT count(*) AS jobs, coalesce(sum(payload_bytes), 0)::bigint " +
        `AS bytes FROM jobs WHERE owner = $1::text AND ${UNFINISHED}`,
      [owner],
    );
    return { jobs: Number(row?.["jobs"]), bytes: Number(row?.["bytes"]) };
  };

  /** Who has how many of the unfinished jobs that are due first. */
  async leased(nowMs: number): Promise<LeasedJobs> {
    const rows = await this.#runner.query<{ holder: string; jobs: number }>(
      "SELECT leased_by AS holder, count(*) AS jobs FROM (" +
        "SELECT leased_by, leased_until_ms FROM jobs " +
        `WHERE ${UNFINISHED} ORDER BY next_attempt_ms, n ` +
        `LIMIT ${MAX_COUNTED}) AS first ` +
        "WHERE leased_until_ms > $1::bigint GROUP BY leased_by",
      [nowMs],
    );
    return new Map(rows.map(({ holder, jobs }) => [holder, Number(jobs)]));
  }
}

/** Leases that end until then are over; 0 is the end of one given back. */
function endedBefore({ nowMs, mayEnd }: LeaseTime): number {
  return mayEnd ? nowMs : 0;
}

function toJob(row: Row): JobRow {
  const { leasedBy, leasedUntilMs } = row;
  return {
    ...readJob(row),
    leasedBy: typeof leasedBy === "string" ? leasedBy : undefined,
    leasedUntilMs: typeof leasedUntilMs === "number"
      ? leasedUntilMs
      : undefined,
  };
}
