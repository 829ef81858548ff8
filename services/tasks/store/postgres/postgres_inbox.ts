/**
 * Reads the inbox: looks for requests, keeps those of a tenant to one instance
 * at a time, and keeps the refused ones.
 *
 * A look is made many times a second. It has to be cheap even while a long
 * transaction of another program keeps dead rows from being cleared away. So it
 * passes over transactions whose requests an earlier look has seen. A request
 * that a snapshot did not show comes from a transaction that the snapshot lists
 * as under way, or from a later one.
 *
 * @module
 */

import { storeFailure } from "../../../shared/postgres/failure.ts";
import type { Pool } from "../../../shared/postgres/pool.ts";
import { INBOX_LANE, type LimitLocks } from "./limit_locks.ts";
import type {
  Inbox,
  InboxLook,
  InboxRequest,
  Refusal,
  RefusedQuery,
  RefusedRequest,
  RequestHead,
} from "../inbox.ts";

/** Options of {@linkcode PostgresInbox}. */
export interface PostgresInboxOptions {
  /** Connections: queries look, batches write. */
  readonly reading: Pool;
  /**
   * Connections of which one is taken while requests are handled; others than
   * those by which they are handled.
   */
  readonly locking: Pool;
  /** Makes the rows by which instances keep tenants' requests to themselves. */
  readonly locks: LimitLocks;
  /** Milliseconds of a clock that only goes forward. */
  readonly monotonicMs: () => number;
}

/** The most requests that a look finds. */
const MAX_FOUND = 1_000;
/** The most requests that are handled at once, and of one tenant. */
const MAX_SHOWN = 500;
const MAX_SHOWN_OF_TENANT = 50;
/** The most bytes of the requests that are handled at once, but for the first. */
const MAX_SHOWN_BYTES = 8_000_000;
/**
 * How often a look passes over nothing: after a failover, transactions may have
 * lower numbers than those that the lost server had reached.
 */
const FULL_LOOK_MS = 2_000;
/**
 * Such looks take at most one part in this many of the time: they read the rows
 * that a long transaction keeps from being cleared away.
 */
const FULL_LOOK_SHARE = 50;
/** How long refused requests are kept, and the most of a tenant. */
const KEPT_MS = 30 * 86_400_000;
const MAX_KEPT = 10_000;
/** The most bytes of a tenant's refused requests, but for the newest one. */
const MAX_KEPT_BYTES = 64_000_000;
/** The most rows that are erased by one statement. */
const ERASE_STEP = 1_000;

/** A request that a look has found. */
interface Found {
  readonly id: number;
  readonly tenant: number;
  readonly xact: number;
  readonly bytes: number;
  readonly asked_ms: number;
}

/** The transactions that may have requests which no look has seen. */
interface Unseen {
  /** All from this one on. */
  readonly since: number;
  /** These before it. */
  readonly among: readonly number[];
}

interface HeadRow {
  readonly id: number;
  readonly tenant_id: string;
  readonly role: string;
  readonly asked_ms: number;
  readonly worker: string;
  readonly key: string | null;
}

interface RequestRow extends HeadRow {
  readonly data: string | null;
  readonly options: string;
}

const ALL: Unseen = { since: 0, among: [] };

const FOUND_COLUMNS = "id, tenant, xact, bytes, asked_ms";

const LOOK = "SELECT look.*, found.* FROM (SELECT " +
  "pg_current_snapshot()::text AS snapshot, now_ms() AS at_ms, " +
  "EXISTS(SELECT FROM enqueue_roles) AS is_open) AS look LEFT JOIN (" +
  `(SELECT ${FOUND_COLUMNS} FROM inbox WHERE xact = ANY($2::bigint[]) ` +
  "LIMIT $3::bigint) UNION ALL " +
  `(SELECT ${FOUND_COLUMNS} FROM inbox WHERE xact >= $1::bigint ` +
  "ORDER BY xact, id LIMIT $3::bigint)) AS found ON true";

/** The first requests of each tenant, for when there are too many. */
const FIRST_OF_EACH = "WITH RECURSIVE those(tenant) AS (" +
  "(SELECT tenant FROM inbox ORDER BY tenant LIMIT 1) UNION ALL " +
  "SELECT (SELECT tenant FROM inbox WHERE tenant > those.tenant " +
  "ORDER BY tenant LIMIT 1) FROM those WHERE those.tenant IS NOT NULL) " +
  "SELECT first.* FROM those CROSS JOIN LATERAL (" +
  `SELECT ${FOUND_COLUMNS} FROM inbox WHERE inbox.tenant = those.tenant ` +
  "AND id <> ALL($3::bigint[]) " +
  "ORDER BY id LIMIT $1::bigint) AS first LIMIT $2::bigint";

/** The small columns, of which many rows may be read at once. */
const HEAD_COLUMNS = "there.id, of.id AS tenant_id, role, asked_ms, " +
  "worker, key";
const REQUEST_COLUMNS = `${HEAD_COLUMNS}, data, options`;

/** The inbox of a schema. */
export class PostgresInbox implements Inbox {
  readonly #options: PostgresInboxOptions;
  #unseen = ALL;
  #fullLookAtMs = -Infinity;

  /** Takes the connections. */
  constructor(options: PostgresInboxOptions) {
    this.#options = options;
  }

  /** See {@linkcode Inbox.take}. */
  async take(
    handle: (requests: readonly InboxRequest[]) => Promise<void>,
    except: ReadonlySet<number> = new Set(),
  ): Promise<InboxLook> {
    const { found, ...look } = await ofStore(() => this.#look(except));
    const chosen = choose(found.filter(({ id }) => !except.has(id)));
    if (chosen.length === 0) return { ...look, shown: 0 };
    const tenants = [...new Set(chosen.map(({ tenant }) => tenant))];
    const turns = tenants.map((tenant) => ({ tenant, lane: INBOX_LANE }));
    const { locks } = this.#options;
    let shown = 0;
    let failure: { readonly error: unknown } | undefined;
    await ofStore(async () => {
      await locks.demand(turns);
      await this.#options.locking.transaction(async (open) => {
        // Rows, which no other role can lock. With advisory locks, a role could
        // keep all instances from taking requests over. Nothing is lost with
        // the locks, so their commit waits neither for the disk nor a standby.
        const locked = await open.query<{ tenant: number }>(
          "SELECT tenant, set_config('synchronous_commit', 'off', true) " +
            "FROM limits WHERE tenant = ANY($1::integer[]) AND " +
            "lane = $2::integer FOR UPDATE SKIP LOCKED",
          [tenants, INBOX_LANE],
        );
        // Others have the rest, or a failover has lost their rows.
        if (locked.length < tenants.length) locks.forget(turns);
        if (locked.length === 0) return;
        const rows = await open.query<RequestRow>(
          `SELECT ${REQUEST_COLUMNS} FROM inbox AS there ` +
            "JOIN tenants AS of USING(tenant) WHERE " +
            "there.id = ANY($1::bigint[]) AND tenant = ANY($2::integer[]) " +
            "ORDER BY there.id",
          [chosen.map(({ id }) => id), locked.map(({ tenant }) => tenant)],
        );
        shown = rows.length;
        if (shown === 0) return;
        try {
          await handle(rows.map(toRequest));
        } catch (error) {
          failure = { error };
        }
      });
    });
    if (failure !== undefined) throw failure.error;
    return { ...look, shown };
  }

  /** See {@linkcode Inbox.refuse}. */
  async refuse(refusals: readonly Refusal[]): Promise<number> {
    const { reading } = this.#options;
    const [refused = []] = await reading.batch([{
      sql: "WITH given AS (SELECT * FROM unnest($1::bigint[], $2::text[]) " +
        "AS of(id, problem)), gone AS (DELETE FROM inbox USING given " +
        "WHERE inbox.id = given.id RETURNING inbox.*, given.problem) " +
        "INSERT INTO inbox_refused(id, tenant, role, asked_ms, worker, key, " +
        "data, options, refused_ms, expires_ms, problem) " +
        "SELECT id, tenant, role, asked_ms, worker, key, data, options, " +
        "now_ms(), now_ms() + $3::bigint, problem FROM gone RETURNING tenant",
      parameters: [
        refusals.map(({ number }) => number),
        refusals.map(({ problem }) => problem),
        KEPT_MS,
      ],
    }]);
    for (const tenant of new Set(refused.map((row) => Number(row["tenant"])))) {
      await reading.batch([{
        sql:
          "DELETE FROM inbox_refused WHERE tenant = $1::integer AND id <= (" +
          "SELECT id FROM (SELECT id, row_number() OVER newest AS count, " +
          "sum(coalesce(octet_length(data), 0) + octet_length(options) + " +
          "octet_length(problem)) OVER newest AS bytes FROM inbox_refused " +
          "WHERE tenant = $1::integer WINDOW newest AS (ORDER BY id DESC)) " +
          "AS kept WHERE count > $2::bigint OR count > 1 AND bytes > $3::bigint " +
          "ORDER BY id DESC LIMIT 1)",
        parameters: [tenant, MAX_KEPT, MAX_KEPT_BYTES],
      }]);
    }
    return refused.length;
  }

  /** See {@linkcode Inbox.refused}. */
  async refused(
    { tenantId, limit, before = Number.MAX_SAFE_INTEGER }: RefusedQuery,
  ): Promise<readonly RefusedRequest[]> {
    const rows = await this.#options.reading.query<
      HeadRow & { readonly refused_ms: number; readonly problem: string }
    >(
      `SELECT ${HEAD_COLUMNS}, refused_ms, problem ` +
        "FROM inbox_refused AS there JOIN tenants AS of USING(tenant) " +
        "WHERE tenant = (SELECT tenant FROM tenants WHERE id = $1::text) AND " +
        "there.id < $2::bigint ORDER BY there.id DESC LIMIT $3::bigint",
      [tenantId, before, limit],
    );
    return rows.map((row) => ({
      ...toHead(row),
      refusedAtMs: row.refused_ms,
      problem: row.problem,
    }));
  }

  /** See {@linkcode Inbox.erase}. */
  async erase(tenantId: string): Promise<number> {
    let erased = 0;
    // The roles first, so that nothing is added after the rest.
    for (const table of ["enqueue_roles", "inbox", "inbox_refused"]) {
      const [gone] = await this.#options.reading.batch([{
        sql: `DELETE FROM ${table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM ` +
          `${table} WHERE tenant = (SELECT tenant FROM tenants ` +
          "WHERE id = $1::text) LIMIT $2::bigint))",
        parameters: [tenantId, ERASE_STEP],
      }]);
      erased += gone?.count ?? 0;
    }
    return erased;
  }

  async #look(
    except: ReadonlySet<number>,
  ): Promise<
    Omit<InboxLook, "shown"> & { readonly found: readonly Found[] }
  > {
    const { reading, monotonicMs } = this.#options;
    const nowMs = monotonicMs();
    const isFull = nowMs >= this.#fullLookAtMs;
    const { since, among } = isFull ? ALL : this.#unseen;
    const rows = await reading.query<
      Found & {
        readonly snapshot: string;
        readonly is_open: boolean;
        readonly at_ms: number;
      }
    >(LOOK, [since, among, MAX_FOUND]);
    const [first] = rows;
    if (first === undefined) return { isOpen: false, waitedMs: 0, found: [] };
    const { is_open: isOpen, at_ms: atMs } = first;
    const found = rows.filter(({ id }) => id !== null);
    const waitedMs = Math.max(0, ...found.map((one) => atMs - one.asked_ms));
    if (found.length >= MAX_FOUND) {
      // Some may not have been seen. None of the tenants waits for the others.
      const firsts = await reading.query<Found>(FIRST_OF_EACH, [
        MAX_SHOWN_OF_TENANT,
        MAX_FOUND,
        [...except],
      ]);
      return { isOpen, waitedMs, found: firsts };
    }
    const seen = readSnapshot(first.snapshot);
    this.#unseen = {
      since: seen.since,
      among: [...new Set([...seen.among, ...found.map(({ xact }) => xact)])],
    };
    if (isFull) {
      const endMs = monotonicMs();
      const waitMs = Math.max(FULL_LOOK_MS, (endMs - nowMs) * FULL_LOOK_SHARE);
      this.#fullLookAtMs = endMs + waitMs;
    }
    return { isOpen, waitedMs, found };
  }
}

/** The transactions that a snapshot, such as "10:20:10,14,15", does not show. */
function readSnapshot(snapshot: string): Unseen {
  const [, end = "0", list = ""] = snapshot.split(":");
  const among = list === "" ? [] : list.split(",").map(Number);
  return { since: Number(end), among };
}

/** The first requests of each tenant, as many as are handled at once. */
function choose(found: readonly Found[]): readonly Found[] {
  const chosen: Found[] = [];
  const ofTenant = new Map<number, number>();
  let bytes = 0;
  for (const one of [...found].sort((a, b) => a.id - b.id)) {
    const count = ofTenant.get(one.tenant) ?? 0;
    if (count >= MAX_SHOWN_OF_TENANT) continue;
    bytes += one.bytes;
    const isTooMuch = bytes > MAX_SHOWN_BYTES && chosen.length > 0;
    if (isTooMuch || chosen.length >= MAX_SHOWN) break;
    ofTenant.set(one.tenant, count + 1);
    chosen.push(one);
  }
  return chosen;
}

function toHead(row: HeadRow): RequestHead {
  return {
    number: row.id,
    tenantId: row.tenant_id,
    role: row.role,
    askedAtMs: row.asked_ms,
    worker: row.worker,
    key: row.key ?? undefined,
  };
}

function toRequest(row: RequestRow): InboxRequest {
  return {
    ...toHead(row),
    dataJson: row.data ?? undefined,
    optionsJson: row.options,
  };
}

/** Every error of the database is one of the store. */
async function ofStore<Answer>(run: () => Promise<Answer>): Promise<Answer> {
  try {
    return await run();
  } catch (error) {
    throw storeFailure(error);
  }
}
