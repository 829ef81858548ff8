/**
 * Reads addresses and credentials of Redis servers from settings: one server, a
 * failover group or a cluster.
 *
 * @module
 */

import { shownAddress } from "../../../../shared/http/open_port.ts";

/** Address of a server. */
export type RedisAddress =
  | { readonly kind: "tcp"; readonly host: string; readonly port: number }
  | { readonly kind: "unix"; readonly path: string };

/** A failover group that sentinels watch over. */
export interface RedisSentinelGroup {
  /** Tells a group from an address. */
  readonly kind: "sentinel";
  /** Name of the master at the sentinels. */
  readonly masterName: string;
  /** Addresses of the sentinels, at least one. */
  readonly sentinels: readonly RedisAddress[];
}

/** A cluster, given by some of its nodes. */
export interface RedisClusterNodes {
  /** Tells a cluster from an address. */
  readonly kind: "cluster";
  /** Addresses of some of its nodes, at least one. */
  readonly nodes: readonly RedisAddress[];
}

/** The servers that keep counters or other values. */
export type RedisTarget =
  | RedisAddress
  | RedisSentinelGroup
  | RedisClusterNodes;

/** How servers work together. */
export type RedisTargetType = "single" | "sentinel" | "cluster";

/** Credentials of a connection. */
export interface RedisAuth {
  /** User of the server's access list; its default user when absent. */
  readonly username?: string;
  /** The password. */
  readonly password: string;
}

/** The servers that a setting names, or what is wrong with the setting. */
type Parsed<Target extends RedisTarget> =
  | {
    readonly kind: "parsed";
    /** Addresses of the servers. */
    readonly address: Target;
    /** Credentials within the URL. */
    readonly auth?: RedisAuth | undefined;
    /** Number of the database; 0 when the URL names none. */
    readonly database: number;
  }
  /** `reason` holds no password. */
  | { readonly kind: "invalid"; readonly reason: string };

/** Other settings that matter for a target. */
interface RedisTargetOptions {
  /**
   * "tcp" or "unix"; capital letters do not matter.
   *
   * @default as the address looks: unix when it begins with "/" or "unix:"
   */
  readonly socketType?: string | undefined;
  /**
   * True when connections will be encrypted, which only those over TCP can be.
   *
   * @default false
   */
  readonly usesTls?: boolean;
}

const DEFAULT_PORT = 6379;

/**
 * Reads the servers of a setting: for "single" what
 * {@linkcode parseRedisAddress} reads, for "sentinel" the master's name and the
 * `host:port` of at least one sentinel, for "cluster" the `host:port` of at
 * least one node, all of them separated by commas. Blanks around items do not
 * matter.
 */
export function parseRedisTarget(
  text: string,
  type: RedisTargetType,
  options: RedisTargetOptions = {},
): Parsed<RedisTarget> {
  if (type === "single") return parseSingle(text, options);
  if (options.socketType?.toLowerCase() === "unix") {
    return invalid(
      `Cannot use a unix socket with the type "${type}": its servers are reached over TCP`,
    );
  }
  const items = text.split(",").map((item) => item.trim());
  return type === "sentinel" ? parseSentinel(items) : parseCluster(items);
}

/**
 * Reads the address of a server: `host:port`, `[::1]:6379`,
 * `redis://user:password@host:port/database`, `/path` or `unix:///path`. The
 * port is 6379 when it is absent.
 *
 * @param socketType "tcp" or "unix" in any case; when absent, an address that
 * begins with "/" or "unix:" is unix, any other tcp.
 */
export function parseRedisAddress(
  text: string,
  socketType?: string,
): Parsed<RedisAddress> {
  const looksUnix = text.startsWith("/") || text.startsWith("unix:");
  if (text === "") return invalid("Cannot use a server address: it is empty");
  switch (socketType?.toLowerCase() || (looksUnix ? "unix" : "tcp")) {
    case "unix":
      return parseUnix(text);
    case "tcp":
      if (looksUnix) {
        return invalid(
          `Cannot use ${quote(text)} as a TCP address: it is a socket path`,
        );
      }
      return /^[a-z][a-z0-9+.-]*:\/\//i.test(text)
        ? parseUrl(text)
        : parseHostPort(text);
    default:
      return invalid(
        `Cannot use the socket type "${socketType}": it is neither "tcp" nor "unix"`,
      );
  }
}

/**
 * Reads `<password>` or `<username>:<password>`. A password that has a colon
 * is written with a username or with a colon before it.
 *
 * @returns `undefined` for the empty text.
 */
export function parseRedisAuth(text: string): RedisAuth | undefined {
  if (text === "") return undefined;
  const colon = text.indexOf(":");
  if (colon < 0) return { password: text };
  const username = text.slice(0, colon);
  const password = text.slice(colon + 1);
  return username === "" ? { password } : { username, password };
}

/** Returns the address as logs show it. */
export function formatRedisAddress(address: RedisAddress): string {
  if (address.kind === "unix") return address.path;
  return shownAddress(address.host, address.port);
}

function parseSingle(
  text: string,
  { socketType, usesTls }: RedisTargetOptions,
): Parsed<RedisAddress> {
  const result = parseRedisAddress(text, socketType);
  if (
    result.kind === "parsed" && result.address.kind === "unix" && usesTls
  ) {
    return invalid(
      `Cannot encrypt the connection to "${result.address.path}": a unix socket has no TLS; turn TLS off or use host:port`,
    );
  }
  return result;
}

function parseSentinel(items: readonly string[]): Parsed<RedisTarget> {
  const [masterName = "", ...rest] = items;
  if (masterName === "" || /[:/@\s]/.test(masterName)) {
    return invalid(
      'Cannot use a sentinel list: its first item is not the name of a master, as in "mymaster,host:26379"',
    );
  }
  if (rest.length === 0) {
    return invalid(
      `Cannot use a sentinel list: behind the master's name "${masterName}" it names no sentinel, as in "${masterName},host:26379"`,
    );
  }
  const { addresses, problem } = parseItems(rest);
  if (problem !== undefined) return invalid(problem);
  return {
    kind: "parsed",
    address: { kind: "sentinel", masterName, sentinels: addresses },
    database: 0,
  };
}

function parseCluster(items: readonly string[]): Parsed<RedisTarget> {
  const { addresses, problem } = parseItems(items);
  if (problem !== undefined) return invalid(problem);
  return {
    kind: "parsed",
    address: { kind: "cluster", nodes: addresses },
    database: 0,
  };
}

function parseItems(
  items: readonly string[],
): { readonly addresses: RedisAddress[]; readonly problem?: string } {
  const addresses: RedisAddress[] = [];
  for (const [i, item] of items.entries()) {
    const result = parseRedisAddress(item, "tcp");
    if (
      result.kind === "invalid" || item.includes("/") || !/:\d+$/.test(item)
    ) {
      // The item is not shown: it may hold a password.
      const problem = `Cannot use server ${i + 1} of ${items.length} in a ` +
        'server list: it is not of the form "host:port"';
      return { addresses, problem };
    }
    addresses.push(result.address);
  }
  return { addresses };
}

function parseUnix(text: string): Parsed<RedisAddress> {
  const path = text.replace(/^unix:(\/\/(?=\/))?/, "");
  if (path === "" || /^[a-z][a-z0-9+.-]*:\/\//i.test(path)) {
    return invalid(
      `Cannot use ${
        quote(text)
      } as a socket path: it is not of the form "/path" or "unix:///path"`,
    );
  }
  return { kind: "parsed", address: { kind: "unix", path }, database: 0 };
}

function parseHostPort(text: string): Parsed<RedisAddress> {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^\s:,@/[\]]+))(?::(\d{1,5}))?$/i
    .exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = match?.[3] === undefined ? DEFAULT_PORT : Number(match[3]);
  if (host === undefined || port < 1 || port > 65_535) {
    return invalid(
      `Cannot use ${
        quote(text)
      } as a TCP address: it is not of the form "host:port" or "[IPv6 address]:port"`,
    );
  }
  return { kind: "parsed", address: { kind: "tcp", host, port }, database: 0 };
}

function parseUrl(text: string): Parsed<RedisAddress> {
  if (/^rediss:/i.test(text)) {
    return invalid(
      `Cannot use ${
        quote(text)
      } as a TCP address: TLS is not turned on by "rediss"; write "redis" and set TLS itself`,
    );
  }
  const url = URL.parse(text);
  if (url === null || url.protocol !== "redis:" || url.hostname === "") {
    return invalid(
      `Cannot use ${
        quote(text)
      } as a TCP address: it is not of the form "redis://user:password@host:port/database"`,
    );
  }
  const database = url.pathname.length > 1 ? url.pathname.slice(1) : "0";
  if (!/^\d{1,6}$/.test(database)) {
    return invalid(
      `Cannot use ${
        quote(text)
      } as a TCP address: the database is not a number`,
    );
  }
  const username = decode(url.username);
  const password = decode(url.password);
  if (username === undefined || password === undefined) {
    return invalid(
      `Cannot use ${
        quote(text)
      } as a TCP address: its credentials are not percent-encoded`,
    );
  }
  const place = {
    kind: "parsed",
    address: {
      kind: "tcp",
      host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
      port: url.port === "" ? DEFAULT_PORT : Number(url.port),
    },
    database: Number(database),
  } as const;
  if (password === "") return place;
  const auth = username === "" ? { password } : { username, password };
  return { ...place, auth };
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Returns the text in double quotes, without what may be credentials. */
function quote(text: string): string {
  return `"${text.replace(/^([^/]*:\/\/)?.*@/s, "$1***@")}"`;
}

function invalid(
  reason: string,
): { readonly kind: "invalid"; readonly reason: string } {
  return { kind: "invalid", reason };
}
