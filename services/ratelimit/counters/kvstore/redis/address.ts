/**
 * Where a Redis server is and who asks, read from settings.
 *
 * @module
 */

/** Where a server listens. */
export type RedisAddress =
  | { readonly kind: "tcp"; readonly host: string; readonly port: number }
  | { readonly kind: "unix"; readonly path: string };

/** What a connection signs in with. */
export interface RedisAuth {
  /** User of the server's access list; its default user when absent. */
  readonly username?: string;
  /** The password. */
  readonly password: string;
}

/** What an address setting says, or why it says nothing. */
type RedisAddressResult =
  | {
    readonly kind: "parsed";
    /** Where the server listens. */
    readonly address: RedisAddress;
    /** Credentials within the URL. */
    readonly auth?: RedisAuth | undefined;
    /** Number of the database; 0 when the URL names none. */
    readonly database: number;
  }
  /** `reason` holds no password. */
  | { readonly kind: "invalid"; readonly reason: string };

/** What surrounds an address setting. */
export interface RedisAddressOptions {
  /**
   * "tcp" or "unix"; capital letters do not matter.
   *
   * @default as the address looks: unix when it begins with "/" or "unix:"
   */
  readonly socketType?: string | undefined;
}

const DEFAULT_PORT = 6379;

/**
 * Reads the address of a server: `host:port`, `[::1]:6379`,
 * `redis://user:password@host:port/database`, `/path` or `unix:///path`. The
 * port is 6379 when it is absent.
 */
export function parseRedisAddress(
  text: string,
  options: RedisAddressOptions = {},
): RedisAddressResult {
  const looksUnix = text.startsWith("/") || text.startsWith("unix:");
  const socketType = options.socketType?.toLowerCase() ||
    (looksUnix ? "unix" : "tcp");
  if (text === "") return invalid("Cannot use a server address: it is empty");
  switch (socketType) {
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
        `Cannot use the socket type "${options.socketType}": it is neither "tcp" nor "unix"`,
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

/** The address as logs show it. */
export function formatRedisAddress(address: RedisAddress): string {
  if (address.kind === "unix") return address.path;
  return address.host.includes(":")
    ? `[${address.host}]:${address.port}`
    : `${address.host}:${address.port}`;
}

function parseUnix(text: string): RedisAddressResult {
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

function parseHostPort(text: string): RedisAddressResult {
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

function parseUrl(text: string): RedisAddressResult {
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

/** The text in double quotes, without what may be credentials. */
function quote(text: string): string {
  return `"${text.replace(/^([^/]*:\/\/)?.*@/s, "$1***@")}"`;
}

function invalid(reason: string): RedisAddressResult {
  return { kind: "invalid", reason };
}
