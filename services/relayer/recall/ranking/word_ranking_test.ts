import { assert, assertEquals } from "@std/assert";
import { eachRound } from "../../../../tests/support/rounds.ts";
import { Postings } from "./postings.ts";
import { termsOf } from "./terms.ts";
import { WordRanking } from "./word_ranking.ts";

/** Enough of it that both names recur. */
const SMALL_TALK = [
  "Ann: Hello there, Ben.",
  "Ben: Hi, how was the trip?",
  "Ann: Long, and the train was full of people.",
  "Ben: It always is at this hour.",
  "Ann: Shall we sit outside?",
  "Ben: Sure, the garden is lovely.",
];

function rankingOf(texts: readonly string[]): WordRanking {
  const ranking = new WordRanking();
  for (const text of texts) ranking.put(text, text);
  return ranking;
}

function firstOf(texts: readonly string[], question: string): string {
  const ranking = rankingOf([...SMALL_TALK, ...texts]);
  return ranking.search(question, 5)[0]?.id ?? "nothing";
}

Deno.test("WordRanking.search() prefers in a conversation whom the question names, and none where it names both", () => {
  const texts = [
    "Ann: I bought a red bicycle.",
    "Ben: I bought a red bicycle.",
  ];
  for (const order of [texts, texts.toReversed()]) {
    assertEquals(firstOf(order, "Which bicycle does Ann want?"), texts[0]);
    assertEquals(firstOf(order, "Which bicycle does Ben want?"), texts[1]);
  }
  const ranking = rankingOf([...SMALL_TALK, ...texts]);
  const both = ranking.search("Do Ann and Ben want a bicycle?", 2);
  const [one, other] = both.map(({ score }) => score);
  assert(one !== undefined && other !== undefined);
  assert(Math.abs(one - other) < 1, `${one} ${other}`);
});

Deno.test("WordRanking.search() prefers a time where one is asked for, and what follows a question to the question", () => {
  assertEquals(
    firstOf([
      "Ann: My pottery class was wonderful and calm.",
      "Ben: And then?",
      "Ann: My pottery class began last Tuesday, early.",
    ], "When did Ann take a pottery class?"),
    "Ann: My pottery class began last Tuesday, early.",
  );
  assertEquals(
    firstOf([
      "Ben: Which instrument does your daughter play?",
      "Ann: The violin, for two years and with joy.",
      "Ben: Nice.",
    ], "Which instrument does the daughter of Ann play?"),
    "Ann: The violin, for two years and with joy.",
  );
});

Deno.test("WordRanking.search() is plain BM25 where no two names recur", () => {
  const notes = [
    "Todo: buy tea and milk",
    "Todo: call the bank about tea",
    "Todo: water the plants?",
    "The contract ends last week of May",
    "Ann: one message only, about tea",
    "Milk is out",
  ];
  const ranking = rankingOf(notes);
  const postings = new Postings();
  for (const text of notes) {
    postings.put(text, { terms: termsOf(text), isSpeech: false });
  }
  for (const question of ["When is the tea bought?", "milk", "Todo", "x"]) {
    assertEquals(
      ranking.search(question, 10),
      postings.search(termsOf(question), { limit: 10 }),
    );
  }
});

Deno.test("WordRanking ranks the same however it came to its memories", async () => {
  const words = ["tea", "milk", "trip", "train", "when", "garden", "ago"];
  const names = ["Ann: ", "Ben: ", "Cara: ", ""];
  await eachRound({ rounds: 10, seed: 3 }, ({ random }) => {
    const changed = new WordRanking();
    const kept = new Map<string, string>();
    for (let step = 0; step < 150; step++) {
      const id = `${random.below(40)}`;
      if (random.below(3) === 0) {
        assertEquals(changed.remove(id), kept.delete(id));
        continue;
      }
      const text = [
        names[random.below(names.length)],
        ...Array.from(
          { length: 1 + random.below(6) },
          () => words[random.below(words.length)],
        ),
      ].join(" ").replace(/ {2}/, " ") + (random.below(4) === 0 ? "?" : "");
      changed.put(id, text);
      kept.set(id, text);
    }
    const fresh = new WordRanking();
    for (const [id, text] of kept) fresh.put(id, text);
    const shown = (ranking: WordRanking) =>
      ranking.search("When was Ann's trip with tea?", 10)
        .map(({ score }) => score.toFixed(4));
    assertEquals(changed.size, fresh.size);
    assertEquals(shown(changed), shown(fresh));
  });
});
