/**
 * Tests of what access tokens may do: each route that authenticates has a row,
 * so that a route without a decision fails.
 */

import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { AccessTokens } from "../auth/access_tokens.ts";
import { AccountResolver, type Caller } from "../auth/authenticate.ts";
import { SignatureVerifier } from "../auth/signed_request.ts";
import { FakeLedger, makeAccount } from "../auth/testing/fake_ledger.ts";
import { makeToken, type TokenPayload } from "../auth/testing/make_token.ts";
import { makeSigner } from "../auth/testing/signer.ts";
import { allRoutes } from "./handler.ts";
import type { RelayerParts } from "./parts.ts";
import { sampleJob, storeSample } from "./testing/sample_rows.ts";
import {
  openTestRelayer,
  type TestAnswer,
  type TestRelayer,
} from "./testing/test_relayer.ts";

const KEY = makeSigner(1);
const ACCOUNT = makeAccount("1", [KEY.publicKey]);
const OWNER = ACCOUNT.owner;
const CALLER: Caller = {
  accountId: ACCOUNT.accountId,
  owner: OWNER,
  publicKey: KEY.publicKey,
};
/** The namespace of the bounded token, and another one. */
const OWN = "mine";
const OTHER = "secret-plans";
const VECTOR = [1, 0, 0, 0];

/** A call of a route, about the token's namespace or the other one. */
interface Call {
  readonly target: string;
  readonly body?: Readonly<Record<string, unknown>> | undefined;
}

/** What tokens may do on a route. */
interface Decision {
  /** What a token needs to permit. */
  readonly scope: "read" | "write";
  /** Makes the call about a namespace, by its name or its memory's id. */
  readonly call: (namespace: string, id: string) => Call;
  /** The status for a token that is for the namespace. */
  readonly own?: number;
  /** The status for a token that is for another one. */
  readonly other: number;
  /** Whether a token needs key servers' session, so is refused with them. */
  readonly opens?: boolean;
}

const named = (
  target: string,
  members: Readonly<Record<string, unknown>> = {},
) =>
(namespace: string): Call => ({ target, body: { namespace, ...members } });

const DECISIONS: Readonly<Record<string, Decision>> = {
  "GET /api/whoami": {
    scope: "read",
    call: () => ({ target: "/api/whoami" }),
    other: 200,
  },
  "POST /api/remember": {
    scope: "write",
    call: named("/api/remember", { text: "tea" }),
    own: 202,
    other: 403,
  },
  "POST /api/remember/bulk": {
    scope: "write",
    call: (namespace) => ({
      target: "/api/remember/bulk",
      body: {
        items: [{ text: "a", namespace: OWN }, { text: "b", namespace }],
      },
    }),
    own: 202,
    other: 403,
  },
  "GET /api/remember/:id": {
    scope: "read",
    call: (_, id) => ({ target: `/api/remember/${id}` }),
    other: 404,
  },
  "POST /api/remember/bulk/status": {
    scope: "read",
    call: (_, id) => ({
      target: "/api/remember/bulk/status",
      body: { job_ids: [id] },
    }),
    other: 200,
  },
  "POST /api/recall": {
    scope: "read",
    call: named("/api/recall", { query: "tea" }),
    other: 403,
    opens: true,
  },
  "POST /api/remember/manual": {
    scope: "write",
    call: named("/api/remember/manual", {
      encrypted_data: "AAAA",
      vector: VECTOR,
    }),
    other: 403,
  },
  "POST /api/recall/manual": {
    scope: "read",
    call: named("/api/recall/manual", { vector: VECTOR }),
    other: 403,
    opens: true,
  },
  "GET /api/memories/:id/blob": {
    scope: "read",
    call: (_, id) => ({ target: `/api/memories/${id}/blob` }),
    other: 404,
  },
  "POST /api/memories/:id/vector": {
    scope: "write",
    call: (_, id) => ({
      target: `/api/memories/sealed-${id}/vector`,
      body: { vector: VECTOR },
    }),
    other: 404,
  },
  "POST /api/analyze": {
    scope: "write",
    call: named("/api/analyze", { text: "tea" }),
    own: 202,
    other: 403,
  },
  "POST /api/embed": {
    scope: "read",
    call: () => ({ target: "/api/embed", body: { text: "tea" } }),
    other: 200,
  },
  "POST /api/ask": {
    scope: "read",
    call: named("/api/ask", { question: "tea?" }),
    other: 403,
    opens: true,
  },
  "POST /api/restore": {
    scope: "write",
    call: named("/api/restore"),
    other: 403,
    opens: true,
  },
  "POST /api/forget": {
    scope: "write",
    call: named("/api/forget"),
    other: 403,
  },
  "POST /api/stats": { scope: "read", call: named("/api/stats"), other: 403 },
  "DELETE /api/memories/:id": {
    scope: "write",
    call: (_, id) => ({ target: `/api/memories/${id}` }),
    other: 404,
  },
  "GET /v1/owners/:owner/namespaces": {
    scope: "read",
    call: () => ({ target: `/v1/owners/${OWNER}/namespaces` }),
    other: 200,
  },
  "GET /v1/owners/:owner/memories": {
    scope: "read",
    call: () => ({ target: `/v1/owners/${OWNER}/memories` }),
    other: 200,
  },
  "GET /v1/owners/:owner/agents": {
    scope: "read",
    call: () => ({ target: `/v1/owners/${OWNER}/agents` }),
    own: 403,
    other: 403,
  },
};

const ROWS = Object.entries(DECISIONS);

Deno.test("access tokens have a decision on every route that authenticates", () => {
  const { relayer } = setUp();
  const routes = allRoutes(relayer.parts).flatMap((route) =>
    route.access === "open" ? [] : [`${route.method} ${route.path}`]
  );
  assertEquals(Object.keys(DECISIONS).toSorted(), routes.toSorted());
});

for (const [route, { scope, call, own = 200, other, opens }] of ROWS) {
  Deno.test(`${route} takes tokens for its namespace, and none for others`, async () => {
    const { relayer, send, fill } = setUp();
    await fill();
    const bounded = { scope: "write", namespaces: [OWN] };
    const foreign = await send(route, call(OTHER, "m-other"), bounded);
    assertEquals(foreign.status, other, foreign.text);
    for (const told of ["m-other", "blob of m-other", "secret memory"]) {
      const isEcho = foreign.text.includes('"not_found"');
      assert(isEcho || !foreign.text.includes(told), foreign.text);
    }
    assertEquals(relayer.intake.accepted, []);
    assertEquals(relayer.store.memoryRows.has("m-other"), true);
    const mine = await send(route, call(OWN, "m-own"), bounded);
    assertEquals(mine.status, own, mine.text);
  });

  Deno.test(`${route} needs a token that permits to ${scope}`, async () => {
    const { send, fill, relayer } = setUp();
    await fill();
    const { status, json, headers } = await send(
      route,
      call(OWN, "m-own"),
      { scope: "read" },
    );
    const isReading = scope === "read";
    const expected = route.endsWith("/agents") ? 200 : own;
    assertEquals(status, isReading ? expected : 403);
    if (isReading) return;
    assertEquals(Object(json).code, "INSUFFICIENT_SCOPE");
    assertEquals(
      String(headers["www-authenticate"]).startsWith(
        'Bearer realm="relayer", error="insufficient_scope"',
      ),
      true,
    );
    assertEquals(relayer.spent, []);
  });

  Deno.test(`${route} ${opens ? "refuses" : "takes"} tokens behind key servers`, async () => {
    const { send, fill } = setUp({
      sessions: { take: () => Promise.reject(new Error("no token has one")) },
    });
    await fill();
    const { status, json } = await send(
      route,
      { ...call(OWN, "m-own") },
      {},
      { "x-seal-session": "e30=" },
    );
    if (opens !== true) return assertEquals(status < 300, true);
    assertEquals([status, Object(json).code], [403, "SESSION_REQUIRED"]);
  });
}

Deno.test("handler lists only what is in a token's namespaces", async () => {
  const { send, fill, relayer } = setUp();
  await fill();
  await relayer.call("DELETE", "/api/memories/none");
  const bounded = { namespaces: [OWN] };
  const path = `/v1/owners/${OWNER}`;
  const { json: memories } = await send(
    "GET /memories",
    { target: `${path}/memories` },
    bounded,
  );
  assertEquals(
    Object(memories).memories.map((one: unknown) => Object(one).memory_id),
    ["m-own"],
  );
  const { json: spaces } = await send(
    "GET /namespaces",
    { target: `${path}/namespaces` },
    bounded,
  );
  assertEquals(
    Object(spaces).namespaces.map((one: unknown) => Object(one).name),
    [OWN],
  );
});

Deno.test("handler charges a token's calls to the account and the key that signed it", async () => {
  const { send, relayer } = setUp();
  await send("POST", DECISIONS["POST /api/recall"]!.call(OWN, ""), {});
  const [first] = relayer.spent;
  assertEquals(
    [first?.caller.accountId, first?.caller.publicKey, first?.points],
    [ACCOUNT.accountId, KEY.publicKey, 1],
  );
});

Deno.test("handler says what to do about a token that is refused, and never shows it", async () => {
  const { send, clock, relayer } = setUp();
  clock.advance(200_000_000_000);
  const { status, json, headers, text } = await send(
    "GET",
    { target: "/api/whoami" },
    { iat: 1_800_000_000, exp: 1_800_000_060 },
  );
  assertEquals(status, 401);
  assertEquals(headers["x-auth-error"], "ERR_TOKEN_EXPIRED");
  const error = "Cannot accept the access token: it has expired; make another";
  assertEquals(json, { error, code: "ERR_TOKEN_EXPIRED" });
  assertEquals(
    headers["www-authenticate"],
    `Bearer realm="relayer", error="invalid_token", error_description="${error}"`,
  );
  const logged = JSON.stringify(relayer.logger);
  assertEquals(/eyJ/.test(logged + text), false);
});

Deno.test("handler takes the signature of a request that has a token for a proxy as well", async () => {
  const { relayer } = setUp();
  const { status } = await relayer.call("POST", "/api/stats", {
    body: { namespace: OWN },
    headers: { "x-signature": "ab", authorization: "Bearer of-a-proxy" },
  });
  assertEquals(status, 200);
});

Deno.test("handler refuses an owner's pages to a token of another account", async () => {
  const { send } = setUp();
  const { status } = await send(
    "GET",
    { target: `/v1/owners/0x${"b2".repeat(32)}/memories` },
    {},
  );
  assertEquals(status, 403);
});

Deno.test("handler refuses bodies of strangers' tokens before it reads them", async () => {
  const { relayer } = setUp();
  const { status } = await relayer.call("POST", "/api/remember", {
    as: "nobody",
    headers: { authorization: "Bearer eyJ.no.token" },
    bodyOutcome: { kind: "too_large" },
  });
  assertEquals(status, 401);
});

interface Setting {
  readonly relayer: TestRelayer;
  readonly clock: FakeClock;
  /** Sends a call with a token. */
  send(
    route: string,
    call: Call,
    payload: Partial<TokenPayload>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<TestAnswer>;
  /** Stores a memory in each namespace. */
  fill(): Promise<void>;
}

function setUp(values: Partial<RelayerParts> = {}): Setting {
  const clock = new FakeClock(1_800_000_000_000);
  const ledger = new FakeLedger();
  ledger.accounts = [ACCOUNT];
  const accessTokens = new AccessTokens({
    clock,
    signatures: new SignatureVerifier(),
    accounts: new AccountResolver({ ledger, clock }),
    windowMs: 300_000,
  });
  const relayer = openTestRelayer({ accessTokens, ...values });
  const nowS = Math.floor(clock.nowMs() / 1_000);
  return {
    relayer,
    clock,
    async send(route, { target, body }, payload, headers = {}) {
      const [method = ""] = route.split(" ");
      const token = makeToken(KEY, {
        sub: ACCOUNT.accountId,
        iat: nowS,
        exp: nowS + 60,
        ...payload,
      });
      return await relayer.call(method, target, {
        as: "nobody",
        headers: { authorization: `Bearer ${token}`, ...headers },
        body,
      });
    },
    async fill() {
      for (const [id, namespace] of [["m-own", OWN], ["m-other", OTHER]]) {
        if (id === undefined || namespace === undefined) continue;
        const memory = await storeSample(relayer, CALLER, { id, namespace });
        relayer.store.putJob(
          sampleJob(CALLER, { id, namespace, error: "secret memory" }),
        );
        await relayer.catalog.add({
          ...memory,
          memoryId: `sealed-${id}`,
          agentId: KEY.publicKey,
          importance: undefined,
          sealedIndex: Uint8Array.of(1),
        });
      }
    },
  };
}
