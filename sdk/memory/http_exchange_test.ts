import {
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import { waitUntil } from "../../tests/support/wait_until.ts";
import { type MemConfig, resolveConfig } from "./config.ts";
import {
  MemCompatibilityError,
  MemDestroyedError,
  MemError,
  MemPreflightTimeout,
  MemRequestTimeout,
} from "./errors.ts";
import type { RelayerRequest } from "./exchange.ts";
import { HttpExchange } from "./http_exchange.ts";
import { LostRelayerError } from "./round_trip.ts";
import {
  fittingFetch,
  type ScriptedFetch,
  scriptedFetch,
  silence,
} from "./testing/scripted_fetch.ts";

const PUBLIC_KEY =
  "ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c";

const REMEMBER: RelayerRequest = {
  method: "POST",
  path: "/api/remember",
  body: { text: "tea", namespace: undefined },
  timeoutMs: 30_000,
};

const HEALTH: RelayerRequest = {
  method: "GET",
  path: "/health",
  isSigned: false,
  timeoutMs: 5_000,
};

function createExchange(
  { fetch }: Pick<ScriptedFetch, "fetch">,
  options: Partial<MemConfig> & { readonly maxAnswerBytes?: number } = {},
): HttpExchange {
  const { maxAnswerBytes, ...config } = options;
  return new HttpExchange(
    resolveConfig({
      key: "07".repeat(32),
      accountId: "0xabc",
      clock: new FakeClock(),
      fetch,
      ...config,
    }),
    maxAnswerBytes,
  );
}

function isReady(what: string, condition: () => boolean): Promise<void> {
  return waitUntil(condition, { what, intervalMs: 1 });
}

Deno.test("HttpExchange.send() sends one signed request after the preflight", async () => {
  const script = fittingFetch(() =>
    Response.json({ job_id: "j" }, { status: 202, headers: { "x-a": "b" } })
  );
  const answer = await createExchange(script).send(REMEMBER);
  assertEquals(answer.status, 202);
  assertEquals(answer.json, { job_id: "j" });
  assertEquals(answer.headers.get("x-a"), "b");
  assertEquals(
    script.seen.map(({ method, path }) => `${method} ${path}`),
    ["GET /version", "POST /api/remember"],
  );
  const [preflight, request] = script.seen;
  assertEquals(preflight!.headers.has("x-signature"), false);
  assertEquals(preflight!.headers.has("content-type"), false);
  assertEquals(
    new TextDecoder().decode(request!.body),
    '{"text":"tea"}',
  );
  assertEquals(request!.headers.get("content-type"), "application/json");
  assertEquals(request!.headers.get("x-public-key"), PUBLIC_KEY);
  assertEquals(request!.headers.get("x-account-id"), "0xabc");
  assertEquals(request!.headers.get("x-timestamp"), "1800000000");
  assertEquals(request!.headers.has("x-seal-session"), false);
  assertEquals(request!.init.redirect, "manual");
  assertEquals(request!.init.credentials, "omit");
});

Deno.test("HttpExchange.send() makes signatures that a relayer across a socket can verify", async () => {
  const verified: boolean[] = [];
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request) => {
      const { pathname, search } = new URL(request.url);
      if (pathname === "/version") {
        return Response.json({
          relayerVersion: "0.1.0",
          apiVersion: "1.0.0",
          minSupportedSdk: { typescript: "0.0.4" },
        });
      }
      const header = (name: string): string => request.headers.get(name) ?? "";
      const body = await request.arrayBuffer();
      const hash = await crypto.subtle.digest("SHA-256", body);
      const text = [
        header("x-timestamp"),
        request.method,
        pathname + search,
        toHex(new Uint8Array(hash)),
        header("x-nonce"),
        header("x-account-id"),
      ].join(".");
      const key = await crypto.subtle.importKey(
        "raw",
        parseHex(header("x-public-key")),
        "Ed25519",
        false,
        ["verify"],
      );
      const signature = parseHex(header("x-signature"));
      const bytes = new TextEncoder().encode(text);
      verified.push(
        await crypto.subtle.verify("Ed25519", key, signature, bytes),
      );
      return Response.json({ echo: new TextDecoder().decode(body) });
    },
  );
  try {
    const exchange = new HttpExchange(resolveConfig({
      key: "07".repeat(32),
      accountId: "0xabc",
      serverUrl: `http://127.0.0.1:${server.addr.port}/`,
    }));
    const text = 'tea 🍵 ä\u0000 "quoted"';
    const posted = await exchange.send({ ...REMEMBER, body: { text } });
    assertEquals(posted.json, { echo: JSON.stringify({ text }) });
    await exchange.send({
      method: "GET",
      path: "/v1/owners/0x1/memories?limit=5&q=ü",
      timeoutMs: 30_000,
    });
    await exchange.send({
      method: "DELETE",
      path: "/api/memories/j1",
      timeoutMs: 30_000,
    });
    exchange.destroy();
  } finally {
    await server.shutdown();
  }
  assertEquals(verified, [true, true, true]);
});

Deno.test("HttpExchange.send() asks for the contract once for many callers", async () => {
  const script = fittingFetch(() => Response.json({}));
  const exchange = createExchange(script);
  await Promise.all([exchange.send(REMEMBER), exchange.send(REMEMBER)]);
  await exchange.send(REMEMBER);
  assertEquals(
    script.seen.filter(({ path }) => path === "/version").length,
    1,
  );
  await exchange.contract();
  assertEquals(script.seen.length, 4);
  await exchange.compatibility();
  assertEquals(script.seen.length, 5);
});

Deno.test("HttpExchange.send() signs nothing for a relayer that does not fit", async () => {
  const script = scriptedFetch(() => Response.json({ apiVersion: "2.0.0" }));
  const exchange = createExchange(script);
  await assertRejects(() => exchange.send(REMEMBER), MemCompatibilityError);
  assertEquals(script.seen.map(({ path }) => path), ["/version"]);
});

Deno.test("HttpExchange.send() needs no preflight when the request is not signed", async () => {
  const script = scriptedFetch(() => Response.json({ status: "ok" }));
  const answer = await createExchange(script).send(HEALTH);
  assertEquals(answer.json, { status: "ok" });
  assertEquals(script.seen.length, 1);
  assertEquals(script.seen[0]!.headers.has("x-signature"), false);
});

Deno.test("HttpExchange.send() returns an answer without a body, and statuses that are good for the caller", async () => {
  const empty = createExchange(fittingFetch(() => new Response(null)));
  assertEquals((await empty.send(REMEMBER)).json, undefined);
  for (
    const [body, json] of [
      ['{"error":"no job"}', { error: "no job" }],
      ["<html>", undefined],
    ] as const
  ) {
    const exchange = createExchange(
      fittingFetch(() => new Response(body, { status: 404 })),
    );
    const answer = await exchange.send({ ...REMEMBER, alsoGood: [404] });
    assertEquals([answer.status, answer.json], [404, json]);
    const error = await assertRejects(() => exchange.send(REMEMBER), MemError);
    assertEquals(error.status, 404);
  }
});

Deno.test("HttpExchange.send() tries nothing again by itself", async () => {
  for (const status of [401, 429, 500, 503]) {
    const script = fittingFetch(() => new Response(null, { status }));
    const error = await assertRejects(
      () => createExchange(script).send(REMEMBER),
      MemError,
    );
    assertEquals(error.status, status);
    assertEquals(script.seen.length, 2);
  }
});

Deno.test("HttpExchange.send() has status 0 and the cause when no answer arrives", async () => {
  const cause = new TypeError("connection refused");
  const refused = await assertRejects(
    () =>
      createExchange(fittingFetch(() => Promise.reject(cause))).send(REMEMBER),
    MemError,
  );
  assertEquals(refused.status, 0);
  assertEquals(refused.cause, cause);
  assertStringIncludes(refused.message, '"http://localhost:8000"');
  const broken = new ReadableStream({
    pull: (controller) => controller.error(new TypeError("reset")),
  });
  const cut = await assertRejects(
    () =>
      createExchange(fittingFetch(() => new Response(broken))).send(REMEMBER),
    MemError,
  );
  assertEquals(cut.status, 0);
});

Deno.test("HttpExchange.send() rejects good answers that are no JSON, no UTF-8, or too long", async () => {
  const cases = [
    ["<html>", "no JSON"],
    [new Uint8Array([0x22, 0xff, 0x22]), "no JSON"],
    [`"${"x".repeat(99)}"`, "longer than it may be"],
  ] as const;
  for (const [body, state] of cases) {
    const exchange = createExchange(fittingFetch(() => new Response(body)), {
      maxAnswerBytes: 100,
    });
    // The answer about compatibility is longer than the limit that this test
    // sets.
    const error = await assertRejects(
      () => exchange.send({ ...REMEMBER, isSigned: false }),
      MemError,
    );
    assertStringIncludes(error.message, state);
    assertEquals(error.status, undefined);
  }
});

Deno.test("HttpExchange.send() keeps no more than the beginning of a long error", async () => {
  const exchange = createExchange(
    fittingFetch(() => new Response("x".repeat(200_000), { status: 500 })),
  );
  const error = await assertRejects(() => exchange.send(REMEMBER), MemError);
  assertEquals(String(error.cause).length, 65_536);
});

Deno.test("HttpExchange.send() gives up at the deadline when no answer comes, or its body stalls", async () => {
  const stalled = (): Response =>
    new Response(
      new ReadableStream({
        start: (controller) => controller.enqueue(new Uint8Array([0x7b])),
      }),
    );
  for (const script of [silence, stalled]) {
    const clock = new FakeClock();
    const seen = fittingFetch(script);
    const exchange = createExchange(seen, { clock });
    await exchange.contract();
    const sending = exchange.send({ ...REMEMBER, timeoutMs: 1_000 });
    await isReady("the request", () => seen.seen.length === 2);
    clock.advance(999);
    assertEquals(clock.pendingTimers, 1);
    clock.advance(1);
    const error = await assertRejects(() => sending, MemRequestTimeout);
    assertEquals(error.status, 504);
    assertEquals(error.phase, "POST /api/remember");
    assertEquals(error.timeoutMs, 1_000);
    assertEquals(seen.seen[1]!.init.signal?.aborted, true);
    assertEquals(clock.pendingTimers, 0);
  }
});

Deno.test("HttpExchange.send() names the round trip of the preflight that stalls", async () => {
  const clock = new FakeClock();
  const script = scriptedFetch(({ path }) =>
    path === "/version" ? new Response(null, { status: 404 }) : silence()
  );
  const exchange = createExchange(script, { clock, preflightTimeoutMs: 700 });
  const sending = exchange.send({ ...REMEMBER, timeoutMs: 10 });
  await isReady("the round trip", () => script.seen.length === 2);
  clock.advance(699);
  clock.advance(1);
  const error = await assertRejects(() => sending, MemPreflightTimeout);
  assertEquals(error.phase, "preflight GET /health");
  assertEquals(error.timeoutMs, 700);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("HttpExchange.send() rejects with the reason of the caller's signal, and leaves the preflight to the others", async () => {
  const gate = Promise.withResolvers<Response>();
  const script = scriptedFetch(({ path }) =>
    path === "/version" ? gate.promise : Response.json({})
  );
  const exchange = createExchange(script);
  const controller = new AbortController();
  const { signal } = controller;
  const given = exchange.send({ ...REMEMBER, signal });
  const other = exchange.send(REMEMBER);
  await isReady("the preflight", () => script.seen.length === 1);
  controller.abort(new Error("enough"));
  await assertRejects(() => given, Error, "enough");
  gate.resolve(Response.json({
    relayerVersion: "0.1.0",
    apiVersion: "1.0.0",
    minSupportedSdk: { typescript: "0.0.4" },
  }));
  assertEquals((await other).status, 200);
  await assertRejects(() => exchange.send({ ...REMEMBER, signal }), Error);
  assertEquals(script.seen.length, 2);
});

Deno.test("HttpExchange.destroy() ends what is under way and every later call", async () => {
  const clock = new FakeClock();
  const script = fittingFetch(silence);
  const exchange = createExchange(script, { clock });
  const sending = exchange.send(REMEMBER);
  await isReady("the request", () => script.seen.length === 2);
  exchange.destroy();
  exchange.destroy();
  await assertRejects(() => sending, MemDestroyedError);
  const calls = [
    () => exchange.send(REMEMBER),
    () => exchange.send(HEALTH),
    () => exchange.publicKeyHex(),
    () => exchange.compatibility(),
    () => exchange.contract(),
  ];
  for (const call of calls) await assertRejects(call, MemDestroyedError);
  assertEquals(script.seen.length, 2);
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("HttpExchange.destroy() ends the preflight and overwrites a key that was never used", async () => {
  const script = scriptedFetch(silence);
  const clock = new FakeClock();
  const { fetch } = script;
  const config = resolveConfig({
    key: "07".repeat(32),
    accountId: "0xabc",
    clock,
    fetch,
  });
  const exchange = new HttpExchange(config);
  const sending = exchange.send(REMEMBER);
  await isReady("the preflight", () => script.seen.length === 1);
  exchange.destroy();
  await assertRejects(() => sending, MemDestroyedError);
  assertEquals(config.seed, new Uint8Array(32));
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("HttpExchange.send() fixes what is sent when it is called", async () => {
  const script = fittingFetch(() => Response.json({}));
  const body = { text: "tea" };
  const sending = createExchange(script).send({ ...REMEMBER, body });
  body.text = "coffee";
  await sending;
  assertEquals(
    new TextDecoder().decode(script.seen[1]!.body),
    '{"text":"tea"}',
  );
});

Deno.test("HttpExchange.send() follows no redirect", async () => {
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (request) =>
      request.url.endsWith("/health")
        ? Response.redirect(
          new URL("/elsewhere?secret=1", "https://b.example"),
          307,
        )
        : Response.json({ status: "stolen" }),
  );
  try {
    const exchange = new HttpExchange(resolveConfig({
      key: "07".repeat(32),
      accountId: "0xabc",
      serverUrl: `http://127.0.0.1:${server.addr.port}`,
    }));
    const error = await assertRejects(() => exchange.send(HEALTH));
    assertInstanceOf(error, MemError);
    assertEquals(error.status, 307);
    assertEquals(
      error.message,
      "Cannot complete GET /health: the relayer answered 307 to " +
        '"https://b.example"; redirects are not followed, set serverUrl to ' +
        "where the relayer is",
    );
  } finally {
    await server.shutdown();
  }
});

Deno.test("HttpExchange.send() tells of a redirect that a browser hides", async () => {
  const script = scriptedFetch(() =>
    // A redirect as a browser's page sees it: without status, headers and body.
    Object.defineProperties(Response.error(), {
      type: { value: "opaqueredirect" },
    })
  );
  const error = await assertRejects(() => createExchange(script).send(HEALTH));
  assertInstanceOf(error, MemError);
  assertEquals(error.status, undefined);
  assertStringIncludes(error.message, "answered 3xx; redirects are not");
});

function toHex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function parseHex(digits: string): Uint8Array<ArrayBuffer> {
  const pairs = digits.match(/../g) ?? [];
  return Uint8Array.from(pairs, (pair) => Number.parseInt(pair, 16));
}

/** A relayer that ends before it answers the first `losses` API requests. */
function losingFetch(losses: number): ScriptedFetch {
  let left = losses;
  return fittingFetch(() => {
    if (left-- > 0) throw new LostRelayerError("it has ended");
    return Response.json({}, { status: 202 });
  });
}

/** The paths that were sent, without those of the preflight. */
function sentTo({ seen }: ScriptedFetch): readonly string[] {
  return seen.map(({ method, path }) => `${method} ${path}`)
    .filter((one) => one !== "GET /version");
}

Deno.test("HttpExchange.send() signs and sends again when the relayer was lost and the request may be sent twice", async () => {
  const keyed = { ...REMEMBER, body: { text: "tea", idempotency_key: "k" } };
  const requests: readonly RelayerRequest[] = [
    keyed,
    { ...REMEMBER, readsMemories: true },
    { ...REMEMBER, isRepeatable: true },
    { ...REMEMBER, method: "DELETE", path: "/api/memories/m" },
    { ...REMEMBER, method: "GET", path: "/api/remember/j" },
  ];
  for (const request of requests) {
    const script = losingFetch(2);
    const { status } = await createExchange(script).send(request);
    assertEquals(status, 202);
    assertEquals(sentTo(script).length, 3);
    const nonces = script.seen.map(({ headers }) => headers.get("x-nonce"))
      .filter((nonce) => nonce !== null);
    assertEquals(new Set(nonces).size, 3);
  }
});

Deno.test("HttpExchange.send() sends once when the relayer was lost and a second one could write twice", async () => {
  const script = losingFetch(1);
  await assertRejects(() => createExchange(script).send(REMEMBER), MemError);
  assertEquals(sentTo(script).length, 1);
});

Deno.test("HttpExchange.send() gives up when one relayer after another is lost", async () => {
  const script = losingFetch(100);
  const request = { ...REMEMBER, isRepeatable: true };
  await assertRejects(() => createExchange(script).send(request), MemError);
  assertEquals(sentTo(script).length, 4);
});
