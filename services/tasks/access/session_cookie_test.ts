import { assert, assertEquals, assertNotEquals } from "@std/assert";
import {
  csrfOf,
  isCsrfOf,
  newSessionToken,
  readSessionCookie,
  sessionCookie,
  sessionIdOf,
} from "./session_cookie.ts";

Deno.test("sessionCookie() binds the cookie to the host behind TLS", () => {
  const token = newSessionToken();
  const options = { scheme: "https", maxAgeMs: 61_500 } as const;
  assertEquals(
    sessionCookie(token, options),
    `__Host-tercet=${token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=61; ` +
      "Secure",
  );
  assertEquals(
    sessionCookie(null, { scheme: "http", maxAgeMs: 0 }),
    "tercet_console=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0",
  );
});

Deno.test("readSessionCookie() finds the cookie of the scheme among others", () => {
  const token = newSessionToken();
  const header = `a=b; __Host-tercet=${token}; tercet_console=x`;
  assertEquals(readSessionCookie(header, "https"), token);
  assertEquals(readSessionCookie(header, "http"), undefined);
  for (
    const other of [
      undefined,
      "",
      "tercet_console",
      `tercet_console=${token}x`,
      `x_tercet_console=${token}`,
      `tercet_console=${"/".repeat(43)}`,
    ]
  ) assertEquals(readSessionCookie(other, "http"), undefined);
});

Deno.test("isCsrfOf() accepts the value of the same session alone", () => {
  const [one, other] = [newSessionToken(), newSessionToken()];
  assertNotEquals(one, other);
  assert(isCsrfOf(one, csrfOf(one)));
  for (const sent of [null, "", one, csrfOf(other), sessionIdOf(one)]) {
    assert(!isCsrfOf(one, sent));
  }
});
