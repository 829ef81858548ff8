/**
 * Says which PostgreSQL a service uses and how it gets there, by what its
 * settings mean together. Nothing is read here, neither variables nor files.
 *
 * @module
 */

import type { OptionValues } from "../options.ts";
import { quote } from "../quote.ts";
import type { DatabaseSettings } from "./settings.ts";

/** Where a server listens. */
export interface ServerAddress {
  /** Its name or IP address. */
  readonly host: string;
  /** Its TCP port. */
  readonly port: number;
}

/** How the connection is encrypted. */
export interface DatabaseTls {
  /**
   * What of the server's certificate is checked: nothing, that an authority
   * signed it, or that it also names the host.
   */
  readonly verify: "none" | "ca" | "full";
}

/** Which database is used, and as whom. */
export interface DatabaseConnection {
  /** The servers, one of which is the primary. */
  readonly hosts: readonly ServerAddress[];
  /** The database's name. */
  readonly database: string;
  /** The role. */
  readonly user: string;
  /** The role's password; "" where it needs none. */
  readonly password: string;
  /** The file that holds the password, which is read for each connection. */
  readonly passwordFile?: string | undefined;
  /** Without it connections are not encrypted. */
  readonly tls?: DatabaseTls | undefined;
  /** The file of the authorities, which is read for each connection. */
  readonly caFile?: string | undefined;
  /** The name that the server shows for the connections. */
  readonly applicationName: string;
}

/** The outcome of {@linkcode readConnection}. */
export type ConnectionOutcome =
  | { readonly kind: "ok"; readonly connection: DatabaseConnection }
  | {
    readonly kind: "invalid";
    /** What is wrong, for the operator; holds no part of a password. */
    readonly reason: string;
  };

/** What {@linkcode parseUrl} finds; a part that is left out is undefined. */
interface UrlParts {
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly hosts: string | undefined;
  readonly database: string | undefined;
  readonly parameters: ReadonlyMap<string, string>;
}

const DEFAULT_PORT = 5432;
const URL_FORM =
  /^postgres(?:ql)?:\/\/(?:(.*)@)?([^/?#@]*)(?:\/([^?#@/]*))?(?:\?([^#@]*))?$/s;
const PARAMETERS: readonly string[] = [
  "sslmode",
  "sslrootcert",
  "application_name",
  "target_session_attrs",
];
const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|::1)$/;

/**
 * Reads the settings of the database.
 *
 * @param applicationName what the server calls the connections unless it is set
 */
export function readConnection(
  settings: OptionValues<DatabaseSettings>,
  applicationName: string,
): ConnectionOutcome {
  try {
    return { kind: "ok", connection: resolve(settings, applicationName) };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { kind: "invalid", reason: error.message };
  }
}

/**
 * Returns the database of the settings.
 *
 * @throws {Error} when the settings do not tell it
 */
export function demandConnection(
  settings: OptionValues<DatabaseSettings>,
  applicationName: string,
): DatabaseConnection {
  const read = readConnection(settings, applicationName);
  if (read.kind === "ok") return read.connection;
  throw new Error(`Cannot use STORE=postgres: ${read.reason}`);
}

/** What is wrong with the settings of the database, as messages. */
export function databaseFaults(
  settings: OptionValues<DatabaseSettings>,
  applicationName: string,
): readonly string[] {
  const read = readConnection(settings, applicationName);
  return read.kind === "ok"
    ? []
    : [`Cannot use STORE=postgres: ${read.reason}`];
}

/** What is wrong with a setting. */
class Fault extends Error {}

function resolve(
  settings: OptionValues<DatabaseSettings>,
  applicationName: string,
): DatabaseConnection {
  const { databaseUrl, databasePasswordFile: passwordFile } = settings;
  const url = parseUrl(databaseUrl ?? "postgres://");
  const { parameters } = url;
  const given = url.hosts ?? settings.pgHost;
  if (given === undefined) {
    throw new Fault(
      databaseUrl === undefined
        ? "DATABASE_URL is not set; it is postgres://user:password@host/name"
        : "DATABASE_URL names no host",
    );
  }
  const hosts = parseHosts(given, settings.pgPort);
  const user = url.user ?? settings.pgUser;
  if (user === undefined) throw new Fault("DATABASE_URL names no user");
  if (url.password !== undefined && passwordFile !== undefined) {
    throw new Fault(
      "there are two passwords: DATABASE_PASSWORD_FILE and that of DATABASE_URL",
    );
  }
  const session = parameters.get("target_session_attrs") ?? "read-write";
  if (session !== "read-write" && session !== "primary") {
    throw new Fault(
      `target_session_attrs is ${quote(session)}; a service needs the server ` +
        "that takes writes: read-write",
    );
  }
  const caFile = settings.databaseCaFile ?? parameters.get("sslrootcert") ??
    settings.pgSslRootCert;
  const mode = parameters.get("sslmode") ?? settings.pgSslMode ??
    (hosts.every(({ host }) => LOOPBACK.test(host))
      ? "disable"
      : "verify-full");
  return {
    hosts,
    user,
    database: url.database ?? settings.pgDatabase ?? user,
    password: url.password ??
      (passwordFile === undefined ? settings.pgPassword ?? "" : ""),
    passwordFile,
    tls: parseMode(mode, caFile !== undefined),
    // "system" is PostgreSQL's word for the authorities of the system.
    caFile: caFile === "system" ? undefined : caFile,
    applicationName: parameters.get("application_name") ?? settings.pgAppName ??
      applicationName,
  };
}

/** Reads the URL, which may have several hosts, as no other kind of URL has. */
function parseUrl(text: string): UrlParts {
  const found = URL_FORM.exec(text);
  // Nothing of the text is shown: a part of the password may be anywhere in it.
  if (found === null) {
    throw new Fault(
      "DATABASE_URL is not postgres://user:password@host:port/name; write " +
        "@ / ? # and % of a password as %40 %2F %3F %23 and %25",
    );
  }
  const [, login, hosts, database, query = ""] = found;
  const colon = login?.indexOf(":") ?? -1;
  const parameters = new Map(new URLSearchParams(query));
  for (const name of parameters.keys()) {
    if (PARAMETERS.includes(name)) continue;
    throw new Fault(
      `the parameter ${quote(name)} of DATABASE_URL is not known; there are ` +
        PARAMETERS.join(", "),
    );
  }
  return {
    user: decode(colon === -1 ? login : login?.slice(0, colon)),
    password: colon === -1 ? undefined : decode(login?.slice(colon + 1)),
    hosts: decode(hosts),
    database: decode(database),
    parameters,
  };
}

function decode(part: string | undefined): string | undefined {
  if (part === undefined || part === "") return undefined;
  try {
    return decodeURIComponent(part);
  } catch {
    throw new Fault(
      "DATABASE_URL has a % without two hexadecimal digits; write % as %25",
    );
  }
}

/**
 * Reads `host`, `host:port` and `[IPv6]:port` between commas.
 *
 * @param ports one port for all hosts that name none, or one for each
 */
function parseHosts(
  text: string,
  ports: string = String(DEFAULT_PORT),
): readonly ServerAddress[] {
  const perHost = ports.split(",");
  return text.split(",").map((item, at) => {
    const found = /^(?:\[([^\]]+)\]|([^:[\]/\s]+))(?::(\d+))?$/.exec(
      item.trim(),
    );
    const host = found?.[1] ?? found?.[2];
    const port = Number(found?.[3] ?? perHost[at] ?? perHost[0]);
    if (host === undefined || !(port >= 1 && port <= 65_535)) {
      throw new Fault(
        `host ${at + 1} of the database is not a name or an address with a ` +
          "port from 1 to 65535",
      );
    }
    return { host, port };
  });
}

/**
 * A mode as PostgreSQL's own programs have it. `allow` and `prefer` are left
 * out: with them an attacker on the way could turn encryption off.
 */
function parseMode(mode: string, hasCa: boolean): DatabaseTls | undefined {
  switch (mode) {
    case "disable":
      return undefined;
    case "require":
      return { verify: hasCa ? "ca" : "none" };
    case "verify-ca":
      return { verify: "ca" };
    case "verify-full":
      return { verify: "full" };
    default:
      throw new Fault(
        `sslmode is ${
          quote(mode)
        }; it is one of disable, require, verify-ca, ` +
          "verify-full",
      );
  }
}
