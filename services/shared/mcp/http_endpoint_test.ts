import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { HttpRequest, HttpResponse } from "../http/exchange.ts";
import type { McpEndpointOptions } from "./http_door.ts";
import { McpEndpoint } from "./http_endpoint.ts";
import { eachRound } from "../../../tests/support/rounds.ts";
import type { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { openEchoServer } from "./testing/echo_server.ts";

const MODERN = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

// deno-lint-ignore no-explicit-any
type Message = any;

interface Ask {
  readonly method?: string;
  readonly path?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Who calls. @default {"ann"} */
  readonly as?: string;
}

function open(options: Partial<McpEndpointOptions<string>> = {}) {
  const echo = openEchoServer();
  let ids = 0;
  const endpoint = new McpEndpoint<string>({
    server: echo.server,
    clock: echo.clock,
    newId: () => `session${++ids}`,
    paths: {
      endpoint: "/mcp",
      older: { stream: "/mcp/sse", messages: "/mcp/messages" },
    },
    door: {
      isOriginAllowed: (origin) => origin === "https://app.example",
      clientGroup: ({ peer }) => peer.address,
      enter({ headers }) {
        const name = headers.get("x-caller");
        if (name === "nobody") {
          const response = { status: 401, headers: {} };
          return Promise.resolve({ kind: "refused", response });
        }
        const isKnown = name !== "stranger";
        return Promise.resolve({
          kind: "ok",
          owner: new TextEncoder().encode(name),
          context: () => name ?? "",
          verify: () =>
            Promise.resolve(isKnown ? undefined : { status: 401, headers: {} }),
        });
      },
    },
    ...options,
  });
  const send = async (ask: Ask = {}): Promise<HttpResponse> =>
    await endpoint.answer(toRequest(ask)) ?? { status: 0, headers: {} };
  const post = (body: unknown, ask: Ask = {}) => send({ body, ...ask });
  /** Opens a session and returns the header fields of its requests. */
  const openSession = async (
    protocolVersion = "2025-06-18",
    as = "ann",
  ): Promise<Readonly<Record<string, string>>> => {
    const params = { protocolVersion, capabilities: {}, clientInfo: {} };
    const body = { jsonrpc: "2.0", id: 0, method: "initialize", params };
    const { headers } = await post(body, { as });
    return { "mcp-session-id": String(headers["mcp-session-id"]) };
  };
  return { ...echo, endpoint, send, post, openSession };
}

function toRequest(
  { method = "POST", path = "/mcp", body, headers = {}, signal, as = "ann" }:
    Ask,
): HttpRequest {
  const fields = new Map<string, string>(Object.entries({
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "x-caller": as,
    ...headers,
  }));
  const text = typeof body === "string" ? body : JSON.stringify(body ?? "");
  const bytes = new TextEncoder().encode(text);
  const get = (name: string) => fields.get(name);
  return {
    method,
    target: path,
    headers: { get, all: (name) => [get(name) ?? ""].filter(Boolean) },
    peer: { address: "192.0.2.1", port: 1 },
    isTls: false,
    isGone: () => signal?.aborted ?? false,
    onGone(listener) {
      signal?.addEventListener("abort", listener);
      return () => signal?.removeEventListener("abort", listener);
    },
    body: (maxBytes) =>
      Promise.resolve(
        bytes.length > maxBytes ? { kind: "too_large" } : { kind: "ok", bytes },
      ),
  };
}

function call(id: number, name: string, args: object = {}, meta?: object) {
  const params = { name, arguments: args, ...(meta && { _meta: meta }) };
  return { jsonrpc: "2.0", id, method: "tools/call", params };
}

function read({ body }: HttpResponse): Message {
  return JSON.parse(String(body));
}

async function nextText({ stream }: HttpResponse): Promise<string> {
  return new TextDecoder().decode(await stream?.next());
}

async function allText(response: HttpResponse): Promise<string> {
  let all = "";
  for (let text = "-"; text !== ""; all += text) {
    text = await nextText(response);
  }
  return all;
}

function modernFields(method: string, name?: string) {
  return {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
    ...(name === undefined ? {} : { "mcp-name": name }),
  };
}

Deno.test("endpoint answers with JSON when an answer comes soon and alone", async () => {
  const { post, openSession } = open();
  const headers = await openSession();
  const response = await post(call(1, "echo", { text: "hi" }), { headers });
  assertEquals(response.status, 200);
  assertEquals(response.headers["content-type"], "application/json");
  assertEquals(read(response).result.content[0].text, "ann: hi");
  const noted = await post({
    jsonrpc: "2.0",
    method: "notifications/initialized",
  }, { headers });
  assertEquals([noted.status, noted.body], [202, undefined]);
  const list = await post([
    call(2, "echo", { text: "a" }),
    call(3, "echo", { text: "b" }),
  ], { headers });
  assertEquals(read(list).map(({ id }: Message) => id), [2, 3]);
});

Deno.test("endpoint answers with events when progress comes first, or an answer takes long", async () => {
  const { post, openSession, clock, begun, release } = open();
  const headers = await openSession("2025-11-25");
  const stepped = await post(
    call(1, "step", {}, { progressToken: "p" }),
    { headers },
  );
  assertEquals(stepped.headers["content-type"], "text/event-stream");
  const text = await allText(stepped);
  assert(text.startsWith("retry: 1000\nid: 1-1\ndata: \n\n"), text);
  assert(
    text.indexOf("notifications/progress") < text.indexOf('"result"'),
    "the answer comes last",
  );
  const started = begun();
  const waiting = post(call(2, "wait"), { headers });
  await started;
  clock.advance(2_000);
  const response = await waiting;
  assertEquals(response.headers["content-type"], "text/event-stream");
  await nextText(response);
  const next = nextText(response);
  release();
  assertStringIncludes(await next, "waited");
  assertEquals(await response.stream?.next(), undefined);
});

Deno.test("endpoint keeps the answer for a client that lost its stream", async () => {
  const { post, send, openSession, clock, begun, release } = open();
  const headers = await openSession("2025-11-25");
  const started = begun();
  const waiting = post(call(1, "wait"), { headers });
  await started;
  clock.advance(2_000);
  const lost = await waiting;
  assertStringIncludes(await nextText(lost), "id: 1-1");
  lost.stream?.cancel();
  const fields = { ...headers, "last-event-id": "1-1" };
  const resumed = await send({ method: "GET", headers: fields });
  const next = nextText(resumed);
  release();
  assertStringIncludes(await next, "waited");
  const again = await send({ method: "GET", headers: fields });
  assertStringIncludes(await nextText(again), "waited");

  const other = await openSession("2025-11-25", "ben");
  const stolen = await send({
    method: "GET",
    headers: { ...other, "last-event-id": "1-1" },
    as: "ben",
  });
  assertEquals(stolen.status, 400);
});

Deno.test("endpoint refuses a session's id when another credential sends it", async () => {
  const { post, send, openSession } = open();
  const headers = await openSession();
  const body = call(1, "echo", { text: "a" });
  for (const method of ["POST", "GET", "DELETE"]) {
    const stolen = await send({ method, body, headers, as: "ben" });
    assertEquals(stolen.status, 403, method);
  }
  assertEquals((await post(body, { headers })).status, 200);

  const older = await send({ method: "GET", path: "/mcp/sse" });
  const path = /data: (\S+)/.exec(await nextText(older))?.[1] ?? "";
  assertEquals((await post(body, { path, as: "ben" })).status, 403);
  assertEquals((await post(body, { path })).status, 202);
  older.stream?.cancel();
  assertEquals((await post(body, { path })).status, 404, "it has ended");
});

Deno.test("endpoint refuses what has no session, no credential or a wrong form", async () => {
  const { post, send, openSession } = open({ maxBodyBytes: 300 });
  const body = call(1, "echo", { text: "a" });
  assertEquals((await post(body)).status, 400);
  const gone = { "mcp-session-id": "gone" };
  assertEquals((await post(body, { headers: gone })).status, 404);
  assertEquals((await post(body, { as: "nobody" })).status, 401);
  const headers = await openSession();
  const cases: readonly (readonly [number, unknown, object])[] = [
    [400, "{", {}],
    [400, "[]", {}],
    [400, { a: 1 }, {}],
    [413, "x".repeat(301), {}],
    [415, body, { "content-type": "text/plain" }],
    [406, body, { accept: "text/html" }],
    [403, body, { origin: "https://evil.example" }],
    [200, body, { origin: "https://app.example" }],
    [400, body, { "mcp-protocol-version": "1900-01-01" }],
    [200, body, { "mcp-protocol-version": "2025-03-26" }],
    [200, body, { accept: "*/*" }],
  ];
  for (const [status, sent, fields] of cases) {
    const response = await post(sent, { headers: { ...headers, ...fields } });
    assertEquals(response.status, status, JSON.stringify([sent, fields]));
  }
  const put = await send({ method: "PUT" });
  assertEquals([put.status, put.headers["allow"]], [405, "POST, GET, DELETE"]);
  assertEquals((await send({ path: "/mcp/other" })).status, 0);
});

Deno.test("endpoint opens no session when the credential is refused", async () => {
  const { post, endpoint } = open();
  const body = { jsonrpc: "2.0", id: 0, method: "initialize", params: {} };
  assertEquals((await post(body, { as: "stranger" })).status, 401);
  assertEquals(endpoint.sessions, 0);
  const alone = await post(call(1, "echo", { text: "hi" }, MODERN), {
    headers: modernFields("tools/call", "echo"),
    as: "stranger",
  });
  assertEquals(alone.status, 401);
});

Deno.test("endpoint answers 429 with retry-after when an address has too many sessions", async () => {
  const { post, openSession } = open({ maxPerGroup: 2 });
  await openSession();
  await openSession();
  const body = { jsonrpc: "2.0", id: 0, method: "initialize", params: {} };
  const response = await post(body);
  assertEquals([response.status, response.headers["retry-after"]], [429, "60"]);
  assertEquals(read(response).error.code, -32_000);
});

Deno.test("endpoint ends a session when its client deletes it", async () => {
  const { post, send, openSession, endpoint } = open();
  const headers = await openSession();
  const stream = await send({ method: "GET", headers });
  assertEquals((await send({ method: "DELETE", headers })).status, 204);
  assertEquals(await stream.stream?.next(), undefined);
  assertEquals(endpoint.sessions, 0);
  const late = await post(call(1, "echo", { text: "a" }), { headers });
  assertEquals(late.status, 404);
});

Deno.test("endpoint answers requests of 2026-07-28 without a session", async () => {
  const { post, endpoint } = open();
  const response = await post(call(1, "echo", { text: "hi" }, MODERN), {
    headers: modernFields("tools/call", "echo"),
  });
  assertEquals(response.status, 200);
  assertEquals(response.headers["mcp-session-id"], undefined);
  assertEquals(read(response).result.resultType, "complete");
  assertEquals(endpoint.sessions, 0);
  const encoded = await post(call(1, "echo", { text: "hi" }, MODERN), {
    headers: modernFields("tools/call", `=?base64?${btoa("echo")}?=`),
  });
  assertEquals(encoded.status, 200);
  const unknown = await post(
    { jsonrpc: "2.0", id: 1, method: "a/b", params: { _meta: MODERN } },
    { headers: modernFields("a/b") },
  );
  assertEquals([unknown.status, read(unknown).error.code], [404, -32_601]);
});

Deno.test("endpoint refuses requests of 2026-07-28 when fields and message differ", async () => {
  const { post } = open();
  const body = call(1, "echo", { text: "hi" }, MODERN);
  const fields = modernFields("tools/call", "echo");
  const { "io.modelcontextprotocol/clientCapabilities": _, ...lacking } =
    MODERN;
  const future = {
    ...MODERN,
    "io.modelcontextprotocol/protocolVersion": "2099-01-01",
  };
  const cases: readonly (readonly [number, object, object])[] = [
    [-32_020, body, { ...fields, "mcp-method": "tools/list" }],
    [-32_020, body, { ...fields, "mcp-name": "wait" }],
    [-32_020, body, { ...fields, "mcp-name": "=?base64?%?=" }],
    [-32_020, body, { ...fields, "mcp-protocol-version": "2025-06-18" }],
    [-32_020, body, {}],
    [-32_602, call(1, "echo", {}, lacking), fields],
    [-32_602, call(1, "echo"), fields],
    [-32_022, call(1, "echo", {}, future), {
      ...fields,
      "mcp-protocol-version": "2099-01-01",
    }],
  ];
  for (const [code, sent, headers] of cases) {
    const response = await post(sent, { headers: { ...headers } });
    assertEquals([response.status, read(response).error.code], [400, code]);
  }
});

Deno.test("endpoint cancels a request of 2026-07-28 when its client goes away", async () => {
  const { post, begun, isAborted, clock } = open();
  const headers = modernFields("tools/call", "wait");
  const gone = new AbortController();
  const started = begun();
  const waiting = post(call(1, "wait", {}, MODERN), {
    ...{ headers, signal: gone.signal },
  });
  await started;
  gone.abort();
  await waiting;
  assertEquals(isAborted(), true);

  const startedAgain = begun();
  const streaming = post(call(1, "wait", {}, MODERN), { headers });
  await startedAgain;
  clock.advance(2_000);
  const response = await streaming;
  assertEquals(isAborted(), false);
  response.stream?.cancel();
  assertEquals(isAborted(), true);
});

Deno.test("endpoint answers what is under way and refuses the rest when it drains", async () => {
  const { post, send, openSession, endpoint, begun, release } = open();
  const headers = await openSession();
  const idle = await send({ method: "GET", headers: await openSession() });
  const started = begun();
  const waiting = post(call(1, "wait"), { headers });
  await started;
  endpoint.drain();
  await Promise.resolve();
  assertEquals(await idle.stream?.next(), undefined);
  const late = await post(call(2, "echo"), { headers });
  assertEquals([late.status, late.headers["retry-after"]], [503, "1"]);
  release();
  assertEquals(read(await waiting).result.content[0].text, "waited");
  await Promise.resolve();
  assertEquals(endpoint.sessions, 0);
});

const LEAVES: readonly unknown[] = [
  ...[null, true, -1, 1e308, "", "tools/call", "__proto__", "\ud800"],
  ...["x".repeat(5_000), [], {}],
];
const NAMES = ["jsonrpc", "id", "method", "params", "name", "arguments"];

function randomValue(random: SeededRandom, depth: number): unknown {
  if (depth === 0 || random.chance(0.4)) return random.pick(LEAVES);
  if (random.chance(0.3)) {
    return random.list(3, () => randomValue(random, depth - 1));
  }
  const members = random.list(
    5,
    () => [random.pick(NAMES), randomValue(random, depth - 1)] as const,
  );
  return Object.fromEntries(members);
}

Deno.test("endpoint answers with 200, 202 or 400 when messages are random", async () => {
  const { post, openSession, errors, clock } = open();
  const headers = await openSession();
  await eachRound({ rounds: 500 }, async ({ random }) => {
    const value = () => randomValue(random, 3);
    const body = random.pick<unknown>([
      value(),
      {
        jsonrpc: "2.0",
        id: random.pick<unknown>([1, "a", value()]),
        method: random.pick<unknown>(["tools/call", "ping", value()]),
        params: random.pick<unknown>([
          value(),
          { name: "echo", arguments: value(), _meta: value() },
        ]),
      },
      (JSON.stringify(value()) ?? "").slice(0, 40),
    ]);
    const { status } = await post(body, { headers });
    assert([200, 202, 400].includes(status), `${status} ${String(body)}`);
  });
  assertEquals([errors, clock.pendingTimers], [[], 0]);
});
