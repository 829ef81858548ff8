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

Deno.test("vectorText() knows where sentences end that no blank follows", () => {
  const line = (at: number) => `第${at}章讲鲸鱼。${"它们游泳。".repeat(500)}`;
  const text = Array.from({ length: 20 }, (_, at) => line(at)).join("\n");
  const short = vectorText(text);
  for (const at of [0, 10, 19]) {
    assertStringIncludes(short, `第${at}章讲鲸鱼。`);
  }
});

Deno.test("vectorText() keeps what comes after a line without an end", () => {
  const text = `${"x".repeat(20_000)}\n\n \t\r\nThe whale is old.\n`;
  const short = vectorText(text);
  assertStringIncludes(short, "The whale is old.");
  assertStringIncludes(short, "xxx");
  assert(short.length <= MAX_VECTOR_CHARS);
});

Deno.test("vectorText() takes odd texts in its stride", () => {
  const odd = [
    "\n".repeat(20_000),
    " \n".repeat(20_000) + "end",
    ".".repeat(20_000),
    "a.\n".repeat(400_000),
    "\u0000".repeat(9_000),
    "\u{e0001}".repeat(9_000),
  ];
  for (const text of odd) {
    const short = vectorText(text);
    assert(short.length <= MAX_VECTOR_CHARS && short.length > 0);
    assert(short.isWellFormed());
  }
});
