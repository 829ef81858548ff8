import { assertEquals, assertThrows } from "@std/assert";
import { checkMetadata, readMetadata } from "./memory_notes.ts";

Deno.test("checkMetadata() returns a copy of what JSON keeps", () => {
  const metadata = { a: "x", b: 0, c: false };
  const checked = checkMetadata(metadata, "metadata");
  metadata.a = "changed";
  assertEquals(checked, { a: "x", b: 0, c: false });
  assertEquals(checkMetadata(undefined, "metadata"), undefined);
  assertEquals(checkMetadata({}, "metadata"), {});
});

Deno.test("checkMetadata() loses no name", () => {
  const odd = JSON.parse('{"__proto__":"x","constructor":1}');
  assertEquals(
    JSON.stringify(checkMetadata(odd, "metadata")),
    '{"__proto__":"x","constructor":1}',
  );
});

Deno.test("checkMetadata() says which member is wrong", () => {
  for (const member of [null, undefined, NaN, Infinity, {}, [], 1n, () => 1]) {
    assertThrows(
      () => checkMetadata({ odd: member }, "filter"),
      TypeError,
      'Cannot use filter: "odd" is',
    );
  }
  for (const value of [null, [], "a", 1]) {
    assertThrows(() => checkMetadata(value, "filter"), TypeError);
  }
});

Deno.test("readMetadata() leaves out what is no metadata", () => {
  assertEquals(readMetadata({ a: 1, b: null, c: {} }), { a: 1 });
  for (const value of [undefined, null, [], "a", {}, { b: null }]) {
    assertEquals(readMetadata(value), undefined);
  }
});
