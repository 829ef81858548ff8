import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertThrows,
} from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import type { EmbedOutcome } from "./embedder.ts";
import { HttpEmbedder } from "./http_embedder.ts";
import { modelServer } from "./testing/model_server.ts";

type HttpEmbedderOptions = ConstructorParameters<typeof HttpEmbedder>[0];

const KEY = "sk-very-secret";
const TEXT = "a text that nobody else may read";

Deno.test("HttpEmbedder.embed() asks as the protocol wants and normalises", async () => {
  await using server = modelServer(({ body }) =>
    vectorsFor(readInput(body).map(() => [3, 0, 4]))
  );
  const outcome = await embedderAt(server.baseUrl).embed(["one", "two"]);
  assert(outcome.kind === "ok");
  assertEquals(outcome.vectors.length, 2);
  for (const vector of outcome.vectors) {
    assertAlmostEquals(vector[0] ?? NaN, 0.6, 1e-6);
    assertAlmostEquals(vector[2] ?? NaN, 0.8, 1e-6);
  }
  const [request] = server.requests;
  assertEquals(request?.path, "/v1/embeddings");
  assertEquals(request?.headers.get("authorization"), `Bearer ${KEY}`);
  assertEquals(JSON.parse(request?.body ?? ""), {
    model: "m",
    input: ["one", "two"],
    encoding_format: "float",
  });
});

Deno.test("HttpEmbedder.embed() sends at most 100 texts at once, in order", async () => {
  await using server = modelServer(({ body }) =>
    vectorsFor(readInput(body).map((text) => [1, 0, Number(text)]))
  );
  const texts = Array.from({ length: 250 }, (_, number) => `${number}`);
  const outcome = await embedderAt(server.baseUrl).embed(texts);
  assert(outcome.kind === "ok");
  assertEquals(
    server.requests.map(({ body }) => readInput(body).length),
    [100, 100, 50],
  );
  const back = outcome.vectors.map(([first = 0, , third = 0]) =>
    `${Math.round(third / first)}`
  );
  assertEquals(back, texts);
});

Deno.test("HttpEmbedder.embed() puts vectors where their index says", async () => {
  await using server = modelServer(() =>
    Response.json({
      data: [
        { index: 1, embedding: [0, 1, 0] },
        { index: 0, embedding: [1, 0, 0] },
      ],
    })
  );
  const outcome = await embedderAt(server.baseUrl).embed(["a", "b"]);
  assert(outcome.kind === "ok");
  assertEquals(outcome.vectors.map((vector) => [...vector]), [
    [1, 0, 0],
    [0, 1, 0],
  ]);
});

Deno.test("HttpEmbedder.embed() sends no key when there is none, and nothing for no texts", async () => {
  await using server = modelServer(() => vectorsFor([[1, 0, 0]]));
  const embedder = embedderAt(server.baseUrl, { apiKey: "" });
  assertEquals(await embedder.embed([]), { kind: "ok", vectors: [] });
  assertEquals(server.requests.length, 0);
  assertEquals((await embedder.embed(["a"])).kind, "ok");
  assertEquals(server.requests[0]?.headers.has("authorization"), false);
});

const JSON_TYPE = "application/json; charset=utf-8";
for (
  const [status, type, isPassing] of [
    [429, JSON_TYPE, true],
    [500, JSON_TYPE, true],
    [503, "text/html", true],
    [400, JSON_TYPE, false],
    [401, JSON_TYPE, false],
    [404, JSON_TYPE, false],
    [422, "application/problem+json", false],
    [302, "text/html", true],
    [400, "text/plain", false],
    [404, "text/plain", true],
    [413, "text/html", false],
  ] as const
) {
  Deno.test(`HttpEmbedder.embed() tells of status ${status} with ${type}, and nothing secret`, async () => {
    await using server = modelServer(() =>
      new Response(`no: ${KEY} ${TEXT}`, {
        status,
        headers: {
          "content-type": type,
          "retry-after": "7",
          "location": "http://127.0.0.1:1/",
        },
      })
    );
    const outcome = await embedderAt(server.baseUrl).embed([TEXT]);
    assertEquals(outcome, {
      kind: "unavailable",
      reason: `Cannot embed texts: the endpoint answered with status ${status}`,
      isPassing,
      retryAfterMs: isPassing ? 7_000 : undefined,
    });
    assertEquals(server.requests.length, 1);
  });
}

const BROKEN: readonly (readonly [string, string])[] = [
  ["no JSON", "<html>"],
  ["a cut body", '{"data":[{"embedding":[1,2'],
  ["nothing", ""],
  ["no list", '{"data":{}}'],
  ["null", "null"],
  ["too few vectors", '{"data":[]}'],
  ["two of one index", two(0, 0)],
  ["an index beyond", two(0, 9)],
  ["text for a number", '{"data":[{"embedding":[1,"2",3]}]}'],
  ["null for a number", '{"data":[{"embedding":[1,null,3]}]}'],
  ["a number beyond all", '{"data":[{"embedding":[1,1e999,3]}]}'],
  ["base64", '{"data":[{"embedding":"AAAA"}]}'],
  ["no direction", '{"data":[{"embedding":[0,0,0]}]}'],
];

for (const [what, body] of BROKEN) {
  Deno.test(`HttpEmbedder.embed() does not take an answer with ${what}`, async () => {
    await using server = modelServer(() => new Response(body));
    const count = body.includes('"index":') ? 2 : 1;
    const texts = new Array<string>(count).fill(TEXT);
    const outcome = await embedderAt(server.baseUrl).embed(texts);
    assertUnavailable(outcome, { isPassing: true });
  });
}

Deno.test("HttpEmbedder.embed() does not take vectors of another width", async () => {
  await using server = modelServer(() => vectorsFor([[1, 2]]));
  const outcome = await embedderAt(server.baseUrl).embed(["a"]);
  // Its operator can set the right one.
  assertUnavailable(outcome, { isPassing: true, words: "2 numbers, and 3" });
  assert(outcome.kind === "unavailable" && outcome.isMisfit === true);
});

Deno.test("HttpEmbedder.embed() asks for its width once the model's own is another, and goes on so", async () => {
  await using server = modelServer(({ body }) => {
    const { dimensions = 4, input } = JSON.parse(body);
    return vectorsFor(
      input.map(() => Array.from({ length: dimensions }, () => 1)),
    );
  });
  const embedder = embedderAt(server.baseUrl);
  assertEquals((await embedder.embed(["a"])).kind, "ok");
  assertEquals((await embedder.embed(["b"])).kind, "ok");
  assertEquals(
    server.requests.map(({ body }) => JSON.parse(body).dimensions),
    [undefined, 3, 3],
  );
});

Deno.test("HttpEmbedder.embed() asks for no width while another call tries it", async () => {
  const [tried, refused] = [0, 0].map(() => Promise.withResolvers<void>());
  await using server = modelServer(async ({ body }) => {
    const { dimensions, input } = JSON.parse(body);
    if (dimensions === undefined) return vectorsFor(input.map(() => [1, 2]));
    tried?.resolve();
    await refused?.promise;
    return new Response("no such parameter", { status: 400 });
  });
  const embedder = embedderAt(server.baseUrl);
  const first = embedder.embed(["a"]);
  await tried?.promise;
  const second = embedder.embed(["b"]);
  while (server.requests.length < 3) await new Promise((go) => setTimeout(go));
  refused?.resolve();
  for (const outcome of [await first, await second]) {
    assertUnavailable(outcome, { isPassing: true, words: "2 numbers, and 3" });
  }
});

Deno.test("HttpEmbedder.embed() reads no more than it is allowed", async () => {
  await using server = modelServer(() => {
    const chunk = new TextEncoder().encode(" ".repeat(1_000));
    let left = 1_000;
    return new Response(
      new ReadableStream({
        pull(controller) {
          if (left-- > 0) controller.enqueue(chunk);
          else controller.close();
        },
      }),
    );
  });
  const embedder = embedderAt(server.baseUrl, { maxAnswerBytes: 10_000 });
  assertUnavailable(await embedder.embed(["a"]), {
    isPassing: false,
    words: "too large",
  });
});

Deno.test("HttpEmbedder.embed() gives up in time, before and within the body", async () => {
  for (const hasHead of [false, true]) {
    const clock = new FakeClock();
    const held = Promise.withResolvers<void>();
    let asked = false;
    await using server = modelServer(async () => {
      asked = true;
      if (!hasHead) await held.promise;
      return new Response(
        new ReadableStream({
          async pull(controller) {
            await held.promise;
            controller.close();
          },
        }),
      );
    });
    const embedder = embedderAt(server.baseUrl, { clock, timeoutMs: 500 });
    const outcome = embedder.embed(["a"]);
    await waitUntil(() => asked, { what: "the request" });
    clock.advance(500);
    assertUnavailable(await outcome, { isPassing: true, words: "too long" });
    assertEquals(clock.pendingTimers, 0);
    held.resolve();
  }
});

Deno.test("HttpEmbedder.embed() ends when told, before and while it waits", async () => {
  const held = Promise.withResolvers<void>();
  let asked = false;
  await using server = modelServer(async () => {
    asked = true;
    await held.promise;
    return vectorsFor([[1, 0, 0]]);
  });
  const embedder = embedderAt(server.baseUrl);
  const ended = new AbortController();
  const outcome = embedder.embed(["a"], { signal: ended.signal });
  await waitUntil(() => asked, { what: "the request" });
  ended.abort();
  assertUnavailable(await outcome, { isPassing: true, words: "ended" });
  const again = await embedder.embed(["a"], { signal: ended.signal });
  assertUnavailable(again, { isPassing: true, words: "ended" });
  assertEquals(server.requests.length, 1);
  held.resolve();
});

Deno.test("HttpEmbedder.embed() tells of a host that cannot be reached", async () => {
  const gone = modelServer(() => new Response());
  await gone[Symbol.asyncDispose]();
  const outcome = await embedderAt(gone.baseUrl).embed([TEXT]);
  assertUnavailable(outcome, { isPassing: true, words: "connection refused" });
});

Deno.test("HttpEmbedder refuses addresses and keys that it cannot use", () => {
  const make = (options: Partial<HttpEmbedderOptions>) => () =>
    embedderAt("http://127.0.0.1/v1", options);
  for (const baseUrl of ["", "x", "file:///v1", "ftp://a/", "http://a/?k=v"]) {
    assertThrows(make({ baseUrl }), TypeError, "Cannot use endpoint");
  }
  const named = assertThrows(
    make({ baseUrl: `http://me:${KEY}@a/v1` }),
    TypeError,
  );
  assert(!named.message.includes(KEY));
  for (const apiKey of ["two words", "lines\r\nx: y", "ключ"]) {
    const error = assertThrows(make({ apiKey }), TypeError);
    assert(!error.message.includes(apiKey));
  }
});

function embedderAt(
  baseUrl: string,
  options: Partial<HttpEmbedderOptions> = {},
): HttpEmbedder {
  return new HttpEmbedder({
    baseUrl,
    apiKey: KEY,
    model: "m",
    width: 3,
    timeoutMs: 30_000,
    ...options,
  });
}

function readInput(body: string): readonly string[] {
  return JSON.parse(body).input;
}

function vectorsFor(rows: readonly (readonly number[])[]): Response {
  return Response.json({
    data: rows.map((embedding, index) => ({ index, embedding })),
  });
}

function two(first: number, second: number): string {
  const item = (index: number) => ({ index, embedding: [1, 2, 3] });
  return JSON.stringify({ data: [item(first), item(second)] });
}

function assertUnavailable(
  outcome: EmbedOutcome,
  expected: { readonly isPassing: boolean; readonly words?: string },
): void {
  assert(outcome.kind === "unavailable");
  assertEquals(outcome.isPassing, expected.isPassing);
  assert(outcome.reason.startsWith("Cannot embed texts: "), outcome.reason);
  assert(outcome.reason.includes(expected.words ?? ""), outcome.reason);
  assert(!outcome.reason.includes(KEY) && !outcome.reason.includes(TEXT));
}
