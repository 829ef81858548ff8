import { assert, assertEquals } from "@std/assert";
import {
  bodyHash,
  idempotencyStoreKey,
  parseIdempotencyKey,
} from "./idempotency_key.ts";

Deno.test("parseIdempotencyKey() reads a plain key and a quoted one alike", () => {
  const keyOf = (header: string): string => {
    const outcome = parseIdempotencyKey(header);
    return outcome.kind === "ok" ? outcome.key : outcome.kind;
  };
  assertEquals(parseIdempotencyKey(undefined), { kind: "none" });
  assertEquals(
    keyOf("8e03978e-40d5-43dd-bc93-6894a57f9324"),
    "8e03978e-40d5-43dd-bc93-6894a57f9324",
  );
  assertEquals(keyOf('"8e03"'), "8e03");
  assertEquals(keyOf('  "a\\"b\\\\c" '), 'a"b\\c');
  assertEquals(keyOf('a"b'), 'a"b');
  assertEquals(keyOf("x".repeat(255)), "x".repeat(255));
  assertEquals(keyOf(`"${'\\"'.repeat(255)}"`), '"'.repeat(255));
  for (
    const bad of [
      "",
      " ",
      '""',
      '"a',
      '"a"b"',
      '"a";p=1',
      '"a", "b"',
      "a b",
      "a, b",
      "é",
      "a\u0000",
      "a\nb",
      '"a b"',
      "x".repeat(256),
      `"${"x".repeat(256)}"`,
      '"'.repeat(10_000),
    ]
  ) assertEquals(keyOf(bad), "problem", bad.slice(0, 20));
});

Deno.test("idempotencyStoreKey() differs wherever anything differs", () => {
  const scope = {
    tenantId: "ten_1",
    credential: "key:1",
    method: "POST",
    path: "/v1/tasks",
  };
  const keys = [
    idempotencyStoreKey(scope, "a"),
    idempotencyStoreKey(scope, "b"),
    idempotencyStoreKey({ ...scope, tenantId: "ten_2" }, "a"),
    idempotencyStoreKey({ ...scope, credential: "key:2" }, "a"),
    idempotencyStoreKey({ ...scope, method: "PUT" }, "a"),
    idempotencyStoreKey({ ...scope, path: "/v1/tasks/x" }, "a"),
    // Moving text from one part to another is a difference as well.
    idempotencyStoreKey({ ...scope, method: "POST/v1", path: "/tasks" }, "a"),
  ];
  assertEquals(new Set(keys).size, keys.length);
  assertEquals(idempotencyStoreKey({ ...scope }, "a"), keys[0]);
  assert(keys.every((key) => /^[\w-]{43}$/.test(key)));
});

Deno.test("bodyHash() is the same for a text and its bytes", () => {
  const text = '{"a": "é"}';
  assertEquals(bodyHash(text), bodyHash(new TextEncoder().encode(text)));
  assert(bodyHash(text) !== bodyHash(`${text} `));
});
