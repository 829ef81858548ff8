/**
 * Starts a PostgreSQL primary and standbys as real processes, for failovers: a
 * commit is answered when it is on the primary and on one standby.
 *
 * @module
 */

import { PostgresServer } from "./postgres_server.ts";
import { freePort } from "./redis_server.ts";
import { waitUntil } from "./wait_until.ts";

/** Options of {@linkcode PostgresGroup.start}. */
export interface PostgresGroupOptions {
  /**
   * How many servers there are.
   *
   * @default {3}
   */
  readonly servers?: number;
  /**
   * Whether commits wait for a standby.
   *
   * @default {true}
   */
  readonly isSynchronous?: boolean;
}

/** A place of a server, whose port stays when the server is made anew. */
interface Slot {
  readonly name: string;
  readonly port: number;
  server: PostgresServer | undefined;
}

/** How long a standby may take to follow, in milliseconds. */
const FOLLOW_MS = 60_000;
/** The setting that names the standbys which commits wait for. */
const CONFIRMING = "synchronous_standby_names";

/** A primary and its standbys. */
export class PostgresGroup {
  readonly #slots: readonly Slot[];
  readonly #settings: Readonly<Record<string, string>>;
  #primary: Slot;

  private constructor(
    slots: readonly Slot[],
    settings: Readonly<Record<string, string>>,
    primary: Slot,
  ) {
    this.#slots = slots;
    this.#settings = settings;
    this.#primary = primary;
  }

  /** Starts the servers, and waits until all standbys follow. */
  static async start(
    { servers = 3, isSynchronous = true }: PostgresGroupOptions = {},
  ): Promise<PostgresGroup> {
    const slots = Array.from({ length: servers }, (_, index): Slot => ({
      name: `server_${index}`,
      port: freePort(),
      server: undefined,
    }));
    const [primary] = slots;
    if (primary === undefined) throw new RangeError("Cannot start: no server");
    const names = slots.map(({ name }) => name).join(", ");
    const settings = {
      // Processes are killed, the machine is not: what the system has is safe.
      fsync: "off",
      wal_keep_size: "256MB",
      max_wal_senders: "10",
      hot_standby: "on",
      ...(isSynchronous ? { [CONFIRMING]: `ANY 1 (${names})` } : {}),
    };
    const group = new PostgresGroup(slots, settings, primary);
    try {
      // Without standbys, a synchronous primary answers no commit yet; none is
      // needed to copy it.
      primary.server = new PostgresServer({ settings, port: primary.port });
      await primary.server.start();
      await group.heal();
      return group;
    } catch (error) {
      await group.stop();
      throw error;
    }
  }

  /** The servers in a URL, with the one that takes writes at any place. */
  get hosts(): string {
    return this.#slots.map(({ port }) => `127.0.0.1:${port}`).join(",");
  }

  /** The URL for clients. */
  get url(): string {
    return `postgres://postgres@${this.hosts}/postgres`;
  }

  /** The server that takes writes. */
  get primary(): PostgresServer {
    const { server } = this.#primary;
    if (server === undefined) throw new Error("Cannot use the primary: killed");
    return server;
  }

  /** The standbys that run. */
  get standbys(): readonly PostgresServer[] {
    return this.#following.flatMap(({ server }) => server ?? []);
  }

  get #following(): readonly Slot[] {
    return this.#slots.filter((slot) =>
      slot !== this.#primary && slot.server !== undefined
    );
  }

  /**
   * Kills the primary, promotes the standby that has received most, and lets
   * the others follow it.
   *
   * @returns when the new primary was promoted, in milliseconds of
   * `performance.now()`
   */
  async failOver(): Promise<number> {
    const old = this.#primary;
    await old.server?.end("SIGKILL");
    const candidates = await Promise.all(
      this.#following.map(async (slot) => {
        const [row] = await slot.server!.sql<{ readonly bytes: string }>(
          "SELECT pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0')::text " +
            "AS bytes",
        );
        return { slot, bytes: BigInt(row?.bytes ?? "0") };
      }),
    );
    const [best] = candidates.sort((one, other) =>
      one.bytes > other.bytes ? -1 : one.bytes < other.bytes ? 1 : 0
    );
    if (best === undefined) throw new Error("Cannot fail over: no standby");
    await old.server?.stop();
    old.server = undefined;
    this.#primary = best.slot;
    await best.slot.server!.promote();
    const promotedAtMs = performance.now();
    for (const { slot } of candidates) {
      if (slot === best.slot) continue;
      await follow(slot, best.slot);
    }
    return promotedAtMs;
  }

  /**
   * Lets the standbys have what the primary has, and nothing of what it gets
   * later, as where they are asynchronous and slow.
   */
  async cutOff(): Promise<void> {
    const [row] = await this.primary.sql<{ readonly at: string }>(
      "SELECT pg_current_wal_lsn()::text AS at",
    );
    for (const standby of this.standbys) {
      await waitUntil(
        () => holds(standby, `pg_last_wal_replay_lsn() >= '${row?.at}'`),
        { what: "a standby to catch up", timeoutMs: FOLLOW_MS },
      );
      await standby.sql("ALTER SYSTEM SET primary_conninfo = ''");
      await standby.sql("SELECT pg_reload_conf()");
      await waitUntil(
        () => holds(standby, "NOT EXISTS(SELECT FROM pg_stat_wal_receiver)"),
        { what: "a standby to be cut off", timeoutMs: FOLLOW_MS },
      );
    }
  }

  /** Kills a standby, which {@linkcode heal} makes anew. */
  async killStandby(): Promise<void> {
    const [slot] = this.#following;
    await slot?.server?.end("SIGKILL");
    await slot?.server?.stop();
    if (slot !== undefined) slot.server = undefined;
  }

  /** Makes the missing standbys, and waits until all of them follow. */
  async heal(): Promise<void> {
    for (const slot of this.#slots) {
      if (slot.server !== undefined) continue;
      const server = new PostgresServer({
        primary: this.primary,
        standbyName: slot.name,
        port: slot.port,
        settings: this.#settings,
      });
      await server.start();
      slot.server = server;
    }
    await waitUntil(async () => {
      const rows = await this.primary.sql<{ readonly count: number }>(
        "SELECT count(*) AS count FROM pg_stat_replication " +
          "WHERE state = 'streaming'",
      );
      return rows[0]?.count === this.#slots.length - 1;
    }, { what: "the standbys to follow", timeoutMs: FOLLOW_MS });
  }

  /** Has commits wait for a standby that does not exist. */
  async loseStandby(): Promise<void> {
    await this.#confirmBy("ANY 1 (missing)");
  }

  /** Has commits wait for the group's own standbys again. */
  async restoreStandby(): Promise<void> {
    await this.#confirmBy(this.#settings[CONFIRMING] ?? "");
  }

  /** How many commits wait for a standby. */
  async countWaitingCommits(): Promise<number> {
    const rows = await this.primary.sql(
      "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'",
    );
    return rows.length;
  }

  async #confirmBy(names: string): Promise<void> {
    await this.primary.sql(`ALTER SYSTEM SET ${CONFIRMING} = '${names}'`);
    await this.primary.sql("SELECT pg_reload_conf()");
    await waitUntil(async () => {
      const [row] = await this.primary.sql(`SHOW ${CONFIRMING}`);
      return row?.[CONFIRMING] === names;
    }, { what: "the server to read its settings" });
  }

  /** Ends all servers. */
  async stop(): Promise<void> {
    const servers = this.#slots.flatMap(({ server }) => server ?? []);
    for (const slot of this.#slots) slot.server = undefined;
    await Promise.all(servers.map((server) => server.stop()));
  }
}

async function holds(server: PostgresServer, sql: string): Promise<boolean> {
  const [row] = await server.sql<{ readonly holds: boolean }>(
    `SELECT ${sql} AS holds`,
  );
  return row?.holds === true;
}

/** Lets a standby follow another primary. */
async function follow(standby: Slot, primary: Slot): Promise<void> {
  const { server } = standby;
  // One statement each: neither may stand in a transaction.
  await server?.sql(
    `ALTER SYSTEM SET primary_conninfo = 'host=127.0.0.1 ` +
      `port=${primary.port} user=postgres application_name=${standby.name}'`,
  );
  await server?.sql("SELECT pg_reload_conf()");
}
