/**
 * The settings of services that can use PostgreSQL.
 *
 * @module
 */

import {
  booleanOption,
  inGroup,
  integerOption,
  type Option,
  textOption,
} from "../options.ts";

/** The settings of a service that can use PostgreSQL. */
export type DatabaseSettings = {
  /** The database: `postgres://user:password@host:port/name`. */
  readonly databaseUrl: Option<string | undefined>;
  /** File of the password. */
  readonly databasePasswordFile: Option<string | undefined>;
  /** File of the authorities. */
  readonly databaseCaFile: Option<string | undefined>;
  /** Hosts, where the URL names none; so for the others. */
  readonly pgHost: Option<string | undefined>;
  /** Port or ports. */
  readonly pgPort: Option<string | undefined>;
  /** Role. */
  readonly pgUser: Option<string | undefined>;
  /** Password. */
  readonly pgPassword: Option<string | undefined>;
  /** Name of the database. */
  readonly pgDatabase: Option<string | undefined>;
  /** `sslmode`. */
  readonly pgSslMode: Option<string | undefined>;
  /** File of the authorities. */
  readonly pgSslRootCert: Option<string | undefined>;
  /** `application_name`. */
  readonly pgAppName: Option<string | undefined>;
  /** Schema of the tables. */
  readonly databaseSchema: Option<string>;
  /** Most connections of an instance. */
  readonly databasePool: Option<number>;
  /** Whether statements are prepared. */
  readonly databasePrepare: Option<boolean>;
};

/**
 * The settings of a service that can use PostgreSQL. The `PG*` variables are
 * those of PostgreSQL's own programs; they stand in for parts that the URL
 * leaves out.
 *
 * @param schema the schema of the service's tables, unless it is set
 * @param pool what its connections are for
 */
export function databaseSettings(
  schema: string,
  pool: {
    /** What is done with them, as a sentence goes on. */
    readonly shares: string;
    /** What others are for. */
    readonly beside: string;
  },
): DatabaseSettings {
  const standIn = (
    name: string,
    what: string,
    secret = false,
  ): Option<string | undefined> =>
    textOption({ name, secret, help: `${what}, if DATABASE_URL has none.` });
  return inGroup("PostgreSQL", {
    databaseUrl: textOption({
      name: "DATABASE_URL",
      secret: true,
      valueName: "url",
      help:
        "The database: `postgres://user:password@host:5432/name`. Several " +
        "hosts stand between commas; the one that takes writes is used. " +
        "`sslmode` is `disable`, `require`, `verify-ca` or `verify-full`; " +
        "without it, `verify-full`, and `disable` on this machine.",
    }),
    databasePasswordFile: textOption({
      name: "DATABASE_PASSWORD_FILE",
      valueName: "path",
      help: "File of the password, read again for each connection.",
    }),
    databaseCaFile: textOption({
      name: "DATABASE_CA_FILE",
      valueName: "path",
      help: "File of the authorities that sign the servers' certificates, as " +
        "PEM, read again for each connection; without it, those of the system.",
    }),
    databaseSchema: textOption({
      name: "DATABASE_SCHEMA",
      default: schema,
      form: {
        matches: /^[a-z_][a-z0-9_]{0,47}$/,
        expected: "up to 48 of a-z, 0-9 and _, not beginning with a digit",
      },
      help: "Schema of the tables. Services on one database need one each.",
    }),
    databasePool: integerOption({
      name: "DATABASE_POOL",
      default: 6,
      min: 3,
      max: 100,
      help: `Most connections of an instance, beside one for ${pool.beside}: ` +
        `${pool.shares}.`,
    }),
    databasePrepare: booleanOption({
      name: "DATABASE_PREPARE",
      default: true,
      help:
        "Whether the database keeps prepared statements for a connection; " +
        "`false` for PgBouncer in transaction mode. Direct connections are " +
        "faster.",
    }),
    pgHost: standIn("PGHOST", "Hosts"),
    pgPort: standIn("PGPORT", "Port, or one for each host"),
    pgUser: standIn("PGUSER", "Role"),
    pgPassword: standIn("PGPASSWORD", "Password", true),
    pgDatabase: standIn("PGDATABASE", "Name of the database"),
    pgSslMode: standIn("PGSSLMODE", "`sslmode`"),
    pgSslRootCert: standIn("PGSSLROOTCERT", "File of the authorities"),
    pgAppName: standIn("PGAPPNAME", "`application_name`"),
  });
}
