import { assertEquals } from "@std/assert";
import type { CorpusNamespace } from "./corpus.ts";
import { measureWords } from "./measure_words.ts";

const TALK: CorpusNamespace = {
  name: "talk",
  memories: [
    { id: "1", text: "Ann: Where do you live?" },
    { id: "2", text: "Ben: In Oslo." },
    { id: "3", text: "Ann: It rains." },
    { id: "4", text: "Ben: Always." },
    { id: "5", text: "Ann: Not here." },
    { id: "6", text: "Ben: Lucky." },
  ],
  questions: [{ text: "Where does Ben live?", category: "place", gold: ["2"] }],
};

Deno.test("measureWords() finds an answer by what was said before it only in dialogue", () => {
  const firstOf = (measure: "words" | "dialogue") =>
    measureWords([TALK], measure).found[0]?.ranked[0];
  assertEquals(firstOf("words"), "1");
  assertEquals(firstOf("dialogue"), "2");
});
