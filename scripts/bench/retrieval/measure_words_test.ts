import { assert, assertEquals } from "@std/assert";
import { HashedEmbedder } from "../../../services/relayer/embed/hashed_embedder.ts";
import { BUILT_IN_VECTOR_WEIGHT } from "../../../services/relayer/recall/memory_index.ts";
import type { CorpusNamespace } from "./corpus.ts";
import { measureRetrieval } from "./measure_retrieval.ts";
import { measureWords } from "./measure_words.ts";
import { scoreOf } from "./retrieval_score.ts";
import { shapesCorpus } from "./shapes/shape.ts";

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

Deno.test("measureWords() goes by a memory's own words, measureRetrieval() by what was said before as well", async () => {
  assertEquals(measureWords([TALK]).found[0]?.ranked[0], "1");
  const { found } = await measureRetrieval([TALK], {
    embedder: new HashedEmbedder(),
    vectorWeight: 0,
  });
  assertEquals(found[0]?.ranked[0], "2");
});

Deno.test("shapesCorpus() has an answer for each question, and no text twice", () => {
  for (const { name, memories, questions } of shapesCorpus()) {
    const ids = new Set(memories.map(({ id }) => id));
    assertEquals(ids.size, memories.length, name);
    assertEquals(new Set(memories.map(({ text }) => text)).size, ids.size);
    for (const { text, gold } of questions) {
      assert(gold.length > 0 && gold.every((id) => ids.has(id)), text);
    }
  }
});

Deno.test("words and vectors together find more of the second set than BM25 does", async () => {
  const corpus = shapesCorpus();
  const { found } = await measureRetrieval(corpus, {
    embedder: new HashedEmbedder(),
    vectorWeight: BUILT_IN_VECTOR_WEIGHT,
  });
  const fused = scoreOf(found);
  const words = scoreOf(measureWords(corpus).found);
  const told = JSON.stringify([fused, words]);
  assert((fused.recallAt[10] ?? 0) >= (words.recallAt[10] ?? 0) + 0.03, told);
  assert((fused.recallAt[1] ?? 0) >= (words.recallAt[1] ?? 0), told);
  assert(fused.meanReciprocalRank >= words.meanReciprocalRank, told);
});

Deno.test("measureWords() finds by stems, the rarest word first, each namespace by itself", () => {
  const memories = [
    { id: "1", text: "The kettle and the toaster are in the kitchen" },
    { id: "2", text: "The kettle is red" },
    { id: "3", text: "Toasters of three makers were tried" },
    { id: "4", text: "The kettle is loud" },
  ];
  const question = { category: "words", gold: ["3"] };
  const asked = [
    { ...question, text: "Which maker's toaster?" },
    { ...question, text: "What is in a garden?" },
  ];
  const { found } = measureWords([
    { name: "full", memories, questions: asked },
    { name: "empty", memories: [], questions: asked },
  ]);
  assertEquals(found.map(({ namespace, ranked }) => [namespace, ranked]), [
    ["full", ["3", "1"]],
    ["full", []],
    ["empty", []],
    ["empty", []],
  ]);
});

Deno.test("measureWords() reads questions in the language that memories are in", () => {
  const memories = [
    "Die Häuser am Hafen wurden im Sommer gestrichen",
    "Der Wagen steht seit gestern in der Werkstatt",
    "Wir haben am Abend im Garten gegessen",
  ].map((text, at) => ({ id: String(at), text }));
  const questions = [{ text: "Haus Hafens", category: "forms", gold: ["0"] }];
  const { found } = measureWords([{ name: "n", memories, questions }]);
  assertEquals(found[0]?.ranked, ["0"]);
});
