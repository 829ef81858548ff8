import { assertEquals } from "@std/assert";
import { assertGrowth } from "../../../tests/support/growth.ts";
import { MAX_FACTS } from "./extractor.ts";
import { parseFactLines } from "./fact_lines.ts";

Deno.test("parseFactLines() reads bucket, tab, fact", () => {
  assertEquals(
    parse("core\tAda is a nurse.\nuseful\tAda likes tea.\nminor\tx"),
    [
      { text: "Ada is a nurse.", importance: 0.9 },
      { text: "Ada likes tea.", importance: 0.5 },
      { text: "x", importance: 0.2 },
    ],
  );
});

Deno.test("parseFactLines() is tolerant of what models make of it", () => {
  const answer = [
    "Here are the facts:",
    "```",
    "- **Core**\tone of them",
    "2. [USEFUL]: two of them",
    "* minor - three of them",
    "core   four of them",
    '"core" | five of them',
    "core\\tsix of them",
    "\r",
    "core:",
    "corellian\tseven of them",
    "important\teight of them",
    "```",
  ].join("\n");
  assertEquals(
    parse(answer)?.map(({ text, importance }) => [text, importance]),
    [
      ["one of them", 0.9],
      ["two of them", 0.5],
      ["three of them", 0.2],
      ["four of them", 0.9],
      ["five of them", 0.9],
      ["six of them", 0.9],
    ],
  );
});

Deno.test("parseFactLines() knows the word for nothing, and other words", () => {
  for (
    const answer of ["NONE", "none.", "**None**", "Well:\nNONE\n", "`NONE`"]
  ) {
    assertEquals(parse(answer), [], answer);
  }
  for (const answer of ["", "There are none", "{}", "I cannot do that."]) {
    assertEquals(parse(answer), undefined, answer);
  }
});

Deno.test("parseFactLines() leaves out the known, doubles, too much and cut ends", () => {
  assertEquals(
    parse("core\tAda is a nurse\ncore\tada IS a nurse!\ncore\tB c", {
      known: ["b c."],
    }),
    [{ text: "Ada is a nurse", importance: 0.9 }],
  );
  const many = Array.from({ length: 50 }, (_, at) => `minor\tword${at}`);
  assertEquals(parse(many.join("\n"))?.length, MAX_FACTS);
  assertEquals(parse(`core\t${"x".repeat(1_001)}\nNONE`), []);
  assertEquals(
    parse("core\tone whole\ncore\ttwo ha", { isCut: true })?.length,
    1,
  );
  assertEquals(parse("core\tonly", { isCut: true })?.length, 1);
});

Deno.test("parseFactLines() takes no longer for answers that are made to be slow", async () => {
  for (const filler of [" ", "\t", ">", "\u00a0", "core", "\n"]) {
    const read = (length: number) => {
      const text = `${filler.repeat(length / filler.length)}\n`.repeat(32);
      return () => void parse(text);
    };
    // Sixteen times as long where a line is gone over again and again.
    await assertGrowth({ small: read(480), large: read(1_920), atMost: 8 });
  }
});

Deno.test("parseFactLines() takes no longer for facts beyond the bound", async () => {
  const read = (length: number) => {
    const text = Array.from({ length }, (_, at) => `core\tw${at} x`).join("\n");
    return () => assertEquals(parse(text)?.length, MAX_FACTS);
  };
  await assertGrowth({ small: read(1_000), large: read(4_000), atMost: 8 });
});

Deno.test("parseFactLines() reads the beginning of an answer without end", () => {
  const lines = `core\tAda is a nurse.\n${"x".repeat(70_000)}\ncore\tlate`;
  assertEquals(parse(lines)?.map(({ text }) => text), ["Ada is a nurse."]);
});

function parse(
  answer: string,
  options: { readonly known?: readonly string[]; readonly isCut?: boolean } =
    {},
) {
  return parseFactLines(answer, { known: [], isCut: false, ...options });
}
