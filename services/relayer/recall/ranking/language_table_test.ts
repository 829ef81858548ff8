import { assert, assertEquals } from "@std/assert";
import { finish } from "../../concurrency/testing/finish.ts";
import { memoryWordsSteps } from "./memory_words.ts";
import { type AskedFact, languageTable } from "./testing/language_table.ts";
import { WordRanking } from "./word_ranking.ts";

/** So many of its eight questions each language has to answer. */
const MIN_FOUND = 7;

Deno.test("WordRanking.search() finds a fact by other forms of its words in each of thirty languages and scripts", () => {
  const table = languageTable();
  assert(table.size >= 30);
  for (const [language, facts] of table) {
    assertEquals(facts.length, 8, language);
    const missed = missedIn(facts);
    assert(
      facts.length - missed.length >= MIN_FOUND,
      `${language}: ${missed.join("; ")}`,
    );
  }
});

/** Questions whose fact is not the first result. */
function missedIn(facts: readonly AskedFact[]): readonly string[] {
  const ranking = new WordRanking();
  for (const [createdAtMs, { fact }] of facts.entries()) {
    const words = finish(memoryWordsSteps(fact));
    ranking.put(fact, { createdAtMs, words });
  }
  return facts.flatMap(({ fact, question }) => {
    const { memories } = ranking.search(question, { limit: 1 });
    return memories[0]?.id === fact ? [] : [question];
  });
}
