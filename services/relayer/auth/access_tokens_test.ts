import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { AccessTokens } from "./access_tokens.ts";
import { AccountResolver } from "./authenticate.ts";
import { SignatureVerifier } from "./signed_request.ts";
import { FakeLedger, makeAccount } from "./testing/fake_ledger.ts";
import {
  makeToken,
  signToken,
  type TokenPayload,
} from "./testing/make_token.ts";
import { makeSigner } from "./testing/signer.ts";
import { MAX_TOKEN_CHARS } from "./token_claims.ts";

const KEY = makeSigner(1);
const OTHER = makeSigner(2);
const ACCOUNT = makeAccount("1", [KEY.publicKey]);
const DAY_S = 86_400;

function setUp() {
  const clock = new FakeClock(1_800_000_000_000);
  const ledger = new FakeLedger();
  ledger.accounts = [ACCOUNT];
  const tokens = new AccessTokens({
    clock,
    signatures: new SignatureVerifier(),
    accounts: new AccountResolver({ ledger, clock }),
    windowMs: 300_000,
  });
  const nowS = Math.floor(clock.nowMs() / 1_000);
  const payload = (members: Partial<TokenPayload> = {}): TokenPayload => ({
    sub: ACCOUNT.accountId,
    iat: nowS,
    exp: nowS + DAY_S,
    ...members,
  });
  const judge = async (token: string): Promise<string> => {
    const outcome = await tokens.verify(token);
    return outcome.kind === "ok" ? "ok" : outcome.code;
  };
  return { clock, ledger, tokens, nowS, payload, judge };
}

Deno.test("AccessTokens.verify() finds the caller that signed, and what the token permits", async () => {
  const { tokens, payload } = setUp();
  const token = makeToken(KEY, payload({ scope: "read", namespaces: ["ä"] }));
  assertEquals(await tokens.verify(token), {
    kind: "ok",
    caller: {
      accountId: ACCOUNT.accountId,
      owner: ACCOUNT.owner,
      publicKey: KEY.publicKey,
      grant: { id: "t1", scope: "read", namespaces: new Set(["ä"]) },
    },
  });
});

Deno.test("AccessTokens.verify() refuses a token whose key is no delegate any longer", async () => {
  const { ledger, payload, judge } = setUp();
  const token = makeToken(KEY, payload());
  assertEquals(await judge(token), "ok");
  ledger.accounts = [makeAccount("1", [OTHER.publicKey])];
  assertEquals(await judge(token), "ERR_KEY_NOT_DELEGATE");
  ledger.accounts = [{ ...ACCOUNT, isActive: false }];
  assertEquals(await judge(token), "ERR_ACCOUNT_INACTIVE");
  ledger.accounts = [];
  assertEquals(await judge(token), "ERR_ACCOUNT_UNKNOWN");
  ledger.failure = "away";
  assertEquals(await judge(token), "AUTH_UPSTREAM_UNAVAILABLE");
});

Deno.test("AccessTokens.verify() refuses a token of another account's delegate", async () => {
  const { ledger, payload, judge } = setUp();
  ledger.accounts = [ACCOUNT, makeAccount("2", [OTHER.publicKey])];
  assertEquals(
    await judge(makeToken(OTHER, payload())),
    "ERR_KEY_NOT_DELEGATE",
  );
  assertEquals(
    await judge(makeToken(OTHER, payload({ iss: KEY.publicKey }))),
    "ERR_TOKEN_SIGNATURE",
  );
});

Deno.test("AccessTokens.verify() allows clocks to differ by the window of signed requests", async () => {
  const { clock, nowS, payload, judge } = setUp();
  const token = makeToken(KEY, payload());
  clock.advance(DAY_S * 1_000 + 299_000);
  assertEquals(await judge(token), "ok");
  clock.advance(1_000);
  assertEquals(await judge(token), "ERR_TOKEN_EXPIRED");
  const laterS = nowS + DAY_S + 300;
  const early = (aheadS: number) =>
    judge(makeToken(
      KEY,
      payload({ iat: laterS + aheadS, exp: laterS + DAY_S }),
    ));
  assertEquals(await early(300), "ok");
  assertEquals(await early(301), "ERR_TOKEN_TOO_EARLY");
});

Deno.test("AccessTokens.verify() refuses lives of more than 400 days, and of none", async () => {
  const { nowS, payload, judge } = setUp();
  const ofLife = (lifeS: number) =>
    judge(makeToken(KEY, payload({ exp: nowS + lifeS })));
  assertEquals(await ofLife(400 * DAY_S), "ok");
  assertEquals(await ofLife(400 * DAY_S + 1), "ERR_TOKEN_LIFETIME");
  assertEquals(await ofLife(0), "ERR_TOKEN_LIFETIME");
});

Deno.test("AccessTokens.verify() takes one spelling of a token only", async () => {
  const { payload, judge } = setUp();
  const { sub, iat, exp } = payload();
  const iss = KEY.publicKey;
  const claims = { iss, sub, jti: "t1", iat, exp, scope: "read" };
  const good = JSON.stringify(claims);
  assertEquals(await judge(signToken(KEY, good)), "ok");
  const others = [
    ` ${good}`,
    good.replace('"scope":"read"', '"scope":"read","scope":"write"'),
    good.replace("{", '{"scope":"write",'),
    good.replace("}", ',"aud":"x"}'),
    good.replace("}", ',"namespaces":null}'),
    good.replace("}", ',"__proto__":{}}'),
    good.replace('"read"', '"re\\u0061d"'),
    good.replace(`${iat}`, `${iat}.0`),
    good.replace(`${iat}`, `${iat}e0`),
    `[${good}]`,
    "null",
    "",
    "\ufeff" + good,
  ];
  for (const text of others) {
    assertEquals(await judge(signToken(KEY, text)), "ERR_TOKEN_FORMAT", text);
  }
  for (
    const header of [
      { alg: "none", typ: "tercet-access-1+jwt" },
      { alg: "HS256", typ: "tercet-access-1+jwt" },
      { typ: "tercet-access-1+jwt", alg: "EdDSA" },
      { alg: "EdDSA", typ: "JWT" },
      { alg: "EdDSA", typ: "tercet-access-2+jwt" },
    ]
  ) {
    const token = signToken(KEY, good, header);
    assertEquals(await judge(token), "ERR_TOKEN_FORMAT", header.alg);
  }
});

Deno.test("AccessTokens.verify() refuses claims of other types", async () => {
  const { payload, judge } = setUp();
  const cases: readonly Partial<TokenPayload>[] = [
    { iss: KEY.publicKey.toUpperCase() },
    { iss: 5 },
    { sub: "account" },
    { sub: "" },
    { jti: "" },
    { jti: "a b" },
    { jti: 5 },
    { iat: "1" },
    { iat: -1 },
    { exp: 1e300 },
    { scope: "admin" },
    { scope: ["read"] },
    { namespaces: [] },
    { namespaces: "a" },
    { namespaces: ["a", "a"] },
    { namespaces: [" "] },
    { namespaces: [5] },
    { namespaces: ["x".repeat(256)] },
    { namespaces: ["half \ud83d pair"] },
  ];
  for (const members of cases) {
    assertEquals(
      await judge(makeToken(KEY, payload(members))),
      "ERR_TOKEN_FORMAT",
      JSON.stringify(members),
    );
  }
});

Deno.test("AccessTokens.verify() refuses a token of which one character differs", async () => {
  const { payload, judge } = setUp();
  const token = makeToken(KEY, payload());
  for (let at = 0; at < token.length; at++) {
    const other = token[at] === "A" ? "B" : "A";
    const changed = token.slice(0, at) + other + token.slice(at + 1);
    assertEquals((await judge(changed)).startsWith("ERR_TOKEN_"), true);
    assertEquals(await judge(token.slice(0, at)), "ERR_TOKEN_FORMAT");
  }
});

Deno.test("AccessTokens.verify() refuses long tokens before it reads them", async () => {
  const { payload, judge } = setUp();
  const many = (count: number) =>
    makeToken(
      KEY,
      payload({
        namespaces: Array.from({ length: count }, (_, n) => `namespace ${n}`),
      }),
    );
  assertEquals(many(140).length < MAX_TOKEN_CHARS, true);
  assertEquals(await judge(many(140)), "ok");
  assertEquals(await judge(many(400)), "ERR_TOKEN_FORMAT");
});
