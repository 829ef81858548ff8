import { assertEquals } from "@std/assert";
import { sampleText } from "./sample_text.ts";

Deno.test("sampleText() writes JSON, with the numbers of a list in one line", () => {
  const value = { a: [1, 2.5], b: ["x", 1], c: [], d: { e: "[1]" } };
  assertEquals(JSON.parse(sampleText(value)), value);
  assertEquals(
    sampleText(value, { indent: 2 }),
    `{
  "a": [1, 2.5],
  "b": [
    "x",
    1
  ],
  "c": [],
  "d": {
    "e": "[1]"
  }
}`,
  );
});

Deno.test("sampleText() shows the first of many numbers", () => {
  const value = { vector: Array.from({ length: 384 }, () => 0) };
  assertEquals(sampleText(value), '{"vector":[0, 0, 0, …]}');
});
