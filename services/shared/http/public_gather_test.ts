import { assertEquals } from "@std/assert";
import { PublicGather } from "./public_gather.ts";

Deno.test("PublicGather.finish() returns what was added", () => {
  const gather = new PublicGather({ maxBytes: 10_000, allow: () => true });
  const expected = Uint8Array.from({ length: 5000 }, (_, index) => index);
  for (let at = 0; at < expected.length; at += 7) {
    assertEquals(gather.add(expected.subarray(at, at + 7)), true);
  }
  assertEquals(gather.length, 5000);
  assertEquals(gather.finish(), expected);
});

Deno.test("PublicGather asks for all the memory it takes, and for no more", () => {
  let asked = 0;
  const gather = new PublicGather({
    maxBytes: 3000,
    allow: (bytes) => (asked += bytes) <= 3000,
  });
  for (let count = 0; count < 3000; count++) gather.add(new Uint8Array(1));
  assertEquals(asked, 3000);
  assertEquals(gather.finish().byteLength, 3000);
});

Deno.test("PublicGather.add() adds nothing when memory is refused", () => {
  const gather = new PublicGather({ maxBytes: 100, allow: () => false });
  assertEquals(gather.add(new Uint8Array(1)), false);
  assertEquals(gather.length, 0);
  assertEquals(gather.finish().byteLength, 0);
});
