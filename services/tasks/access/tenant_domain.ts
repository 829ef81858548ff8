/**
 * The names of tenants, which are labels of a host name.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";
import { isLabel } from "./host.ts";

/** The outcome of reading a tenant's domain. */
type TenantDomainOutcome =
  | {
    readonly kind: "ok";
    /** The domain as it is kept: in lower case. */
    readonly domain: string;
  }
  | {
    /** Not a label, or one that no tenant can have. */
    readonly kind: "invalid" | "reserved";
    /** What is wrong, as a message for the client. */
    readonly reason: string;
  };

/** Most characters of a label (RFC 1123, 2.1 and RFC 1035, 2.3.4). */
const MAX_LABEL_LENGTH = 63;

/**
 * Names that are the service's own, that mail and name servers have by
 * convention, or that people would take for the operator's.
 */
const RESERVED: ReadonlySet<string> = new Set([
  // Those of the service's own hosts and paths, now or some day.
  ...["account", "accounts", "admin", "api", "app", "assets", "auth"],
  ...["billing", "blog", "cdn", "console", "dashboard", "docs", "health"],
  ...["healthz", "help", "internal", "invalid", "livez", "login", "metrics"],
  ...["news", "oauth", "openapi", "plans", "prices", "private", "problems"],
  ...["public", "ready", "readyz", "signup", "sso", "static", "status"],
  ...["support", "system", "test", "v1", "www"],
  // Those that networks, mail and name servers look for.
  ...["autoconfig", "autodiscover", "ftp", "hostmaster", "imap", "isatap"],
  ...["local", "localdomain", "localhost", "mail", "mx", "ns", "ns1", "ns2"],
  ...["ns3", "ns4", "pop", "postmaster", "smtp", "ssl", "webmail", "wpad"],
  // Those that people would take for the operator's.
  ...["abuse", "administrator", "operator", "root", "security", "webmaster"],
]);

/**
 * Reads the domain that a tenant asks for. Upper case becomes lower case; labels
 * of internationalised names (`xn--`, RFC 5890) are refused, since they can
 * look like another tenant's.
 */
export function parseTenantDomain(input: string): TenantDomainOutcome {
  // Only ASCII is lowered: some other letters become ASCII in lower case.
  const domain = input.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  if (!isLabel(domain)) {
    return {
      kind: "invalid",
      reason: `Cannot use domain ${quote(input)}: ${faultOf(domain)}`,
    };
  }
  if (domain.startsWith("xn--")) {
    return {
      kind: "invalid",
      reason: `Cannot use domain ${quote(domain)}: names in punycode ` +
        '("xn--") are not accepted',
    };
  }
  if (RESERVED.has(domain)) {
    return {
      kind: "reserved",
      reason: `Cannot use domain ${quote(domain)}: it is reserved`,
    };
  }
  return { kind: "ok", domain };
}

function faultOf(domain: string): string {
  if (domain === "") return "it is empty";
  if (domain.length > MAX_LABEL_LENGTH) {
    return `it has ${domain.length} characters, ${MAX_LABEL_LENGTH} are the most`;
  }
  if (domain.includes(".")) return "it is one label, without dots";
  return /^-|-$/.test(domain)
    ? "it begins or ends with a hyphen"
    : "letters a to z, digits and hyphens are all it may have";
}
