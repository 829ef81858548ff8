import { assert, assertEquals, assertRejects } from "@std/assert";
import { HashedEmbedder } from "../../../services/relayer/embed/hashed_embedder.ts";
import { BUILT_IN_VECTOR_WEIGHT } from "../../../services/relayer/recall/memory_index.ts";
import { type CorpusNamespace, readOwnSet } from "./corpus.ts";
import { measureIndex, measureWords } from "./rankings.ts";
import { computeScore, scoresBy } from "./scores.ts";

Deno.test("measureIndex() keeps namespaces apart", async () => {
  const memories = [{ id: "m", text: "green tea" }];
  const question = { text: "green tea", category: "words", gold: ["m"] };
  const { found } = await measureIndex([
    { name: "full", memories, questions: [question] },
    { name: "empty", memories: [], questions: [question] },
  ], { embedder: new HashedEmbedder() });
  assertEquals(found.map(({ ranked }) => ranked), [["m"], []]);
});

Deno.test("measureIndex() finds as much in several conversations as in each alone, when their ids and names are the same", async () => {
  const conversations = ["green tea", "black coffee", "red wine"].map(
    (text) => ({
      name: "talk",
      memories: [{ id: "D1:1", text }, { id: "D1:2", text: "good morning" }],
      questions: [{ text, category: "words", gold: ["D1:1"] }],
    }),
  );
  const { found } = await measureIndex(conversations, {
    embedder: new HashedEmbedder(),
  });
  assertEquals(
    found.map(({ ranked }) => ranked),
    conversations.map(() => ["D1:1", "D1:2"]),
  );
});

Deno.test("measureIndex() throws when memories of a namespace share an id", async () => {
  const memories = ["tea", "coffee"].map((text) => ({ id: "m", text }));
  await assertRejects(
    () =>
      measureIndex(
        [{ name: "n", memories, questions: [] }],
        { embedder: new HashedEmbedder() },
      ),
    Error,
    "the index has 1 of 2 memories",
  );
});

Deno.test("the built-in embedder finds what shares words and forms of words", async () => {
  const { found } = await measureIndex(
    (await readOwnSet("notes")).slice(0, 1),
    { embedder: new HashedEmbedder() },
  );
  // Questions of the kind "meaning" are left out: the built-in embedder does
  // not claim to find meanings.
  const all = computeScore(
    found.filter(({ category }) => category !== "meaning"),
  );
  const told = JSON.stringify([all, ...scoresBy("category", found)]);
  assert(all.meanReciprocalRank >= FLOORS.meanReciprocalRank, told);
  assert((all.anyAt[1] ?? 0) >= FLOORS.anyAt1, told);
  assert((all.recallAt[5] ?? 0) >= FLOORS.recallAt5, told);
});

/**
 * The least scores that are accepted, a little below the present ones, so that
 * a change of weights that loses more is noticed.
 */
const FLOORS = { meanReciprocalRank: 0.93, anyAt1: 0.9, recallAt5: 0.95 };

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

Deno.test("measureWords() goes by a memory's own words, measureIndex() by what was said before as well", async () => {
  const words = await measureWords([TALK]);
  assertEquals(words.found[0]?.ranked[0], "1");
  const { found } = await measureIndex([TALK], {
    embedder: new HashedEmbedder(),
    vectorWeight: 0,
  });
  assertEquals(found[0]?.ranked[0], "2");
});

Deno.test("words and vectors together find more of the second set than BM25 does", async () => {
  const [, ...corpus] = await readOwnSet("notes");
  const { found } = await measureIndex(corpus, {
    embedder: new HashedEmbedder(),
    vectorWeight: BUILT_IN_VECTOR_WEIGHT,
  });
  const fused = computeScore(found);
  const words = computeScore((await measureWords(corpus)).found);
  const told = JSON.stringify([fused, words]);
  assert((fused.recallAt[10] ?? 0) >= (words.recallAt[10] ?? 0) + 0.03, told);
  assert((fused.recallAt[1] ?? 0) >= (words.recallAt[1] ?? 0), told);
  assert(fused.meanReciprocalRank >= words.meanReciprocalRank, told);
});

Deno.test("measureWords() finds by stems, the rarest word first, each namespace by itself", async () => {
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
  const { found } = await measureWords([
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

Deno.test("measureWords() reads questions in the language that memories are in", async () => {
  const memories = [
    "Die Häuser am Hafen wurden im Sommer gestrichen",
    "Der Wagen steht seit gestern in der Werkstatt",
    "Wir haben am Abend im Garten gegessen",
  ].map((text, at) => ({ id: String(at), text }));
  const questions = [{ text: "Haus Hafens", category: "forms", gold: ["0"] }];
  const { found } = await measureWords([{ name: "n", memories, questions }]);
  assertEquals(found[0]?.ranked, ["0"]);
});
