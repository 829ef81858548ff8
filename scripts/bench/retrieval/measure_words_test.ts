import { assertEquals } from "@std/assert";
import type { CorpusNamespace } from "./corpus.ts";
import { measureWords } from "./measure_words.ts";

const TALK: CorpusNamespace = {
  name: "talk",
  memories: [
    { id: "1", text: "Where do you live?" },
    { id: "2", text: "In Oslo." },
    { id: "3", text: "It rains." },
  ],
  questions: [{ text: "Who lives where?", category: "place", gold: ["2"] }],
};

Deno.test("measureWords() finds an answer by what was said before it only for speech", () => {
  const rankedOf = (isSpeech: boolean) =>
    measureWords([TALK], { isSpeech }).found.map(({ ranked }) => ranked);
  assertEquals(rankedOf(false), [["1"]]);
  assertEquals(rankedOf(true), [["1", "2", "3"]]);
});
