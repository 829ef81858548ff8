/**
 * A schema of PostgreSQL that several instances of a service use: the way to its
 * tables, the database's time, the members and what they tell each other.
 *
 * @module
 */

import type { Clock } from "../clock.ts";
import type { Logger } from "../logger.ts";
import { StoreFailedError } from "../store_failed.ts";
import type { DatabaseConnection } from "./connection.ts";
import { MemberRow } from "./member_row.ts";
import { migrate, type MigrationPlan } from "./migrations.ts";
import { Notifications } from "./notifications.ts";
import { type DatabaseCall, openPool, type Pool } from "./pool.ts";
import { ReplicationWatch } from "./replication.ts";
import { LONG_MS, schemaSettings } from "./schema.ts";
import { ServerWatch } from "./server_watch.ts";
import { StoreTime } from "./store_time.ts";

/** Options of a store on PostgreSQL. */
export interface DatabaseOptions {
  /** The database. */
  readonly connection: DatabaseConnection;
  /** The schema of the tables; a plain name of a-z, 0-9 and _. */
  readonly schema: string;
  /** The machine's clock, for timers and durations. */
  readonly clock: Clock;
  /** Logs failures that no answer reports. */
  readonly logger: Logger;
  /**
   * When a commit is answered: `replicated` when it is on a synchronous standby
   * as well, and refused without one; `strict` when it is as durable as the
   * server is set up to make it; `relaxed` before it is on disk.
   *
   * @default {"strict"}
   */
  readonly durability?: "strict" | "relaxed" | "replicated";
  /**
   * Whether statements are prepared; false behind PgBouncer in transaction
   * mode.
   *
   * @default {true}
   */
  readonly prepare?: boolean;
  /**
   * The most connections, of at least 3, beside one for notifications and those
   * that a store opens for what must not keep others waiting.
   *
   * @default {6}
   */
  readonly connections?: number;
  /**
   * Is told of each statement and transaction that has ended.
   *
   * @default no listener
   */
  readonly onCall?: ((call: DatabaseCall) => void) | undefined;
}

/** The way to a schema. */
export class InstanceDatabase<Notice> {
  /** Knows which server answers. */
  readonly watch: ServerWatch;
  /** Connections for whatever needs none of its own. */
  readonly reading: Pool;
  /** The database's time. */
  readonly time: StoreTime;
  /** The instances. */
  readonly members: MemberRow;
  /** Knows whether commits reach a standby. */
  readonly replication: ReplicationWatch;
  readonly #options: DatabaseOptions;
  readonly #pools: Pool[] = [];
  readonly #notifications: Notifications;

  /**
   * Opens what needs the tables; see {@linkcode openDatabase}.
   *
   * @param watch notes which server answers
   * @param channel the channel of the schema's instances
   */
  constructor(
    options: DatabaseOptions,
    { watch, channel, reading, onNotice, onGap }:
      & {
        readonly watch: ServerWatch;
        readonly channel: string;
      }
      & NoticeListeners<Notice>,
  ) {
    const { connection, clock, logger, durability } = options;
    this.#options = options;
    this.watch = watch;
    this.reading = this.openPool({ max: reading });
    const parts = { runner: this.reading, clock, watch, logger };
    this.time = new StoreTime(parts);
    this.members = new MemberRow(this.reading);
    this.replication = new ReplicationWatch({
      ...{ runner: this.reading, clock },
      isRequired: durability === "replicated",
    });
    this.#notifications = new Notifications({
      ...{ ...parts, connection, channel, onGap },
      instanceId: crypto.randomUUID(),
      // Only those that can read this schema know the channel.
      onNotice: (notice) => onNotice(notice as Notice),
    });
  }

  /** Opens connections, which are closed with the database. */
  openPool(of: PoolShape): Pool {
    const pool = openSchemaPool(this.#options, { ...of, watch: this.watch });
    this.#pools.push(pool);
    return pool;
  }

  /** Runs what may take long on a connection of its own. */
  withLong<Answer>(use: (pool: Pool) => Promise<Answer>): Promise<Answer> {
    return withLongPool(this.#options, this.watch, use);
  }

  /**
   * Reads the time and the state of the standbys, and begins to listen.
   *
   * @throws {StoreFailedError} when the database does not answer
   */
  async start(): Promise<void> {
    try {
      await this.time.start();
      await this.replication.start();
    } catch (error) {
      await this.#close();
      throw error;
    }
    this.#notifications.start();
  }

  /** Closes everything; the caller has ended its work before. */
  async stop(): Promise<void> {
    await this.#notifications.stop();
    await this.replication.stop();
    await this.time.stop();
    await this.#close();
  }

  /** Tells other instances. */
  tell(notice: Notice): void {
    this.#notifications.tell(notice);
  }

  /**
   * Checks that pools reach a server that takes writes.
   *
   * @returns what operators should know, such as that a standby is missing
   * @throws {StoreFailedError} when they do not
   */
  async check(pools: readonly Pool[]): Promise<string | undefined> {
    await Promise.all(
      pools.map((pool) =>
        pool.query(
          "SELECT demand(current_setting('transaction_read_only') = 'off')",
        )
      ),
    );
    return this.replication.note;
  }

  async #close(): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.close()));
  }
}

/** Who hears what other instances tell, and how many connections read. */
interface NoticeListeners<Notice> {
  /** How many connections read. */
  readonly reading: number;
  /** Called with what another instance tells. */
  readonly onNotice: (notice: Notice) => void;
  /** Called when notices may be lost. */
  readonly onGap: () => void;
}

/** What a pool is for. */
interface PoolShape {
  /** Most connections. */
  readonly max: number;
  /** How long a statement may take. @default {30000} */
  readonly queryTimeoutMs?: number;
  /**
   * Whether the server plans a statement again for its parameters. To plan that
   * of a group takes it as long as to write fifty tasks.
   *
   * @default {"auto"}
   */
  readonly plans?: "auto" | "force_generic_plan";
}

/**
 * Makes the tables of a schema that are missing, and opens the way to them.
 *
 * @throws {Error} when the database does not answer, or its tables are those of
 * a later program
 */
export async function openDatabase<Notice>(
  options: DatabaseOptions,
  { plan, ...listeners }: NoticeListeners<Notice> & {
    /** The tables. */
    readonly plan: MigrationPlan;
  },
): Promise<InstanceDatabase<Notice>> {
  const { clock, logger } = options;
  const watch = new ServerWatch({ clock, logger });
  const channel = await withLongPool(options, watch, async (pool) => {
    await migrate(pool, plan);
    return await readChannel(pool);
  });
  return new InstanceDatabase(options, { watch, channel, ...listeners });
}

/** Opens connections with the settings of a store. */
function openSchemaPool(
  options: DatabaseOptions,
  { watch, plans = "auto", ...of }: PoolShape & {
    readonly watch: ServerWatch;
  },
): Pool {
  const { connection, schema, clock, logger, prepare, onCall } = options;
  return openPool({
    ...{ connection, clock, logger, watch, onCall },
    ...(prepare === undefined ? {} : { prepare }),
    ...of,
    settings: {
      ...schemaSettings(schema),
      plan_cache_mode: plans,
      ...(options.durability === "relaxed"
        ? { synchronous_commit: "off" }
        : {}),
    },
  });
}

async function withLongPool<Answer>(
  options: DatabaseOptions,
  watch: ServerWatch,
  use: (pool: Pool) => Promise<Answer>,
): Promise<Answer> {
  const pool = openSchemaPool(options, {
    ...{ watch, max: 1, queryTimeoutMs: LONG_MS },
  });
  try {
    return await use(pool);
  } finally {
    await pool.close();
  }
}

/** The channel of a schema's instances, which no other role knows. */
async function readChannel(pool: Pool): Promise<string> {
  const [row] = await pool.query<{ name: string }>("SELECT name FROM channel");
  if (row !== undefined) return row.name;
  throw new StoreFailedError("Cannot start: the table `channel` is empty");
}
