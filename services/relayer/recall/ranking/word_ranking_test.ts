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

function createRanking(texts: readonly string[]): WordRanking {
  const ranking = new WordRanking();
  texts.forEach((text, createdAtMs) =>
    put(ranking, text, { text, createdAtMs })
  );
  return ranking;
}

function findFirst(texts: readonly string[], question: string): string {
  const ranking = createRanking([...SMALL_TALK, ...texts]);
  return ranking.search(question, { limit: 5 }).memories[0]?.id ?? "nothing";
}

Deno.test("WordRanking.search() knows speakers in lower case and in Korean, and two of several who are named", () => {
  const talk = [
    "ann: hi ben",
    "ben: hi",
    "cara: hello you two",
    "ann: you coming",
    "ben: yes",
    "cara: no",
    "ann: ok",
    "ben: thanks",
    "cara: lol",
  ];
  const texts = ["ann", "ben", "cara"].map((name) =>
    `${name}: bought a red bicycle`
  );
  const ranking = createRanking([...talk, ...texts]);
  const first = (question: string, limit: number) =>
    ranking.search(question, { limit }).memories.map(({ id }) => id).sort();
  assertEquals(first("which bicycle has Ben", 1), [texts[1]]);
  assertEquals(first("anns bicycle", 1), [texts[0]]);
  assertEquals(first("bicycle of ann and cara", 2), [texts[0], texts[2]]);
  const korean = createRanking([
    ...[
      "민지: 안녕 ㅋㅋ",
      "준호: 응 왔어?",
      "민지: 그래",
      "준호: 헐",
      "민지: 응",
    ],
    ...["민지: 자전거 샀어", "준호: 자전거 샀어"],
  ]);
  const [found] = korean.search("준호는 자전거 샀나", { limit: 1 }).memories;
  assertEquals(found?.id, "준호: 자전거 샀어");
});

Deno.test("WordRanking.search() takes labels of notes for no speakers, however often they recur", () => {
  const labels = ["Redis", "Ticket 12, Berlin", "garden", "Postgres"];
  const notes = Array.from(
    { length: 40 },
    (_, at) => `${labels[at % 4]}: fact ${at} about pool ${at % 7}, we keep it`,
  );
  const ranking = createRanking(notes);
  const { memories } = ranking.search("Which pool has Redis?", { limit: 40 });
  assertEquals(memories.length, 40);
  for (const { parts } of memories) {
    assertEquals([parts.speaker, parts.answer], [undefined, undefined]);
  }
  // Beside people who talk to each other they are none, either.
  const both = createRanking([
    ...SMALL_TALK,
    ...SMALL_TALK.map((text) => text.replace(":", ": Well,")),
    ...notes,
  ]);
  const found = both.search("Which pool has Redis?", { limit: 40 }).memories;
  assert(found.every(({ parts }) => (parts.speaker ?? 0) === 0));
});

Deno.test("WordRanking.search() knows a question without a mark, and an answer that comes after all of it", () => {
  const texts = [
    "ben: who has the spare tent",
    "ben: the green one",
    "ann: mine since the summer trip",
  ];
  assertEquals(findFirst(texts, "Who has the spare tent?"), texts[2]);
});

Deno.test("WordRanking.search() prefers numbers and places where they are asked for, in notes as well", () => {
  const notes = [
    "Rent of the studio rises again, sadly",
    "Rent of the studio: 840 euros",
    "The ladder was a bargain, says everybody",
    "The ladder is behind the shed, unused",
  ];
  const first = (question: string) =>
    createRanking(notes).search(question, { limit: 1 }).memories[0];
  const number = first("How much is the rent of the studio?");
  assertEquals(number?.id, notes[1]);
  assert((number?.parts.number ?? 0) > 0);
  assertEquals(first("Where is the ladder?")?.id, notes[3]);
});

Deno.test("WordRanking.search() puts the newest of three facts on one thing first where one tells of a change", () => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ["Where do I live?", [
      "I live in Oslo, near the old harbour",
      "I moved to Ghent",
      "Since May I have a flat in Porto, I live alone there",
      "My brother lives in Rome now",
    ]],
    ["Where does Ravi live now?", [
      "Ravi lives in Oslo",
      "Ravi lives in Ghent now, in a long street",
      "Ravi moved to Porto",
    ]],
    ["Wo wohne ich?", [
      "Ich wohne in Kassel",
      "Ich bin nach Fulda umgezogen",
      "Jetzt wohne ich mit vielen anderen in Erfurt",
    ]],
    ["Où est-ce que j'habite ?", [
      "J'habite à Nantes",
      "J'ai déménagé à Rennes",
      "Désormais j'habite à Brest avec beaucoup de monde",
    ]],
    ["¿Cuál es mi coche?", [
      "Mi coche es gris",
      "Mi coche es rojo desde mayo",
      "Ahora mi coche es un Dacia azul de mi padre",
    ]],
    ["나 어디에 살아?", [
      "나는 대전에 살아",
      "나는 수원으로 이사했어",
      "나는 지금은 부산에 살아",
    ]],
  ];
  for (const [question, facts] of cases) {
    for (const head of ["", "user: "]) {
      const chat = head === ""
        ? []
        : [1, 2, 3].map((n) => `assistant: Noted, number ${n}.`);
      const texts = [...facts.map((fact) => head + fact), ...chat];
      const { memories } = createRanking(texts).search(question, { limit: 5 });
      assertEquals(memories[0]?.id, texts[2], question);
    }
  }
});

Deno.test("WordRanking.search() leaves the order as it is where no change is told, the past is asked for, or facts differ", () => {
  const ranks = (texts: readonly string[], question: string) =>
    createRanking(texts).search(question, { limit: 40 });
  const facts = ["Ravi lives in Oslo", "Ravi lives in a quiet part of Ghent"];
  assertEquals(ranks(facts, "Where does Ravi live?").newest, undefined);
  const changed = [...facts, "Ravi lives in Porto now, close to the river"];
  assertEquals(
    ranks(changed, "Where does Ravi live?").newest?.id,
    changed[2],
  );
  assertEquals(ranks(changed, "Where did Ravi live?").newest, undefined);
  const many = Array.from(
    { length: 12 },
    (_, at) => `Ravi now likes song ${at}`,
  );
  assertEquals(ranks(many, "What does Ravi like?").newest, undefined);
  assertEquals(
    ranks(
      ["Ravi drives a van", "Ravi now sings in a choir"],
      "Does Ravi drive the choir to Oslo?",
    ).newest,
    undefined,
  );
});

Deno.test("WordRanking.search() finds words that are joined in one place and apart in another", () => {
  const texts = [
    "We took a roadtrip along the coast",
    "Her book shop opens at nine",
    "The road was long",
  ];
  const first = (question: string) =>
    createRanking(texts).search(question, { limit: 3 }).memories[0]?.id;
  assertEquals(first("How was the road trip?"), texts[0]);
  assertEquals(first("bookshop"), texts[1]);
});

Deno.test("WordRanking.search() prefers in a conversation whom the question names, and none where it names both", () => {
  const texts = [
    "Ann: I bought a red bicycle.",
    "Ben: I bought a red bicycle.",
  ];
  for (const order of [texts, texts.toReversed()]) {
    assertEquals(findFirst(order, "Which bicycle does Ann want?"), texts[0]);
    assertEquals(findFirst(order, "Which bicycle does Ben want?"), texts[1]);
  }
  const ranking = createRanking([...SMALL_TALK, ...texts]);
  const both = ranking.search("Do Ann and Ben want a bicycle?", { limit: 2 });
  const [one, other] = both.memories.map(({ score }) => score);
  assert(one !== undefined && other !== undefined);
  assert(Math.abs(one - other) < 1, `${one} ${other}`);
});

Deno.test("WordRanking.search() prefers a time where one is asked for, and what follows a question to the question", () => {
  assertEquals(
    findFirst([
      "Ann: My pottery class was wonderful and calm.",
      "Ben: And then?",
      "Ann: My pottery class began last Tuesday, early.",
    ], "When did Ann take a pottery class?"),
    "Ann: My pottery class began last Tuesday, early.",
  );
  assertEquals(
    findFirst([
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
  const ranking = createRanking(notes);
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
    createRanking(texts).search(question, { limit: 3 }).memories[0];
  const now = first("What is Ravi's phone number?");
  assertEquals(now?.id, texts[2]);
  assert((now?.parts.recency ?? 0) > 0);
  const before = first("What was Ravi's phone number before?");
  assertEquals(before?.parts.recency, 0);
});

Deno.test("WordRanking.search() finds misspelt names, and in German parts of joined words", () => {
  const texts = [
    "Der Wohnungsschlüssel liegt bei der Nachbarin",
    "Die Heizungsanlage wird von der Firma Brenner gewartet",
    "Das Rad ist im Keller",
  ];
  const ranking = createRanking(texts);
  const first = (question: string) =>
    ranking.search(question, { limit: 3 }).memories[0]?.id;
  assertEquals(first("Wo ist der Schlüssel?"), texts[0]);
  assertEquals(first("Was macht Brennner?"), texts[1]);
  assertEquals(first("Wo sind Wohnung und Schlüssel?"), texts[0]);
  assertEquals(
    createRanking(["The keyboard is new", "My dog barks"])
      .search("the board", { limit: 3 }).memories,
    [],
  );
});

Deno.test("WordRanking.search() compares words that no memory has with so many terms at most", () => {
  const texts = ["We met the gardener", "Her umbrella was left behind"];
  const question = "gardenr umbrela";
  const found = (ranking: WordRanking) =>
    ranking.search(question, { limit: 5 }).memories.map(({ id }) => id);
  assertEquals(new Set(found(createRanking(texts))), new Set(texts));
  // Enough for one word of the question, and not for two.
  const terms = new Map(
    Array.from({ length: 80_000 }, (_, at) => [`zz${at.toString(36)}`, 1]),
  );
  const large = createRanking(texts);
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
    const adopted = new WordRanking();
    // Columns belong to the one that takes them.
    finish(adopted.adoptSteps(finish(changed.columnSteps())));
    assertEquals(changed.size, fresh.size);
    assertEquals(shown(adopted), shown(fresh));
    adopted.remove([...kept.keys()][0] ?? "");
    fresh.remove([...kept.keys()][0] ?? "");
    assertEquals(shown(adopted), shown(fresh));
  });
});

Deno.test("WordRanking.matcher() names the question's words that a memory has itself", () => {
  const ranking = createRanking([...SMALL_TALK, "Ann: I planted two Quinces."]);
  const findMatched = ranking.matcher("Who plants a quince tree?");
  assertEquals(findMatched("Ann: I planted two Quinces."), [
    "plants",
    "quince",
  ]);
  assertEquals(findMatched("gone"), []);
  const many = Array.from({ length: 500 }, (_, at) => `w${at}`).join(" ");
  const named = createRanking([many]).matcher(many)(many);
  assertEquals(named, many.split(" ").slice(0, 64));
});
