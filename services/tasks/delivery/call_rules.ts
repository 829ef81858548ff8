/**
 * Judges a worker's URL and headers before anything is resolved or sent: what
 * the URL points to, and whether it may be called.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";
import {
  type AllowList,
  findClosedUse,
  isAllowed,
  normalizeHostName,
} from "./address_guard.ts";
import { MAX_URL_CHARS } from "../domain/value_schemas.ts";
import { parseIpAddress } from "../../shared/ip_network.ts";

/** The parts of a URL that a call needs. */
export interface Target {
  /** Whether the connection is encrypted. */
  readonly isTls: boolean;
  /** A host name in its normal form, or an IP address without brackets. */
  readonly host: string;
  /** The TCP port. */
  readonly port: number;
  /** Path and query, as they are sent. */
  readonly path: string;
  /**
   * Scheme, host and port, for messages, since path and query may hold secrets.
   */
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
    /** The reason, for programs. */
    readonly code: TargetRefusalCode;
    /** The reason, as a message without the path and query of the URL. */
    readonly reason: string;
  };

/**
 * The operator's settings of what may be called besides public addresses over
 * TLS.
 */
export interface CallRules {
  /** Whether calls without encryption are allowed. */
  readonly allowHttp: boolean;
  /** The hosts and addresses that may be called besides public ones. */
  readonly allowList: AllowList;
}

/**
 * Blanks and control characters, which URL parsers drop, and the backslash,
 * which some of them take for a slash: two readers would see two URLs.
 */
// deno-lint-ignore no-control-regex
const AMBIGUOUS = /[\u0000-\u0020\u007f-\u009f\\]/;

/** The scheme and the authority of a URL. */
const BEGINNING = /^https?:\/\/([^/?#]+)/i;

/**
 * Ports of other protocols, where a request could be mistaken for their
 * commands (Fetch standard, section "Port blocking"). They may be called if an
 * entry of the allow list names the port.
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
 * Judges a URL by its text alone. Host names pass, except those of this
 * machine; their addresses are judged when they are resolved. Addresses are
 * judged here, in every spelling that a URL allows (`2130706433`, `0x7f.1`,
 * `[::ffff:127.0.0.1]`), because no lookup resolves them later.
 */
export function judgeTarget(
  urlText: string,
  { allowHttp, allowList }: CallRules,
): TargetVerdict {
  if (urlText.length > MAX_URL_CHARS) {
    return refused("bad_url", `it is longer than ${MAX_URL_CHARS} characters`);
  }
  const authority = BEGINNING.exec(urlText)?.[1];
  if (authority === undefined || AMBIGUOUS.test(urlText)) {
    return refused("bad_url", 'it is not a URL that begins with "https://"');
  }
  if (authority.includes("@")) {
    return refused(
      "user_info",
      "it holds a user name or password; send them in a header",
    );
  }
  const url = URL.parse(urlText);
  const host = url === null ? undefined : readHost(url.hostname);
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
    origin: formatOrigin(url, host),
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
  const use = isAddress
    ? findClosedUse(host)
    : useOfName(host, { port, allowList });
  if (use === undefined) return { kind: "ok", target };
  return refused(
    "address_not_public",
    `${quote(host)} is an address of ${use}`,
  );
}

/**
 * The use of names below `localhost`, which are the machine itself, whatever a
 * resolver says (RFC 6761, section 6.3). They are refused unless the list
 * allows its addresses.
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

/** The host of a parsed URL, in which addresses have their canonical form. */
function readHost(hostname: string): string | undefined {
  const bare = /^\[(.+)\]$/.exec(hostname)?.[1] ?? hostname;
  if (parseIpAddress(bare) !== undefined) return bare;
  return normalizeHostName(hostname);
}

function formatOrigin(url: URL, host: string): string {
  const shown = host.includes(":") ? `[${host}]` : host;
  return `${url.protocol}//${shown}${url.port === "" ? "" : `:${url.port}`}`;
}

function refused(code: TargetRefusalCode, why: string): TargetVerdict {
  return { kind: "refused", code, reason: `Cannot call this URL: ${why}` };
}

/** The outcome of checking headers. */
type HeadersVerdict =
  | { readonly kind: "ok" }
  | {
    readonly kind: "refused";
    /** The name of the refused header, as it was given. */
    readonly name: string;
    /** The reason, as a message without the value of a header. */
    readonly reason: string;
  };

/** The headers that the service itself sets; a worker cannot set them. */
export const SERVICE_HEADERS: readonly string[] = [
  "content-type",
  "task-attempt",
  "task-id",
  "traceparent",
  "tracestate",
  "webhook-id",
  "webhook-signature",
  "webhook-timestamp",
];

/**
 * Headers that frame the request or belong to the connection (RFC 9110, section
 * 7.6.1): they could smuggle a second request into the first.
 */
const CONNECTION_HEADERS: readonly string[] = [
  "accept-encoding",
  "connection",
  "content-length",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];

const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}$/;

/** A field value of RFC 9110, section 5.5, restricted to ASCII. */
const HEADER_VALUE = /^[\t\x20-\x7e]*$/;

/** Most headers of a call. */
export const MAX_HEADERS = 64;
const MAX_HEADER_CHARS = 65_536;

/**
 * Judges the headers of a call, or those that a worker sets for its calls.
 *
 * @param reserved further names that are not allowed, in lower case
 */
export function judgeHeaders(
  headers: Readonly<Record<string, string>>,
  reserved: readonly string[] = [],
): HeadersVerdict {
  const seen = new Set<string>();
  let chars = 0;
  for (const [name, value] of Object.entries(headers)) {
    const key = name.toLowerCase();
    chars += name.length + value.length;
    const fault = nameFault(key, reserved) ??
      (HEADER_VALUE.test(value)
        ? undefined
        : "its value is not visible ASCII") ??
      (seen.has(key) ? "it is given twice" : undefined) ??
      (chars > MAX_HEADER_CHARS
        ? "the headers are too long together"
        : undefined);
    if (fault !== undefined) return refusedHeader(name, fault);
    seen.add(key);
    if (seen.size > MAX_HEADERS) {
      return refusedHeader(name, `there are more than ${MAX_HEADERS} headers`);
    }
  }
  return { kind: "ok" };
}

function nameFault(
  key: string,
  reserved: readonly string[],
): string | undefined {
  if (!HEADER_NAME.test(key)) return "its name is no header name of HTTP";
  return CONNECTION_HEADERS.includes(key) || reserved.includes(key)
    ? "the service sets it itself"
    : undefined;
}

function refusedHeader(name: string, why: string): HeadersVerdict {
  const reason = `Cannot send header ${quote(name, { maxChars: 64 })}: ${why}`;
  return { kind: "refused", name, reason };
}
