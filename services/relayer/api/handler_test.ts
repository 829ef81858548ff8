import { assert, assertEquals, assertMatch } from "@std/assert";
import { StoreFailedError } from "../../shared/store_failed.ts";
import { BlobStoreError } from "../blobs/blob_store.ts";
import { StoreBusyError } from "../store/store.ts";
import { allRoutes } from "./handler.ts";
import { openTestRelayer } from "./testing/test_relayer.ts";
import { FairTurns } from "../../shared/fair_turns.ts";
import { ANN, createRecall } from "./testing/test_parts.ts";

Deno.test("handler answers 404 for a path that no route has", async () => {
  const { call } = openTestRelayer();
  for (const target of ["/nothing", "/health/", "/api/remember/a/b", "/api"]) {
    const { status, json } = await call("GET", target);
    assertEquals(status, 404, target);
    assertEquals(json, { error: "Cannot find path: it does not exist" });
  }
});

Deno.test("handler answers 405 and names the methods that a path has", async () => {
  const { call } = openTestRelayer();
  const post = await call("POST", "/health");
  assertEquals(post.status, 405);
  assertEquals(post.headers["allow"], "GET, HEAD, OPTIONS");
  assertEquals(post.json, {
    error: "Cannot use this method here: only GET, HEAD, OPTIONS can be used",
  });
  const get = await call("GET", "/api/remember");
  assertEquals(get.headers["allow"], "OPTIONS, POST");
  const del = await call("DELETE", "/api/remember/abc");
  assertEquals(del.headers["allow"], "GET, HEAD, OPTIONS");
});

Deno.test("handler answers HEAD as GET, with signature and without", async () => {
  const { call } = openTestRelayer();
  assertEquals((await call("HEAD", "/version")).status, 200);
  assertEquals((await call("HEAD", "/api/whoami")).status, 200);
  const refused = await call("HEAD", "/api/whoami", { as: "nobody" });
  assertEquals(refused.status, 401);
});

Deno.test("handler refuses without a body, says why in a header, asks no part", async () => {
  const relayer = openTestRelayer();
  const cases = [
    ["ERR_SIGNATURE", 401],
    ["ERR_REPLAY", 401],
    ["ERR_TIMESTAMP_OUT_OF_BOUNDS", 401],
    ["ERR_KEY_NOT_DELEGATE", 401],
    ["ERR_CLIENT_TOO_OLD", 426],
    ["AUTH_UPSTREAM_UNAVAILABLE", 503],
  ] as const;
  for (const [code, status] of cases) {
    const answer = await relayer.call("POST", "/api/remember", {
      body: { text: "tea" },
      headers: { "x-test-refusal": code },
    });
    assertEquals(answer.status, status, code);
    assertEquals(answer.text, "", code);
    assertEquals(answer.headers["x-auth-error"], code);
  }
  assertEquals(relayer.intake.accepted, []);
  assertEquals(relayer.spent, []);
});

Deno.test("handler takes sessions of who was let in, for the owner, and refuses nothing for one that cannot be taken", async () => {
  const taken: unknown[] = [];
  const { call, logger } = openTestRelayer({
    sessions: {
      take(owner, header, { address }) {
        taken.push({ owner, header, address: address.length });
        const reason = "Cannot take session: it is not a session";
        return Promise.resolve({ kind: "invalid", reason });
      },
    },
  });
  const headers = { "x-seal-session": "c2Vzc2lvbg==" };
  await call("GET", "/api/whoami", { as: "nobody", headers });
  assertEquals(taken, []);
  assertEquals((await call("GET", "/api/whoami")).status, 200);
  assertEquals(taken, []);
  const answer = await call("GET", "/api/whoami", { headers });
  assertEquals(answer.status, 200);
  const { owner } = answer.json as { owner: string };
  assertEquals(taken, [{ owner, header: "c2Vzc2lvbg==", address: 66 }]);
  assertEquals(logger.lines.at(-1)?.level, "debug");
});

Deno.test("handler holds refusals back", async () => {
  let waits = 0;
  const { call } = openTestRelayer({
    refusalDelay: { wait: () => Promise.resolve(void waits++) },
  });
  await call("GET", "/api/whoami", { as: "nobody" });
  await call("GET", "/api/whoami");
  assertEquals(waits, 1);
});

Deno.test("handler answers 413 for a body above the bound, 408 and 503 where none came", async () => {
  const { call, intake } = openTestRelayer();
  const large = await call("POST", "/api/remember", {
    body: new Uint8Array(2_097_153),
  });
  assertEquals(large.status, 413);
  assertEquals(large.json, {
    error: "Cannot read body: it has more than 2097152 bytes",
  });
  const late = await call("POST", "/api/remember", {
    bodyOutcome: { kind: "aborted", reason: "timed_out" },
  });
  assertEquals(late.status, 408);
  const busy = await call("POST", "/api/remember", {
    bodyOutcome: { kind: "busy" },
  });
  assertEquals([busy.status, busy.headers["retry-after"]], [503, "1"]);
  const small = await call("POST", "/api/stats", {
    body: new Uint8Array(65_537),
  });
  assertEquals(small.status, 413);
  const get = await call("GET", "/api/whoami", { body: "x" });
  assertEquals(get.status, 413);
  assertEquals(intake.accepted, []);
});

Deno.test("handler spends the points of routes and answers 429 when there are none", async () => {
  const relayer = openTestRelayer();
  await relayer.call("POST", "/api/remember", { body: { text: "tea" } });
  await relayer.call("POST", "/api/recall", { body: { query: "tea" } });
  assertEquals(relayer.spent.map(({ points }) => points), [5, 1]);
  assertEquals(relayer.spent[0]?.caller, ANN);
  relayer.models.rate = {
    kind: "limited",
    layer: "account_burst",
    limit: 60,
    retryAfterSeconds: 17,
  };
  const { status, headers, json } = await relayer.call(
    "POST",
    "/api/remember",
    {
      body: { text: "tea" },
    },
  );
  assertEquals(status, 429);
  assertEquals(headers["retry-after"], "17");
  assertEquals(json, {
    error: "Cannot answer: the limit of 60 points is used up; try again in " +
      "17 seconds",
    layer: "account_burst",
    limit: 60,
    retry_after_seconds: 17,
  });
  assertEquals(relayer.intake.accepted.length, 1);
});

Deno.test("handler counts nobody when limits are switched off", async () => {
  const { call, spent } = openTestRelayer({ isRateLimitDisabled: true });
  assertEquals((await call("GET", "/api/whoami")).status, 200);
  assertEquals(spent, []);
});

Deno.test("handler answers 500 with nothing but a number to find the fault by", async () => {
  const { call, store, logger } = openTestRelayer();
  store.nextError = new Error("disk /var/secret is full");
  const { status, headers, json, text } = await call("POST", "/api/forget", {
    body: {},
  });
  assertEquals(status, 500);
  const trace = headers["x-trace-id"];
  assert(typeof trace === "string");
  assertMatch(trace, /^[0-9a-f]{32}$/);
  assertEquals(json, {
    error: "Cannot answer: the relayer failed",
    trace_id: trace,
  });
  assertEquals(text.includes("secret"), false);
  const [line] = logger.lines;
  assertEquals(line?.level, "error");
  assertEquals(line?.fields["trace"], trace);
  assertEquals(line?.fields["route"], "POST /api/forget");
});

Deno.test("handler answers 503 when the store has too much to write", async () => {
  const { call, store } = openTestRelayer();
  store.nextError = new StoreBusyError(2_500);
  const { status, headers } = await call("POST", "/api/forget", { body: {} });
  assertEquals([status, headers["retry-after"]], [503, "3"]);
});

Deno.test("handler answers 503 with Retry-After when the disk is full, with one line in the log and no stack", async () => {
  const { call, store, logger } = openTestRelayer();
  const forget = async () => {
    const body = { namespace: "default" };
    const { status, headers } = await call("POST", "/api/forget", { body });
    assertEquals([status, headers["retry-after"]], [503, "5"]);
  };
  for (let count = 0; count < 3; count++) {
    store.nextError = new StoreFailedError("database or disk is full");
    await forget();
  }
  const [line, ...more] = logger.lines;
  assertEquals([line?.level, more], ["error", []]);
  assertEquals(line?.fields, { error: "database or disk is full" });
});

Deno.test("handler answers 503 when the blob store does not answer, else 500", async () => {
  const { call, blobs } = openTestRelayer();
  const body = { encrypted_data: "AAAA", vector: [1, 0, 0, 0] };
  blobs.nextError = new BlobStoreError("no answer", {
    isPassing: true,
    retryAfterMs: 9_000,
  });
  const passing = await call("POST", "/api/remember/manual", { body });
  assertEquals([passing.status, passing.headers["retry-after"]], [503, "9"]);
  assert(typeof passing.headers["x-trace-id"] === "string");
  blobs.nextError = new BlobStoreError("too large", { isPassing: false });
  const lasting = await call("POST", "/api/remember/manual", { body });
  assertEquals(lasting.status, 500);
});

Deno.test("handler lets every page call, unless told which", async () => {
  const open = openTestRelayer();
  const origin = { origin: "https://app.example" };
  const any = await open.call("GET", "/version", { headers: origin });
  assertEquals(any.headers["access-control-allow-origin"], "*");
  const plain = await open.call("GET", "/version");
  assertEquals(plain.headers["access-control-allow-origin"], undefined);
  const closed = openTestRelayer({ corsOrigins: ["https://app.example"] });
  const known = await closed.call("GET", "/version", { headers: origin });
  assertEquals(
    known.headers["access-control-allow-origin"],
    "https://app.example",
  );
  assertEquals(known.headers["vary"], "Origin");
  const other = await closed.call("GET", "/version", {
    headers: { origin: "https://evil.example" },
  });
  assertEquals(other.headers["access-control-allow-origin"], undefined);
  assertEquals(other.headers["vary"], "Origin");
});

Deno.test("handler lets pages read refusals", async () => {
  const { call } = openTestRelayer();
  const { status, headers } = await call("GET", "/api/whoami", {
    as: "nobody",
    headers: { origin: "https://app.example" },
  });
  assertEquals(status, 401);
  assertEquals(headers["access-control-allow-origin"], "*");
  assertEquals(
    headers["access-control-expose-headers"],
    "retry-after, www-authenticate, x-auth-error, x-trace-id",
  );
});

Deno.test("handler answers preflights with the header fields of signed requests", async () => {
  const { call } = openTestRelayer();
  const { status, headers, text } = await call("OPTIONS", "/api/recall", {
    as: "nobody",
    headers: {
      origin: "https://app.example",
      "access-control-request-method": "POST",
      "access-control-request-headers": "x-signature",
    },
  });
  assertEquals([status, text], [204, ""]);
  assertEquals(headers["access-control-allow-origin"], "*");
  assertEquals(
    headers["access-control-allow-methods"],
    "GET, HEAD, POST, DELETE",
  );
  const allowed = String(headers["access-control-allow-headers"]).split(", ");
  const sent = [
    "content-type",
    "x-public-key",
    "x-signature",
    "x-timestamp",
    "x-nonce",
    "x-account-id",
    "x-seal-session",
  ];
  for (const name of sent) assert(allowed.includes(name), name);
});

Deno.test("handler answers OPTIONS of a path, and 404 of none", async () => {
  const { call } = openTestRelayer();
  const known = await call("OPTIONS", "/api/recall");
  assertEquals([known.status, known.headers["allow"]], [204, "OPTIONS, POST"]);
  assertEquals((await call("OPTIONS", "/nothing")).status, 404);
});

Deno.test("handler keeps answers out of caches", async () => {
  const { call } = openTestRelayer();
  const targets = ["/version", "/api/whoami", "/nothing"];
  for (const target of targets) {
    const { headers } = await call("GET", target);
    assertEquals(headers["cache-control"], "no-store", target);
    assertEquals(headers["content-type"], "application/json", target);
  }
});

Deno.test("handler gives owners turns by what they used, and strangers one among them", async () => {
  let nowMs = 0;
  const later: (() => void)[] = [];
  const turns = new FairTurns({
    monotonicMs: () => nowMs,
    later: (callback) => void later.push(callback),
    afterLook: (callback) => void later.push(callback),
  });
  const answered: string[] = [];
  const { call } = openTestRelayer({
    turns,
    recall: {
      async recall({ owner, pausing }) {
        // Each recall is three steps of 2 ms.
        for (let step = 0; step < 3; step++) {
          nowMs += 2;
          await pausing?.pause();
        }
        answered.push(owner === ANN.owner ? "a" : "b");
        return createRecall([]);
      },
      find: () => Promise.resolve(createRecall([])),
    },
  });
  const body = { query: "tea" };
  const calls = [..."aaaaaaaab"].map((letter) =>
    call("POST", "/api/recall", { body, as: letter === "a" ? "ann" : "ben" })
  );
  const end = Promise.all(calls);
  let isOver = false;
  void end.then(() => isOver = true);
  for (let round = 0; !isOver; round++) {
    assert(round < 10_000, "the requests never end");
    for (const callback of later.splice(0)) {
      callback();
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  // The only request of "b" is answered before half of the eight others are.
  assert(answered.indexOf("b") < 4, answered.join(""));
});

Deno.test("handler answers 503 when too much of one client waits", async () => {
  const { call } = openTestRelayer({
    turns: { begin: () => ({ kind: "refused", retryAfterMs: 2_500 }) },
  });
  const { status, headers } = await call("GET", "/api/whoami");
  assertEquals([status, headers["retry-after"]], [503, "3"]);
});

Deno.test("allRoutes() makes calls dear that make others work, and looks after jobs cheap", () => {
  const costs = allRoutes(openTestRelayer().parts).map(
    ({ method, path, points = 1 }) => [`${method} ${path}`, points] as const,
  );
  assertEquals(
    new Map(costs.filter(([, points]) => points !== 1)),
    new Map([
      ["POST /api/analyze", 5],
      ["POST /api/memories/:id/vector", 3],
      ["POST /api/remember", 5],
      ["POST /api/remember/bulk", 10],
      ["POST /api/remember/manual", 3],
      ["POST /api/restore", 3],
      ["POST /api/ask", 2],
      ["GET /v1/owners/:owner/agents", 2],
      // Its text was paid for when it was accepted.
      ["GET /api/remember/:id", 0.1],
      ["POST /api/remember/bulk/status", 0.1],
    ]),
  );
});
