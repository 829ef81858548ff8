import { assert, assertEquals } from "@std/assert";
import { assertGrowth } from "../../../tests/support/growth.ts";
import { stem, wordsOf } from "./words.ts";

Deno.test("wordsOf() folds case, accents and widths", () => {
  assertEquals(texts("Ａda's CAFÉ, don’t—stop! 3.5"), [
    "ada",
    "cafe",
    "dont",
    "stop",
    "3",
    "5",
  ]);
});

Deno.test("wordsOf() takes characters and their pairs where there are no spaces", () => {
  assertEquals(texts("东京塔"), ["东", "东京", "京", "京塔", "塔"]);
  assertEquals(texts("iPhone用"), ["iphone", "用"]);
  assertEquals(texts("コーヒー"), [
    "コ",
    "コー",
    "ー",
    "ーヒ",
    "ヒ",
    "ヒー",
    "ー",
  ]);
});

Deno.test("wordsOf() keeps marks that are part of letters", () => {
  assertEquals(texts("हिन्दी भाषा"), ["हिन्दी", "भाषा"]);
});

Deno.test("wordsOf() finds nothing where there is nothing", () => {
  assertEquals(texts(" …!? \n😀"), []);
});

Deno.test("wordsOf() takes no longer for marks without end", async () => {
  // Each mark has to go before all of the other class that are there already.
  for (const pair of ["\u0301\u0316", "\u0316\uff9e"]) {
    const read = (count: number) => {
      const text = `a${pair.repeat(count)} tea`;
      return () => void wordsOf(text);
    };
    await assertGrowth({ small: read(5_000), large: read(20_000), atMost: 8 });
  }
});

Deno.test("wordsOf() keeps as many marks as any script sets", () => {
  const letter = `\u0939${"\u093c".repeat(30)}`;
  assertEquals(texts(letter), [letter]);
  assertEquals(texts(`${letter}\u093c tea`), [letter, "tea"]);
});

Deno.test("wordsOf() keeps single characters that stand for many, and few of them", () => {
  assertEquals(texts("\ufdfa").length, 4);
  const words = texts("\ufdfa ".repeat(1_000));
  assert(words.length < 2_000, `${words.length} words`);
});

function texts(text: string): readonly string[] {
  return wordsOf(text).map((word) => word.text);
}

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
