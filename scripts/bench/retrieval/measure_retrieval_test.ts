import { assert, assertEquals } from "@std/assert";
import { HashedEmbedder } from "../../../services/relayer/embed/hashed_embedder.ts";
import { householdCorpus } from "./household_corpus.ts";
import { measureRetrieval } from "./measure_retrieval.ts";
import { scoreOf, scoresByCategory } from "./retrieval_score.ts";

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
  ], new HashedEmbedder());
  assertEquals(found.map(({ ranked }) => ranked), [["m"], []]);
});

Deno.test("the built-in embedder finds what shares words and forms of words", async () => {
  const { found } = await measureRetrieval(
    [householdCorpus()],
    new HashedEmbedder(),
  );
  // It does not claim to find meanings.
  const all = scoreOf(found.filter(({ category }) => category !== "meaning"));
  const told = JSON.stringify([all, ...scoresByCategory(found)]);
  assert(all.meanReciprocalRank >= FLOORS.meanReciprocalRank, told);
  assert((all.anyAt[1] ?? 0) >= FLOORS.anyAt1, told);
  assert((all.recallAt[5] ?? 0) >= FLOORS.recallAt5, told);
});

/** A little below what there is: a change of weights must not lose more. */
const FLOORS = { meanReciprocalRank: 0.93, anyAt1: 0.9, recallAt5: 0.95 };
