import { assertEquals } from "@std/assert";
import { readMessages, RPC_ERRORS } from "./messages.ts";

function read(value: unknown) {
  return readMessages(JSON.stringify(value));
}

Deno.test("readMessages() reads requests, notifications and responses", () => {
  assertEquals(read({ jsonrpc: "2.0", id: "a", method: "ping" }), {
    kind: "ok",
    messages: [{ kind: "request", id: "a", method: "ping", params: {} }],
    isBatch: false,
  });
  assertEquals(
    read([
      { jsonrpc: "2.0", method: "notifications/cancelled", params: { a: 1 } },
      { jsonrpc: "2.0", id: 4, result: {} },
    ]),
    {
      kind: "ok",
      messages: [
        {
          kind: "notification",
          method: "notifications/cancelled",
          params: { a: 1 },
        },
        { kind: "response" },
      ],
      isBatch: true,
    },
  );
});

Deno.test("readMessages() refuses what is no message when a client is hostile", () => {
  const bad: readonly unknown[] = [
    ...[null, 4, "ping", [], {}, [[]]],
    ...[{ id: 1, method: "ping" }, { jsonrpc: "1.0", id: 1, method: "ping" }],
    { jsonrpc: "2.0", id: null, method: "ping" },
    { jsonrpc: "2.0", id: 1.5, method: "ping" },
    { jsonrpc: "2.0", id: { a: 1 }, method: "ping" },
    { jsonrpc: "2.0", id: "x".repeat(2_000), method: "ping" },
    { jsonrpc: "2.0", id: 1, method: 4 },
    { jsonrpc: "2.0", id: 1, method: "ping", params: [] },
    { jsonrpc: "2.0", id: 1 },
    Array.from({ length: 21 }, () => ({ jsonrpc: "2.0", method: "a" })),
  ];
  for (const value of bad) {
    const outcome = read(value);
    assertEquals(outcome.kind, "invalid", JSON.stringify(value));
    if (outcome.kind !== "invalid") continue;
    assertEquals(outcome.failure.error.code, RPC_ERRORS.invalid);
  }
  const outcome = readMessages("{");
  assertEquals(
    outcome.kind === "invalid" && outcome.failure.error.code,
    RPC_ERRORS.parse,
  );
});

Deno.test("readMessages() takes parameters as they are when they name members of objects", () => {
  const text = '{"jsonrpc":"2.0","id":1,"method":"a",' +
    '"params":{"__proto__":{"x":1},"constructor":2}}';
  const outcome = readMessages(text);
  const [message] = outcome.kind === "ok" ? outcome.messages : [];
  assertEquals(message?.kind, "request");
  assertEquals(Object.keys(Object(message).params), [
    "__proto__",
    "constructor",
  ]);
  assertEquals(Object.hasOwn({}, "x"), false);
});
