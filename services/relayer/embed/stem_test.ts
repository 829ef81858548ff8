import { assertEquals } from "@std/assert";
import { stem } from "./stem.ts";

Deno.test("stem() makes one of the forms of a word", () => {
  const families = [
    ["move", "moves", "moved", "moving"],
    ["run", "runs", "running"],
    ["city", "cities"],
    ["class", "classes"],
    ["box", "boxes"],
    ["plan", "plans", "planned", "planning"],
    ["like", "likes", "liked", "liking"],
    ["study", "studies", "studied", "studying"],
  ];
  for (const family of families) {
    const stems = new Set(family.map(stem));
    assertEquals(stems.size, 1, family.join());
  }
});

Deno.test("stem() leaves short words and words of other letters", () => {
  for (const word of ["red", "sing", "this", "bus", "was", "größe", "c3po"]) {
    assertEquals(stem(word), word);
  }
});
