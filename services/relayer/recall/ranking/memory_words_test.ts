import { assertEquals } from "@std/assert";
import { eachRound } from "../../../../tests/support/rounds.ts";
import { finish } from "../../concurrency/testing/finish.ts";
import {
  decodeWords,
  encodeWords,
  type MemoryWords,
  memoryWordsSteps,
} from "./memory_words.ts";

function wordsOf(text: string): MemoryWords {
  return finish(memoryWordsSteps(text));
}

Deno.test("memoryWordsSteps() tells who speaks and what signs go by", () => {
  const cases: readonly (readonly [string, Partial<MemoryWords>])[] = [
    ["Ann: I left yesterday.", { speaker: "Ann", tellsTime: true }],
    ["8 May, Ann Lee (by phone): Tea?", {
      speaker: "Ann Lee",
      isQuestion: true,
      saidTerms: 1,
    }],
    ["Tom: What is it? (picture: a kite)", { isQuestion: true }],
    ["Anna: Seit Montag bin ich weg.", { language: "de", tellsTime: true }],
    ["todo: buy tea", { speaker: undefined, isQuestion: false }],
    ["Who is it?", { speaker: undefined, isQuestion: true }],
    ["the marsh", { tellsTime: false }],
  ];
  for (const [text, expected] of cases) {
    const words: MemoryWords = wordsOf(text);
    assertEquals({ ...words, ...expected }, words, text);
  }
});

Deno.test("decodeWords() gives back what was encoded", async () => {
  for (
    const text of [
      "",
      "Ann: Where is the key to v2.3.1?",
      "日本 привет ünïcödé\nline",
      "tea ".repeat(1_000),
    ]
  ) {
    const words = wordsOf(text);
    const terms = new Map(
      [...words.terms].map(([term, count]) => [term, Math.min(255, count)]),
    );
    assertEquals(decodeWords(encodeWords(words)), { ...words, terms });
  }
  const bytes = encodeWords(wordsOf("Ann: Where is the key?"));
  await eachRound({ rounds: 200, seed: 5 }, ({ random }) => {
    const cut = bytes.slice(0, random.below(bytes.length + 1));
    if (cut.length > 0) cut[random.below(cut.length)] = random.below(256);
    // It is none, or another: that it ends is what counts.
    decodeWords(cut);
  });
});

Deno.test("decodeWords() refuses another version", () => {
  const bytes = encodeWords(wordsOf("tea"));
  bytes[0] = 0;
  assertEquals(decodeWords(bytes), undefined);
  assertEquals(decodeWords(new Uint8Array()), undefined);
});
