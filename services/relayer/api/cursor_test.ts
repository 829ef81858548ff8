import { assert, assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";

Deno.test("decodeCursor() gives back what encodeCursor() took", () => {
  const random = new SeededRandom(3);
  for (let round = 0; round < 500; round++) {
    const position = { change: random.below(2 ** 50) };
    const cursor = encodeCursor("memories", position);
    assert(/^[A-Za-z0-9_-]+$/.test(cursor), cursor);
    assertEquals(decodeCursor("memories", cursor), position);
    assertEquals(decodeCursor("namespaces", cursor), undefined);
  }
});

Deno.test("decodeCursor() takes nothing else", () => {
  const texts = [
    "null",
    "[]",
    "5",
    "{}",
    '{"listing":"memories"}',
    '{"listing":"memories","change":"5"}',
    '{"listing":"memories","change":-1}',
    '{"listing":"memories","change":1.5}',
    '{"listing":"memories","change":1e300}',
    '{"listing":"memories","change":null}',
  ];
  for (const text of texts) {
    const cursor = btoa(text).replaceAll("=", "");
    assertEquals(decodeCursor("memories", cursor), undefined, text);
  }
  for (const cursor of ["", "=", "a b", "ä", "x".repeat(257)]) {
    assertEquals(decodeCursor("memories", cursor), undefined, cursor);
  }
});
