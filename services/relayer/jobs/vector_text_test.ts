import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { MAX_VECTOR_CHARS, vectorText } from "./vector_text.ts";

Deno.test("vectorText() leaves short texts as they are", () => {
  assertEquals(vectorText("Ada likes tea."), "Ada likes tea.");
  const full = "x".repeat(MAX_VECTOR_CHARS);
  assertEquals(vectorText(full), full);
});

Deno.test("vectorText() keeps the first sentence of each line of a long text", () => {
  const line = (index: number) =>
    `Chapter ${index} is about whales. ${"They swim. ".repeat(60)}`;
  const text = Array.from({ length: 40 }, (_, index) => line(index)).join("\n");
  const short = vectorText(text);
  assert(short.length <= MAX_VECTOR_CHARS);
  for (const index of [0, 20, 39]) {
    assertStringIncludes(short, `Chapter ${index} is about whales.`);
  }
});

Deno.test("vectorText() shortens a text that is one endless line", () => {
  const short = vectorText("ä".repeat(100_000));
  assertEquals(short.length, MAX_VECTOR_CHARS);
});

Deno.test("vectorText() parts no character", () => {
  for (const offset of [0, 1]) {
    const short = vectorText("a".repeat(offset) + "🐋".repeat(20_000));
    assert(short.isWellFormed());
    assert(short.length <= MAX_VECTOR_CHARS);
  }
});
