import { assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { associatedData } from "./associated_data.ts";

Deno.test("associatedData() tells lists apart whose texts joined are the same", () => {
  const lists = [
    ["a|b", "c"],
    ["a", "b|c"],
    ["a", "b", "c"],
    ["ab", "c"],
    ["a", "bc"],
    ["abc"],
    ["abc", ""],
    ["", "abc"],
    [],
    [""],
    ["\0\0\0\x01a"],
  ];
  const encoded = lists.map((list) => associatedData(list).toHex());
  assertEquals(new Set(encoded).size, lists.length);
});

Deno.test("associatedData() is the length and the UTF-8 of each text", () => {
  assertEquals(associatedData(["é", "x"]).toHex(), "00000002c3a90000000178");
});

Deno.test("associatedData() never gives the same for different lists", () => {
  const random = new SeededRandom(4);
  const text = () =>
    random.list(4, () => random.pick(["a", "\0", "|"])).join("");
  for (let round = 0; round < 5_000; round++) {
    const left = random.list(4, text);
    const right = random.list(4, text);
    if (JSON.stringify(left) === JSON.stringify(right)) continue;
    assertNotEquals(
      associatedData(left).toHex(),
      associatedData(right).toHex(),
    );
  }
});

Deno.test("associatedData() refuses half a surrogate pair", () => {
  assertThrows(
    () => associatedData(["a\ud800"]),
    TypeError,
    "no valid Unicode",
  );
});
