import { assert, assertEquals } from "@std/assert";
import { LinePacker } from "./line_packer.ts";

const decoder = new TextDecoder();

Deno.test("LinePacker fills a payload to its last byte and no further", () => {
  const packer = new LinePacker(8);
  assert(packer.add("abc"));
  assert(packer.add("def"));
  assert(!packer.add(""));
  assertEquals(decoder.decode(packer.take()), "abc\ndef\n");
  assertEquals(packer.take(), undefined);
});

Deno.test("LinePacker counts bytes and leaves no half line", () => {
  const packer = new LinePacker(8);
  assert(packer.add("éé"));
  assert(!packer.add("é\u{1f600}"));
  assertEquals(decoder.decode(packer.take()), "éé\n");
  assert(!packer.add("éééé"));
  assertEquals(packer.take(), undefined);
});
