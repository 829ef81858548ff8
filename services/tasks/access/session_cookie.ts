/**
 * The cookie of a console session, and the value by which forms show that they
 * come from a page of the same session. The cookie names a session and holds
 * nothing else.
 *
 * @module
 */

import { randomBytes } from "../../shared/random_bytes.ts";
import { digestMatches, hashSecret } from "./credential_token.ts";

type Scheme = "http" | "https";

/**
 * The name of the cookie. Behind TLS, browsers take a name with this prefix
 * from this very host alone (RFC 6265bis, 4.1.3.2).
 */
function cookieName(scheme: Scheme): string {
  return scheme === "https" ? "__Host-tercet" : "tercet_console";
}

/** 32 bytes as base64url. */
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** Makes the value of a new session's cookie. */
export function newSessionToken(): string {
  return randomBytes(32).toBase64({ alphabet: "base64url", omitPadding: true });
}

/** The id of the session that a cookie names; the cookie itself isn't kept. */
export function sessionIdOf(token: string): string {
  return `session:${hashSecret(token)}`;
}

/** The session's cookie among those of a request; undefined without one. */
export function readSessionCookie(
  header: string | undefined,
  scheme: Scheme,
): string | undefined {
  const token = readCookie(header, cookieName(scheme));
  return token !== undefined && TOKEN.test(token) ? token : undefined;
}

/** The value of a cookie; undefined when it was not sent. */
export function readCookie(
  header: string | undefined,
  name: string,
): string | undefined {
  for (const part of (header ?? "").split(";")) {
    const [key, value = ""] = part.trim().split("=", 2);
    if (key === name) return value;
  }
  return undefined;
}

/** The `Set-Cookie` header that begins a session, or ends it with a null. */
export function sessionCookie(
  token: string | null,
  { scheme, maxAgeMs }: {
    readonly scheme: Scheme;
    /** How long the browser keeps it. */
    readonly maxAgeMs: number;
  },
): string {
  const secure = scheme === "https" ? "; Secure" : "";
  const maxAge = token === null ? 0 : Math.floor(maxAgeMs / 1_000);
  return `${cookieName(scheme)}=${token ?? ""}; Path=/; HttpOnly; ` +
    `SameSite=Strict; Max-Age=${maxAge}${secure}`;
}

/**
 * The value that the forms of a session send. It follows from the cookie, which
 * other sites cannot read, and does not tell it.
 */
export function csrfOf(token: string): string {
  return hashSecret(`csrf\n${token}`).slice(0, 43);
}

/** Whether a form was sent with the value of its session. */
export function isCsrfOf(token: string, sent: string | null): boolean {
  return sent !== null &&
    digestMatches(hashSecret(sent), hashSecret(csrfOf(token)));
}
