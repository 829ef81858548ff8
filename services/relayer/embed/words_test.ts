import { assertEquals } from "@std/assert";
import { wordsOf } from "./words.ts";

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

function texts(text: string): readonly string[] {
  return wordsOf(text).map((word) => word.text);
}
