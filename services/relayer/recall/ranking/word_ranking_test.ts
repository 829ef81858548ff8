import { assert, assertEquals } from "@std/assert";
import { eachRound } from "../../../../tests/support/rounds.ts";
import { finish } from "../../concurrency/testing/finish.ts";
import { memoryWordsSteps } from "./memory_words.ts";
import { Postings } from "./postings.ts";
import { questionTerms } from "./terms.ts";
import { WordRanking } from "./word_ranking.ts";

/** Turns enough for both names to count as speakers. */
const SMALL_TALK = [
  "Ann: Hello there, Ben.",
  "Ben: Hi, how was the trip?",
  "Ann: Long, and the train was full of people.",
  "Ben: It always is at this hour.",
  "Ann: Shall we sit outside?",
  "Ben: Sure, the garden is lovely.",
];

function put(
  ranking: WordRanking,
  id: string,
  { text, createdAtMs }: {
    readonly text: string;
    readonly createdAtMs: number;
  },
): void {
  ranking.put(id, { createdAtMs, words: finish(memoryWordsSteps(text)) });
}

function rankingOf(texts: readonly string[]): WordRanking {
  const ranking = new WordRanking();
  texts.forEach((text, createdAtMs) =>
    put(ranking, text, { text, createdAtMs })
  );
  return ranking;
}

function firstOf(texts: readonly string[], question: string): string {
  const ranking = rankingOf([...SMALL_TALK, ...texts]);
  return ranking.search(question, { limit: 5 }).memories[0]?.id ?? "nothing";
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
  const both = ranking.search("Do Ann and Ben want a bicycle?", { limit: 2 });
  const [one, other] = both.memories.map(({ score }) => score);
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
  for (const [createdAtMs, text] of notes.entries()) {
    const { terms } = finish(memoryWordsSteps(text));
    postings.put(text, { createdAtMs, terms });
  }
  for (const question of ["When is the tea bought?", "milk", "Todo", "x"]) {
    const words = questionTerms(question, ["en"]);
    const plain = postings.search(words, { limit: 10 });
    const { memories, ideal } = ranking.search(question, { limit: 10 });
    assertEquals(ideal, plain.ideal);
    assertEquals(
      new Map(memories.map(({ id, parts }) => [id, parts.words])),
      new Map(plain.hits.map(({ id, words }) => [id, words])),
    );
  }
});

Deno.test("WordRanking.search() puts the newest of what fits alike first, unless the past is asked for", () => {
  const texts = [
    "Ravi's phone number is 0151 2290",
    "The phone number of the doctor is 4711",
    "Ravi's phone number is 0176 8810",
  ];
  const first = (question: string) =>
    rankingOf(texts).search(question, { limit: 3 }).memories[0];
  const now = first("What is Ravi's phone number?");
  assertEquals(now?.id, texts[2]);
  assert((now?.parts.recency ?? 0) > 0);
  const before = first("What was Ravi's phone number before?");
  assertEquals(before?.parts.recency, 0);
});

Deno.test("WordRanking.search() puts the newest of facts that changed first, whatever words tell of the change", () => {
  const cases: readonly (readonly [string, ...string[]])[] = [
    [
      "Where do I live?",
      "I live in Berlin",
      "I moved to Hamburg in May",
      "Since September I live in Munich",
    ],
    [
      "Where do I live?",
      "I live in Berlin",
      "I live in Hamburg now",
      "We moved to Munich",
    ],
    [
      "What is my favourite colour?",
      "My favourite colour is blue",
      "Actually my favourite colour is green",
      "My favourite colour is now red",
    ],
    [
      "Wo wohne ich?",
      "Ich wohne in Berlin",
      "Ich wohne jetzt in Hamburg",
      "Ich bin nach Köln umgezogen",
    ],
  ];
  const others = ["The cat sleeps all day", "Tea is good", "Es regnet"];
  for (const [question, ...facts] of cases) {
    const { memories } = rankingOf([...facts, ...others])
      .search(question, { limit: 5 });
    assertEquals(memories[0]?.id, facts.at(-1), question);
  }
});

Deno.test("WordRanking.search() takes labels that recur for no speakers, and names in lower case for some", () => {
  const notes = [
    "Redis: sessions expire after a day",
    "Berlin: the office has three rooms",
    "Redis: runs on port 6379",
    "Ticket 12, Berlin: the heating is broken",
    "Redis: keeps its log on disk",
    "Berlin: parking is behind the house",
  ];
  const chat = [
    "lena: bist du wach",
    "kathi: ja",
    "lena: papa hat sich den fuß verstaucht",
    "kathi: oh mann",
    "lena: beim kirschen pflücken",
    "kathi: ich komme",
  ];
  const speaks = (texts: readonly string[], question: string) =>
    rankingOf(texts).search(question, { limit: 9 }).memories
      .some(({ parts }) => parts.speaker !== undefined);
  assertEquals(speaks(notes, "Which port does Redis use?"), false);
  assertEquals(speaks(chat, "Was hat Papa am Fuß?"), true);
});

Deno.test("WordRanking.search() finds joined words by their parts and parts by joined words, and irregular forms", () => {
  const texts = ["We plan a roadtrip", "The road trip was long", "Ada woke up"];
  const found = (question: string) =>
    rankingOf(texts).search(question, { limit: 3 }).memories
      .map(({ id }) => id);
  assertEquals(found("roadtrips").length, 1);
  assertEquals(new Set(found("road trip")), new Set(texts.slice(0, 2)));
  assertEquals(
    rankingOf(texts.slice(1)).search("roadtrip", { limit: 1 })
      .memories[0]?.id,
    texts[1],
  );
  assertEquals(found("when did she wake"), ["Ada woke up"]);
});

Deno.test("WordRanking.search() finds misspelt names, and in German parts of joined words", () => {
  const texts = [
    "Der Wohnungsschlüssel liegt bei der Nachbarin",
    "Die Heizungsanlage wird von der Firma Brenner gewartet",
    "Das Rad ist im Keller",
  ];
  const ranking = rankingOf(texts);
  const first = (question: string) =>
    ranking.search(question, { limit: 3 }).memories[0]?.id;
  assertEquals(first("Wo ist der Schlüssel?"), texts[0]);
  assertEquals(first("Was macht Brennner?"), texts[1]);
  assertEquals(first("Wo sind Wohnung und Schlüssel?"), texts[0]);
  assertEquals(
    rankingOf(["The keyboard is new", "My dog barks"])
      .search("the board", { limit: 3 }).memories,
    [],
  );
});

Deno.test("WordRanking.search() compares words that no memory has with so many terms at most", () => {
  const texts = ["We met the gardener", "Her umbrella was left behind"];
  const question = "gardenr umbrela";
  const found = (ranking: WordRanking) =>
    ranking.search(question, { limit: 5 }).memories.map(({ id }) => id);
  assertEquals(new Set(found(rankingOf(texts))), new Set(texts));
  // Enough for one word of the question, and not for two.
  const terms = new Map(
    Array.from({ length: 80_000 }, (_, at) => [`zz${at.toString(36)}`, 1]),
  );
  const large = rankingOf(texts);
  const words = { ...finish(memoryWordsSteps("")), terms };
  large.put("large", { createdAtMs: 9, words });
  assertEquals(found(large), [texts[0]]);
});

Deno.test("WordRanking ranks the same however it came to its memories", async () => {
  const words = ["tea", "milk", "trip", "train", "when", "garden", "ago"];
  const names = ["Ann: ", "Ben: ", "Cara: ", ""];
  await eachRound({ rounds: 10, seed: 3 }, ({ random }) => {
    const changed = new WordRanking();
    const kept = new Map<string, { text: string; createdAtMs: number }>();
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
      const memory = { text, createdAtMs: random.below(20) };
      put(changed, id, memory);
      kept.set(id, memory);
    }
    const fresh = new WordRanking();
    for (const [id, memory] of kept) put(fresh, id, memory);
    const shown = (ranking: WordRanking) =>
      ranking.search("When was Ann's trip with tea?", { limit: 10 })
        .memories.map(({ score }) => score.toFixed(4));
    assertEquals(changed.size, fresh.size);
    assertEquals(shown(changed), shown(fresh));
  });
});

Deno.test("WordRanking.matcher() names the question's words that a memory has itself", () => {
  const ranking = rankingOf([...SMALL_TALK, "Ann: I planted two Quinces."]);
  const matchedOf = ranking.matcher("Who plants a quince tree?");
  assertEquals(matchedOf("Ann: I planted two Quinces."), ["plants", "quince"]);
  assertEquals(matchedOf("gone"), []);
  const many = Array.from({ length: 500 }, (_, at) => `w${at}`).join(" ");
  const named = rankingOf([many]).matcher(many)(many);
  assertEquals(named, many.split(" ").slice(0, 64));
});
