import { assert, assertEquals, assertThrows } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RequestHeaders } from "../../shared/http1/head.ts";
import { OwnerTokens, serviceCredentialFault } from "./owner_tokens.ts";

type TokenBearer = ReturnType<OwnerTokens["findBearer"]>;

type IssueOutcome = ReturnType<OwnerTokens["issue"]>;

const CREDENTIAL = "correct-horse-battery-staple";
const OWNER = `0x${"0a".repeat(32)}`;

Deno.test("issue() makes a token that is good for a quarter of an hour", () => {
  const { tokens, clock } = setUp();
  const issued = issue(tokens, CREDENTIAL, OWNER);
  assert(issued.kind === "ok");
  const { token, expiresAtMs } = issued.issued;
  assertEquals(expiresAtMs, clock.nowMs() + 900_000);
  assertEquals(bearer(tokens, `Bearer ${token}`), OWNER);
  clock.advance(899_999);
  assert(bearer(tokens, `bearer ${token}`) !== undefined);
  clock.advance(1);
  assertEquals(bearer(tokens, `Bearer ${token}`), undefined);
});

Deno.test("issue() wants the credential, and an address", () => {
  const { tokens } = setUp();
  const credentials = [undefined, "", "x", CREDENTIAL + "x", CREDENTIAL + ","];
  for (const credential of credentials) {
    assertEquals(issue(tokens, credential, OWNER).kind, "refused");
  }
  for (const owner of [undefined, null, 1, "", "0x", "ann", [OWNER], "0x1 "]) {
    assertEquals(issue(tokens, CREDENTIAL, owner).kind, "bad_owner");
  }
});

Deno.test("issue() takes an address in any spelling", () => {
  const { tokens } = setUp();
  const issued = issue(tokens, CREDENTIAL, OWNER.toUpperCase());
  assert(issued.kind === "ok");
  assertEquals(issued.issued.owner, OWNER);
});

Deno.test("issue() refuses a credential that was sent twice", () => {
  const { tokens } = setUp();
  const headers = new RequestHeaders();
  headers.add("x-service-credential", CREDENTIAL);
  headers.add("x-service-credential", CREDENTIAL);
  assertEquals(tokens.issue(headers, OWNER).kind, "refused");
});

Deno.test("findBearer() refuses a token of which anything was changed", () => {
  const { tokens } = setUp();
  const issued = issue(tokens, CREDENTIAL, OWNER);
  assert(issued.kind === "ok");
  const { token } = issued.issued;
  for (let at = 0; at < token.length - 1; at++) {
    for (const other of ["0", "1", "b", "."]) {
      if (token[at] === other) continue;
      const changed = token.slice(0, at) + other + token.slice(at + 1);
      assertEquals(bearer(tokens, `Bearer ${changed}`), undefined);
    }
  }
});

Deno.test("findBearer() refuses everything that is not one token", () => {
  const { tokens } = setUp();
  const issued = issue(tokens, CREDENTIAL, OWNER);
  assert(issued.kind === "ok");
  const { token } = issued.issued;
  const values = [
    "",
    token,
    "Bearer",
    "Bearer ",
    `Basic ${token}`,
    `Bearer ${token} ${token}`,
    `Bearer ${token}, Bearer ${token}`,
    `Bearer ${"a".repeat(15_000)}`,
  ];
  for (const value of values) assertEquals(bearer(tokens, value), undefined);
  const headers = new RequestHeaders();
  headers.add("authorization", `Bearer ${token}`);
  headers.add("authorization", `Bearer ${token}`);
  assertEquals(tokens.findBearer(headers), undefined);
  assertEquals(tokens.findBearer(new RequestHeaders()), undefined);
});

Deno.test("OwnerTokens knows its tokens after a restart, unless the credential changed", () => {
  const { tokens, clock } = setUp();
  const issued = issue(tokens, CREDENTIAL, OWNER);
  assert(issued.kind === "ok");
  const value = `Bearer ${issued.issued.token}`;
  const again = new OwnerTokens({ clock, credential: CREDENTIAL });
  assertEquals(bearer(again, value), OWNER);
  const other = new OwnerTokens({ clock, credential: `${CREDENTIAL}2` });
  assertEquals(bearer(other, value), undefined);
});

Deno.test("OwnerTokens wants a credential that cannot be guessed", () => {
  assertEquals(serviceCredentialFault(CREDENTIAL), undefined);
  for (const credential of ["", "secret", `${CREDENTIAL}\n`, "ä".repeat(30)]) {
    const fault = serviceCredentialFault(credential);
    assert(fault !== undefined);
    assert(credential === "" || !fault.includes(credential));
    assertThrows(
      () => new OwnerTokens({ clock: new FakeClock(), credential }),
      TypeError,
      "Cannot use service credential",
    );
  }
});

function setUp(): { readonly tokens: OwnerTokens; readonly clock: FakeClock } {
  const clock = new FakeClock();
  return { clock, tokens: new OwnerTokens({ clock, credential: CREDENTIAL }) };
}

function issue(
  tokens: OwnerTokens,
  ...[credential, owner]: [string | undefined, unknown]
): IssueOutcome {
  const headers = new RequestHeaders();
  if (credential !== undefined) {
    headers.add("x-service-credential", credential);
  }
  return tokens.issue(headers, owner);
}

function bearer(tokens: OwnerTokens, value: string): TokenBearer | undefined {
  const headers = new RequestHeaders();
  headers.add("authorization", value);
  return tokens.findBearer(headers);
}
