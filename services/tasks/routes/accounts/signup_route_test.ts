import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { hashSecret } from "../../access/credential_token.ts";
import type { JwtOutcome, TokenSubject } from "../../access/jwt.ts";
import { CredentialRecords } from "../../engine/credential_records.ts";
import type { AnyRoute } from "../../http/route.ts";
import { accountRoutes, meRoute } from "../account/account_routes.ts";
import type { ApiParts } from "../api_parts.ts";
import {
  openTestApi,
  SERVICE_HOST,
  type TestApi,
  type TestApiOptions,
} from "../testing/test_api.ts";
import type { TestAnswer, TestCall } from "../testing/test_caller.ts";
import { signupRoute, type TokenVerifier } from "./signup_route.ts";

const TOKEN = "accounts-token-0123456789";

Deno.test("POST / of the accounts host makes a tenant that can be used at once", async () => {
  const api = await open();
  const made = await signUp(api, { body: { domain: "Globex" } });
  assertEquals(made.status, 201);
  assertEquals(made.at("domain"), "globex");
  assertEquals(made.at("url"), `http://globex.${SERVICE_HOST}`);
  assertEquals(made.at("plan"), "test");
  assertEquals(made.at("status"), "active");
  assertEquals(
    made.headers["location"],
    `http://globex.${SERVICE_HOST}/api/v1/account`,
  );
  const key = made.textAt("owner_key");
  const me = await api.call("GET", "/v1/me", {
    key,
    host: `globex.${SERVICE_HOST}`,
  });
  assertEquals(me.at("key", "role"), "owner");
  assertEquals(me.at("tenant", "id"), made.at("id"));
  // The key works for that tenant alone.
  assertEquals((await api.call("GET", "/v1/me", { key })).status, 401);
  await api.close();
});

Deno.test("POST / refuses domains that are malformed, reserved or taken", async () => {
  const api = await open();
  const cases: readonly (readonly [unknown, string])[] = [
    [{ domain: "a.b" }, "bad_domain"],
    [{ domain: "-a" }, "bad_domain"],
    [{ domain: "a_b" }, "bad_domain"],
    [{ domain: "x".repeat(64) }, "bad_domain"],
    [{ domain: "xn--80ak6aa92e" }, "bad_domain"],
    [{ domain: "accounts" }, "reserved_domain"],
    [{ domain: "WWW" }, "reserved_domain"],
    [{ domain: "" }, "too_short"],
    [{ domain: 7 }, "wrong_type"],
    [{}, "required"],
    [{ domain: "globex", plan: "business" }, "unknown_field"],
  ];
  for (const [body, code] of cases) {
    const answer = await signUp(api, { body });
    assertEquals(answer.status, 422, JSON.stringify(body));
    assertEquals(answer.at("errors", 0, "code"), code);
  }
  for (const domain of ["acme", "ACME"]) {
    const taken = await signUp(api, { body: { domain } });
    assertEquals([taken.status, taken.at("code")], [409, "domain_taken"]);
  }
  await api.close();
});

Deno.test("of many who want a domain at once one gets it", async () => {
  const api = await open();
  const answers = await Promise.all(
    Array.from(
      { length: 8 },
      () => signUp(api, { body: { domain: "globex" } }),
    ),
  );
  assertEquals(answers.filter(({ status }) => status === 201).length, 1);
  assertEquals(answers.filter(({ status }) => status === 409).length, 7);
  await api.close();
});

Deno.test('the mode "closed" lets nobody, "token" who has the token', async () => {
  const closed = await open({ accounts: { mode: "closed" } });
  const refused = await signUp(closed, { key: TOKEN });
  assertEquals([refused.status, refused.at("code")], [403, "forbidden"]);
  await closed.close();

  // Without a configured token, no token is accepted.
  const unset = await open({ accounts: { mode: "token" } });
  for (const key of [null, TOKEN]) {
    const answer = await signUp(unset, { key });
    assertEquals([answer.status, answer.at("code")], [403, "forbidden"]);
    assertStringIncludes(answer.textAt("detail"), "sets ACCOUNTS_TOKEN");
  }
  await unset.close();

  const api = await open({
    accounts: { mode: "token", tokenDigests: [hashSecret(TOKEN)] },
  });
  const cases:
    readonly (readonly [string | null, number, string | undefined])[] = [
      [null, 401, "missing_credentials"],
      [`${TOKEN}x`, 401, "invalid_credentials"],
      ["a.b.c", 401, "invalid_credentials"],
      [TOKEN, 201, undefined],
    ];
  for (const [key, status, code] of cases) {
    const answer = await signUp(api, { key });
    assertEquals([answer.status, answer.at("code")], [status, code]);
  }
  const basic = await signUp(api, {
    key: null,
    headers: { authorization: `Basic ${btoa(`x:${TOKEN}`)}` },
  });
  assertEquals(basic.status, 401);
  await api.close();
});

Deno.test("each of several instances lets an address make its share of tenants", async () => {
  let instances = 2;
  const api = await open({
    accounts: { mode: "open", perHour: 4 },
    liveInstances: () => instances,
  });
  const make = async (domain: string): Promise<number> =>
    (await signUp(api, { body: { domain } })).status;
  // What is refused for another reason costs nothing.
  assertEquals(await make("acme"), 409);
  assertEquals(
    [await make("one"), await make("two"), await make("three")],
    [201, 201, 429],
  );
  api.clock.advance(3_600_000);
  instances = 99;
  assertEquals([await make("four"), await make("five")], [201, 429]);
  await api.close();
});

Deno.test('the mode "open" bounds what an address makes, not what it is refused', async () => {
  const api = await open({
    accounts: { mode: "open", perHour: 2, tokenDigests: [hashSecret(TOKEN)] },
  });
  for (let count = 0; count < 5; count++) {
    const taken = await signUp(api, { body: { domain: "acme" } });
    assertEquals(taken.status, 409);
  }
  const make = (domain: string, call: TestCall = {}): Promise<TestAnswer> =>
    signUp(api, { body: { domain }, ...call });
  assertEquals((await make("one")).status, 201);
  assertEquals((await make("two")).status, 201);
  const over = await make("three");
  assertEquals([over.status, over.at("code")], [429, "rate_limited"]);
  assertEquals(over.headers["retry-after"], "1800");
  assertMatch(over.headers["ratelimit-policy"] ?? "", /q=2;w=3600/);
  assertEquals((await make("three", { address: "192.0.2.9" })).status, 201);
  assertEquals((await make("four", { key: TOKEN })).status, 201);
  api.clock.advance(1_800_000);
  assertEquals((await make("five")).status, 201);
  await api.close();
});

Deno.test("POST / counts a /64 as one address, and who is not known as one", async () => {
  const api = await open({ accounts: { mode: "open", perHour: 1 } });
  let made = 0;
  const statusFor = async (address: string): Promise<number> => {
    const body = { domain: `made-${made++}` };
    return (await signUp(api, { body, address })).status;
  };
  const cases: readonly (readonly [string, number])[] = [
    ["2001:db8::1", 201],
    ["2001:db8::ffff:2", 429],
    ["2001:db8:0:1::1", 201],
    ["192.0.2.1", 201],
    ["192.0.2.2", 201],
    ["::ffff:192.0.2.1", 429],
    ["", 201],
    ["unix", 429],
  ];
  for (const [address, status] of cases) {
    assertEquals(await statusFor(address), status, address);
  }
  await api.close();
});

Deno.test("many at once from one address get no more than its share", async () => {
  const api = await open({ accounts: { mode: "open", perHour: 2 } });
  const answers = await Promise.all(
    Array.from(
      { length: 6 },
      (_, index) => signUp(api, { body: { domain: `t${index}` } }),
    ),
  );
  assertEquals(answers.filter(({ status }) => status === 201).length, 2);
  await api.close();
});

Deno.test("a person with a token of the identity provider becomes the owner", async () => {
  const subject: TokenSubject = {
    issuer: "https://idp.test/",
    subject: "auth0|1",
    verifiedEmail: "Ada@example.com",
    name: "Ada",
    expiresAtMs: Infinity,
  };
  const api = await open({}, { kind: "ok", subject });
  const made = await signUp(api, { key: "aa.bb.cc" });
  assertEquals([made.status, made.at("owner_key")], [201, null]);
  const tenantId = made.textAt("id");
  const { repositories } = api.parts.engine.parts;
  const [owner] = await repositories.users.all(tenantId);
  assertEquals(owner?.role, "owner");
  assertEquals(owner?.status, "active");
  assertEquals(owner?.email, "Ada@example.com");
  assertEquals(await repositories.keys.all(tenantId), []);
  const records = new CredentialRecords(api.parts.engine.parts);
  assertEquals((await records.findUser(tenantId, subject))?.id, owner?.id);
  await api.close();
});

Deno.test("a token that is refused or names no address makes no tenant", async () => {
  const nameless: TokenSubject = {
    issuer: "https://idp.test/",
    subject: "auth0|1",
    expiresAtMs: Infinity,
  };
  const cases: readonly (readonly [JwtOutcome, number, string])[] = [
    [
      { kind: "refused", code: "token_expired", reason: "Cannot: old" },
      401,
      "token_expired",
    ],
    [{ kind: "unavailable", retryAfterMs: 3_000 }, 503, "overloaded"],
    [{ kind: "ok", subject: nameless }, 403, "forbidden"],
    [
      { kind: "ok", subject: { ...nameless, verifiedEmail: "\u212A@b.c" } },
      403,
      "forbidden",
    ],
  ];
  for (const [outcome, status, code] of cases) {
    const api = await open({}, outcome);
    const answer = await signUp(api, { key: "aa.bb.cc" });
    assertEquals([answer.status, answer.at("code")], [status, code]);
    assertEquals((await signUp(api, { key: null })).status, 201);
    await api.close();
  }
});

Deno.test("an answer that is given again shows nobody the key", async () => {
  const api = await open();
  const call = { headers: { "idempotency-key": "1" } };
  const first = await signUp(api, call);
  const again = await signUp(api, call);
  assertMatch(first.textAt("owner_key"), /^dk_/);
  assertEquals([again.status, again.at("id")], [201, first.at("id")]);
  assertEquals(again.at("owner_key"), null);
  assert(!again.text.includes(first.textAt("owner_key").slice(3, 19)));
  // A stranger who guesses the Idempotency-Key learns nothing.
  const stranger = await signUp(api, { ...call, address: "198.51.100.9" });
  assertEquals(stranger.status, 409);
  await api.close();
});

Deno.test("the accounts host has one method and one path", async () => {
  const api = await open();
  const host = `accounts.${SERVICE_HOST}`;
  const read = await api.call("GET", "/", { host });
  assertEquals([read.status, read.headers["allow"]], [405, "POST"]);
  assertEquals((await api.call("POST", "/x", { host })).status, 404);
  assertEquals((await api.call("POST", "/", { body: {} })).status, 404);
  await api.close();
});

function open(
  options: Partial<TestApiOptions> = {},
  outcome?: JwtOutcome,
): Promise<TestApi> {
  const tokens: TokenVerifier | undefined = outcome && {
    verify: () => outcome,
  };
  return openTestApi({
    routes: (parts: ApiParts): readonly AnyRoute[] => [
      signupRoute(parts, tokens),
      meRoute(parts),
      ...accountRoutes(parts),
    ],
    ...options,
  });
}

function signUp(api: TestApi, call: TestCall = {}): Promise<TestAnswer> {
  return api.call("POST", "/", {
    body: { domain: "globex" },
    key: null,
    host: `accounts.${SERVICE_HOST}`,
    ...call,
  });
}
