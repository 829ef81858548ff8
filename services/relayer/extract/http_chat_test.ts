import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import { modelServer } from "../embed/testing/model_server.ts";
import { HttpChat } from "./http_chat.ts";

type HttpChatOptions = ConstructorParameters<typeof HttpChat>[0];

const KEY = "sk-very-secret";
const REQUEST = {
  instructions: "do",
  content: "with a text",
  temperature: 0.7,
};

Deno.test("HttpChat.ask() asks as the protocol wants", async () => {
  await using server = modelServer(() => completion("hello", "stop"));
  const answer = await chatAt(server.baseUrl).ask(REQUEST);
  assertEquals(answer, { kind: "ok", text: "hello", isCut: false });
  const [request] = server.requests;
  assertEquals(request?.path, "/v1/chat/completions");
  assertEquals(request?.headers.get("authorization"), `Bearer ${KEY}`);
  assertEquals(JSON.parse(request?.body ?? ""), {
    model: "m",
    messages: [
      { role: "system", content: "do" },
      { role: "user", content: "with a text" },
    ],
    temperature: 0.7,
    max_tokens: 512,
  });
});

Deno.test("HttpChat.ask() tells when an answer was cut off", async () => {
  await using server = modelServer(() => completion("hel", "length"));
  const answer = await chatAt(server.baseUrl).ask(REQUEST);
  assertEquals(answer, { kind: "ok", text: "hel", isCut: true });
});

Deno.test("HttpChat.ask() passes on 429 and how long to wait", async () => {
  await using server = modelServer(() =>
    new Response(KEY, { status: 429, headers: { "retry-after": "2" } })
  );
  assertEquals(await chatAt(server.baseUrl).ask(REQUEST), {
    kind: "unavailable",
    reason: "Cannot call model: the endpoint answered with status 429",
    retryAfterMs: 2_000,
  });
});

for (
  const body of [
    "",
    "<html>",
    '{"choices":[{"message":{"con',
    "null",
    "[]",
    '{"choices":{}}',
    '{"choices":[]}',
    '{"choices":[null]}',
    '{"choices":[{"message":{"content":null}}]}',
    '{"choices":[{"message":{"content":" \\n"}}]}',
    '{"choices":[{"message":{"content":["a"]}}]}',
  ]
) {
  Deno.test(`HttpChat.ask() does not take the answer ${JSON.stringify(body)}`, async () => {
    await using server = modelServer(() => new Response(body));
    const answer = await chatAt(server.baseUrl).ask(REQUEST);
    assert(answer.kind === "unavailable");
    assert(answer.reason.startsWith("Cannot call model: the answer"));
  });
}

Deno.test("HttpChat.ask() reads no more than a megabyte", async () => {
  await using server = modelServer(() => completion("x".repeat(2e6), "stop"));
  const answer = await chatAt(server.baseUrl).ask(REQUEST);
  assert(answer.kind === "unavailable");
  assert(answer.reason.includes("too large"));
});

Deno.test("HttpChat.ask() gives up in time", async () => {
  const clock = new FakeClock();
  const held = Promise.withResolvers<void>();
  let asked = false;
  await using server = modelServer(async () => {
    asked = true;
    await held.promise;
    return completion("late", "stop");
  });
  const answer = chatAt(server.baseUrl, { clock, timeoutMs: 50 }).ask(REQUEST);
  await waitUntil(() => asked, { what: "the request" });
  clock.advance(50);
  const told = await answer;
  assert(told.kind === "unavailable" && told.reason.includes("too long"));
  held.resolve();
});

function chatAt(
  baseUrl: string,
  options: Partial<HttpChatOptions> = {},
): HttpChat {
  return new HttpChat({
    baseUrl,
    apiKey: KEY,
    model: "m",
    timeoutMs: 30_000,
    ...options,
  });
}

function completion(content: string, reason: string): Response {
  return Response.json({
    choices: [{ message: { content }, finish_reason: reason }],
  });
}
