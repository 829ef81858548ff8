import { assertEquals } from "@std/assert";
import { logParts } from "./log_parts.ts";

Deno.test("logParts() keeps all lines in their order when they do not fit into one report", () => {
  assertEquals(logParts([]), []);
  assertEquals(logParts(["a", "b"]), [["a", "b"]]);
  const many = Array.from({ length: 250 }, (_, at) => `line ${at}`);
  const parts = logParts(many);
  assertEquals(parts.map(({ length }) => length), [100, 100, 50]);
  assertEquals(parts.flat(), many);
});

Deno.test("logParts() keeps reports short when lines are long, and cuts what fits into none", () => {
  const half = "x".repeat(131_072);
  assertEquals(
    logParts([half, half, "y", half + half + "cut"]).map((part) =>
      part.map(({ length }) => length)
    ),
    [[131_072, 131_072], [1], [262_144]],
  );
});
