import { assertEquals } from "@std/assert";
import { formatPrefix, wantsColours, writeLines } from "./output.ts";

async function collectLines(pieces: readonly string[]) {
  const lines: string[] = [];
  const encoder = new TextEncoder();
  const last = await writeLines(
    ReadableStream.from(pieces.map((piece) => encoder.encode(piece))),
    (line) => lines.push(line),
  );
  return { lines, last };
}

Deno.test("writeLines() writes whole lines however they come, and the last one without an end", async () => {
  assertEquals(await collectLines(["a", "b\nc", "d\n", "\n", "e"]), {
    lines: ["ab", "cd", "", "e"],
    last: "e",
  });
  assertEquals(await collectLines(["failed\n", "\n  \n"]), {
    lines: ["failed", "", "  "],
    last: "failed",
  });
  assertEquals(await collectLines([]), { lines: [], last: "" });
});

Deno.test("writeLines() writes a line that does not end in pieces", async () => {
  const { lines } = await collectLines([
    "x".repeat(10_000),
    "x".repeat(10_000),
  ]);
  assertEquals(lines.map((line) => line.length), [8_192, 8_192, 3_616]);
});

Deno.test("formatPrefix() names the service, in a colour only where a terminal shows it", () => {
  const options = { index: 1, width: 9 };
  assertEquals(
    formatPrefix("tasks", { ...options, isColoured: false }),
    "tasks     | ",
  );
  assertEquals(
    formatPrefix("tasks", { ...options, isColoured: true }),
    "\x1b[35mtasks     | \x1b[0m",
  );
});

Deno.test("wantsColours() is false without a terminal and where NO_COLOR is set", () => {
  const none = () => undefined;
  assertEquals(wantsColours(none, { isTerminal: true }), true);
  assertEquals(wantsColours(none, { isTerminal: false }), false);
  assertEquals(wantsColours(() => "1", { isTerminal: true }), false);
});
