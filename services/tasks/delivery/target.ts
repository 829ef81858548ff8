/**
 * What a worker's URL points to, and whether it may be called at all; judged
 * before anything is sent or resolved.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";
import { judgeAddress } from "./address_guard.ts";
import { type AllowList, isAllowed, normalizeHostName } from "./allow_list.ts";
import { parseIpAddress } from "../../shared/ip_network.ts";

/** Where a call goes. */
export interface Target {
  /** Whether the connection is encrypted. */
  readonly isTls: boolean;
  /** A host name in its normal form, or an IP address without brackets. */
  readonly host: string;
  /** The TCP port. */
  readonly port: number;
  /** Path and query, as they are sent. */
  readonly path: string;
  /** Scheme, host and port, for messages: path and query may hold secrets. */
  readonly origin: string;
}

/** Why a URL may not be called. */
export type TargetRefusalCode =
  | "bad_url"
  | "http_not_allowed"
  | "user_info"
  | "bad_port"
  | "address_not_public";

/** The outcome of checking a URL. */
type TargetVerdict =
  | { readonly kind: "ok"; readonly target: Target }
  | {
    readonly kind: "refused";
    /** Why, for programs. */
    readonly code: TargetRefusalCode;
    /** Why, as a message that holds nothing of path and query. */
    readonly reason: string;
  };

/** Options of {@linkcode judgeTarget}. */
export interface JudgeTargetOptions {
  /**
   * Whether calls without encryption are allowed.
   *
   * @default {false}
   */
  readonly allowHttp?: boolean;
  /**
   * What may be called besides public addresses.
   *
   * @default {[]}
   */
  readonly allowList?: AllowList;
}

const MAX_CHARS = 4_096;

/**
 * Blanks and control characters, which URL parsers drop, and the backslash,
 * which some of them take for a slash: two readers would see two URLs.
 */
// deno-lint-ignore no-control-regex
const AMBIGUOUS = /[\u0000-\u0020\u007f-\u009f\\]/;

/** The scheme and, up to the path, who is called. */
const BEGINNING = /^https?:\/\/([^/?#]+)/i;

/**
 * Ports of other protocols, where a request could be taken for their commands
 * (Fetch standard, section "Port blocking"); callable where an entry of the
 * allow list names the port.
 */
const BLOCKED_PORTS: ReadonlySet<number> = new Set([
  ...[1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69],
  ...[77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119],
  ...[123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515],
  ...[526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990],
  ...[993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000],
  ...[6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080],
]);

/**
 * Judges a URL by its text alone. Host names pass, except those of this very
 * machine; their addresses are judged when they are known. Addresses are
 * judged here, in every spelling that a URL knows (`2130706433`, `0x7f.1`,
 * `[::ffff:127.0.0.1]`), because nothing resolves them later.
 */
export function judgeTarget(
  urlText: string,
  options: JudgeTargetOptions = {},
): TargetVerdict {
  const { allowHttp = false, allowList = [] } = options;
  if (urlText.length > MAX_CHARS) {
    return refused("bad_url", `it is longer than ${MAX_CHARS} characters`);
  }
  const authority = BEGINNING.exec(urlText)?.[1];
  if (authority === undefined || AMBIGUOUS.test(urlText)) {
    return refused("bad_url", 'it is no URL that begins with "https://"');
  }
  if (authority.includes("@")) {
    return refused(
      "user_info",
      "it holds a user name or password; send them in a header",
    );
  }
  const url = URL.parse(urlText);
  const host = url === null ? undefined : hostOf(url.hostname);
  if (url === null || host === undefined || authority.includes("%")) {
    return refused("bad_url", "it names no host that can be called");
  }
  const isTls = url.protocol === "https:";
  if (!isTls && !allowHttp) {
    return refused("http_not_allowed", "calls without TLS are switched off");
  }
  const port = url.port === "" ? (isTls ? 443 : 80) : Number(url.port);
  const target: Target = {
    isTls,
    host,
    port,
    path: url.pathname + url.search,
    origin: originOf(url, host),
  };
  return judgePoint(target, allowList);
}

function judgePoint(target: Target, allowList: AllowList): TargetVerdict {
  const { host, port } = target;
  const isAddress = parseIpAddress(host) !== undefined;
  const point = isAddress ? { host, port, address: host } : { host, port };
  if (port === 0) return refused("bad_port", "port 0 can't be called");
  const named = allowList.filter((entry) => entry.port === port);
  if (BLOCKED_PORTS.has(port) && !isAllowed(named, point)) {
    return refused("bad_port", `port ${port} belongs to another protocol`);
  }
  if (isAllowed(allowList, point)) return { kind: "ok", target };
  const use = isAddress ? useOf(host) : useOfName(host, { port, allowList });
  if (use === undefined) return { kind: "ok", target };
  return refused(
    "address_not_public",
    `${quote(host)} is an address of ${use}`,
  );
}

function useOf(address: string): string | undefined {
  const verdict = judgeAddress(address);
  switch (verdict.kind) {
    case "public":
      return undefined;
    case "not_public":
      return verdict.use;
    case "not_an_address":
      return "no known form";
  }
}

/**
 * Names below `localhost` are the machine itself, whatever a resolver says (RFC
 * 6761, section 6.3): refused unless the list allows its addresses.
 */
function useOfName(
  host: string,
  options: { readonly port: number; readonly allowList: AllowList },
): string | undefined {
  if (host !== "localhost" && !host.endsWith(".localhost")) return undefined;
  const { port, allowList } = options;
  const isReachable = ["127.0.0.1", "::1"].some((address) =>
    isAllowed(allowList, { host, port, address })
  );
  return isReachable ? undefined : "the loopback";
}

/** The host of a parsed URL, whose addresses are in their one usual form. */
function hostOf(hostname: string): string | undefined {
  const bare = /^\[(.+)\]$/.exec(hostname)?.[1] ?? hostname;
  if (parseIpAddress(bare) !== undefined) return bare;
  return normalizeHostName(hostname);
}

function originOf(url: URL, host: string): string {
  const shown = host.includes(":") ? `[${host}]` : host;
  return `${url.protocol}//${shown}${url.port === "" ? "" : `:${url.port}`}`;
}

function refused(code: TargetRefusalCode, why: string): TargetVerdict {
  return { kind: "refused", code, reason: `Cannot call this URL: ${why}` };
}
