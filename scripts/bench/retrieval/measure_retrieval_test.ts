import { assert, assertEquals, assertRejects } from "@std/assert";
import { HashedEmbedder } from "../../../services/relayer/embed/hashed_embedder.ts";
import { householdCorpus } from "./household_corpus.ts";
import { measureRetrieval } from "./measure_retrieval.ts";
import { scoreOf, scoresBy } from "./retrieval_score.ts";

Deno.test("householdCorpus() asks for memories that are there", () => {
  const { memories, questions } = householdCorpus();
  const ids = new Set(memories.map(({ id }) => id));
  assertEquals([ids.size, questions.length], [60, 48]);
  for (const { text, gold } of questions) {
    assert(gold.length > 0 && gold.every((id) => ids.has(id)), text);
  }
});

Deno.test("measureRetrieval() keeps namespaces apart", async () => {
  const memories = [{ id: "m", text: "green tea" }];
  const question = { text: "green tea", category: "words", gold: ["m"] };
  const { found } = await measureRetrieval([
    { name: "full", memories, questions: [question] },
    { name: "empty", memories: [], questions: [question] },
  ], { embedder: new HashedEmbedder() });
  assertEquals(found.map(({ ranked }) => ranked), [["m"], []]);
});

Deno.test("measureRetrieval() finds as much in several conversations as in each alone, when their ids and names are the same", async () => {
  const conversations = ["green tea", "black coffee", "red wine"].map(
    (text) => ({
      name: "talk",
      memories: [{ id: "D1:1", text }, { id: "D1:2", text: "good morning" }],
      questions: [{ text, category: "words", gold: ["D1:1"] }],
    }),
  );
  const { found } = await measureRetrieval(conversations, {
    embedder: new HashedEmbedder(),
  });
  assertEquals(
    found.map(({ ranked }) => ranked),
    conversations.map(() => ["D1:1", "D1:2"]),
  );
});

Deno.test("measureRetrieval() throws when memories of a namespace share an id", async () => {
  const memories = ["tea", "coffee"].map((text) => ({ id: "m", text }));
  await assertRejects(
    () =>
      measureRetrieval(
        [{ name: "n", memories, questions: [] }],
        { embedder: new HashedEmbedder() },
      ),
    Error,
    "the index has 1 of 2 memories",
  );
});

Deno.test("the built-in embedder finds what shares words and forms of words", async () => {
  const { found } = await measureRetrieval(
    [householdCorpus()],
    { embedder: new HashedEmbedder() },
  );
  // Questions of the kind "meaning" are left out: the built-in embedder does
  // not claim to find meanings.
  const all = scoreOf(found.filter(({ category }) => category !== "meaning"));
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
