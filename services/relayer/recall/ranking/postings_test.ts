import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { eachRound } from "../../../../tests/support/rounds.ts";
import { Postings, type SearchedWord } from "./postings.ts";
import { detectSigns, type Signs } from "./turn_signs.ts";
import type { TurnWeights } from "./turn_table.ts";

/** Words of one term each. */
function createWords(text: string): readonly SearchedWord[] {
  return [...new Set(text.split(" "))].map((term) => ({ terms: [term] }));
}

interface Put {
  readonly text: string;
  readonly isSpeech?: boolean;
  readonly isQuestion?: boolean;
  readonly speaker?: number;
  readonly createdAtMs?: number;
}

/** Adds a memory whose time is its id as a number, unless given. */
function put(postings: Postings, id: string, memory: Put): void {
  const { isSpeech = false, isQuestion = false } = memory;
  const terms = new Map<string, number>();
  for (const term of memory.text.split(" ")) {
    terms.set(term, (terms.get(term) ?? 0) + 1);
  }
  const createdAtMs = memory.createdAtMs ?? Number(id);
  const turn = { speaker: memory.speaker ?? 1, length: 1 };
  postings.put(id, {
    ...{ createdAtMs, terms, turn: isSpeech ? turn : undefined },
    signs: { ...detectSigns(""), isQuestion },
  });
}

/**
 * Weights with which turns score nothing, but the words of neighbours count.
 */
const TURNS: TurnWeights = {
  speakers: [],
  speakerWeight: 0,
  timeWeight: 0,
  numberWeight: 0,
  placeWeight: 0,
  questionWeight: 0,
  lengthWeight: 0,
  answerWeight: 0,
};

function findIds(
  postings: Postings,
  text: string,
  turns = TURNS,
): readonly string[] {
  const { hits } = postings.search(createWords(text), { limit: 10, turns });
  return hits.map(({ id }) => id);
}

Deno.test("Postings.search() puts the memory with the rarer word first", () => {
  const postings = new Postings();
  put(postings, "1", { text: "tea milk" });
  put(postings, "2", { text: "tea lemon" });
  put(postings, "3", { text: "tea sugar" });
  assertEquals(findIds(postings, "tea lemon"), ["2", "3", "1"]);
  assertEquals(findIds(postings, "coffee"), []);
  assertEquals(
    postings.search(createWords("tea"), { limit: 1 }).hits.length,
    1,
  );
});

Deno.test("Postings.search() leaves out the words that most memories have when it would look at too many places", () => {
  const postings = new Postings();
  for (let id = 1; id <= 20; id++) {
    put(postings, String(id), { text: id <= 3 ? `tea milk w${id}` : "tea" });
  }
  const search = (text: string, maxPostings: number) =>
    postings.search(createWords(text), { limit: 100, maxPostings });
  const whole = search("tea milk w2", 24);
  assertEquals(whole.hits.length, 20);
  const rare = search("tea milk w2", 23);
  assertEquals(rare.hits.map(({ id }) => id), ["2", "3", "1"]);
  assertEquals(rare, search("milk w2", 1_000));
  assertEquals(search("tea milk w2", 3).hits.map(({ id }) => id), ["2"]);
  // A single word is searched, however many memories have it.
  assertEquals(search("tea", 1).hits.length, 20);
});

Deno.test("Postings.search() gives the score of BM25 where there are no neighbours", () => {
  const postings = new Postings();
  put(postings, "1", { text: "tea tea milk" });
  put(postings, "2", { text: "lemon" });
  const { hits: [hit], ideal } = postings.search(createWords("tea"), {
    limit: 10,
  });
  const rarity = Math.log(1 + 1.5 / 1.5);
  const fit = 2 * 1.9 / (2 + 0.9 * (0.6 + 0.4 * 3 / 2));
  assertAlmostEquals(hit?.words ?? 0, rarity * fit, 1e-6);
  assertAlmostEquals(ideal, rarity, 1e-6);
});

Deno.test("Postings.search() takes a word's terms for one, and an unknown word into the ideal", () => {
  const postings = new Postings();
  put(postings, "1", { text: "wohnung hell" });
  put(postings, "2", { text: "wohnungen alt" });
  put(postings, "3", { text: "haus alt" });
  const { hits } = postings.search([{ terms: ["wohnung", "wohnungen"] }], {
    limit: 10,
  });
  assertEquals(hits.map(({ id }) => id).sort(), ["1", "2"]);
  assertAlmostEquals(hits[0]?.words ?? 0, hits[1]?.words ?? 1, 1e-9);
  const unknown = postings.search(createWords("brot"), { limit: 10 });
  assertEquals(unknown.hits, []);
  assertAlmostEquals(unknown.ideal, Math.log(1 + 3.5 / 0.5), 1e-9);
});

Deno.test("Postings.search() gives what is accepted, and what is asked for besides", () => {
  const postings = new Postings();
  for (const id of ["1", "2", "3", "4"]) put(postings, id, { text: "tea" });
  put(postings, "5", { text: "milk" });
  const { hits } = postings.search(createWords("tea"), {
    limit: 1,
    accepts: (id) => id !== "4",
    also: ["1", "5", "gone"],
  });
  assertEquals(hits.map(({ id }) => id), ["3", "1", "5"]);
  assertEquals(hits.at(-1)?.words, 0);
});

Deno.test("Postings.search() finds the neighbours of what was said, and of nothing else", () => {
  for (const isSpeech of [true, false]) {
    const postings = new Postings();
    put(postings, "1", { text: "where is home", isSpeech });
    put(postings, "2", { text: "in oslo", isSpeech });
    put(postings, "3", { text: "a note" });
    put(postings, "4", { text: "fine", isSpeech });
    assertEquals(findIds(postings, "home"), isSpeech ? ["1", "2"] : ["1"]);
  }
});

Deno.test("Postings.search() reaches past all messages that somebody writes in a row", () => {
  const postings = new Postings();
  ["where is the key", "anybody", "under the mat", "as always", "ok"].forEach(
    (text, at) =>
      put(postings, `${at}`, {
        ...{ text, isSpeech: true },
        speaker: [1, 1, 2, 2, 1][at] ?? 0,
      }),
  );
  const { hits } = postings.search(createWords("key"), {
    limit: 9,
    turns: TURNS,
  });
  const scores = new Map(hits.map(({ id, words }) => [id, words]));
  const getScore = (id: string) => scores.get(id) ?? 0;
  assertEquals(scores.size, 5);
  // The first answer and the second are one change of the speaker away.
  assertAlmostEquals(getScore("2"), getScore("3"), 0.2);
  assert(getScore("3") > getScore("4"));
});

Deno.test("Postings.search() tells what the question said before scores, by its own words", () => {
  const postings = new Postings();
  const isSpeech = true;
  put(postings, "1", { text: "where is home", isSpeech, isQuestion: true });
  put(postings, "2", { text: "i moved", isSpeech });
  put(postings, "3", { text: "in oslo", isSpeech, speaker: 2 });
  put(postings, "4", { text: "home is fine", isSpeech, speaker: 2 });
  const { hits } = postings.search(createWords("home"), {
    limit: 10,
    turns: { ...TURNS, answerWeight: 1 },
  });
  const asked = new Map(hits.map(({ id, turn }) => [id, turn?.answer]));
  // Who asks does not answer, and an answer may come after one more message.
  assert((asked.get("3") ?? 0) > 0);
  assertEquals([asked.get("1"), asked.get("2"), asked.get("4")], [0, 0, 0]);
});

Deno.test("Postings.search() adds what turns weigh, and puts memories in the order of the sums", () => {
  const postings = new Postings();
  const terms = new Map([["tea", 1]]);
  const memory = {
    terms,
    turn: { speaker: 1, length: 1 },
    signs: detectSigns(""),
  };
  const signed = (signs: Partial<Signs>) => ({
    ...memory,
    signs: { ...memory.signs, ...signs },
  });
  const memories = [
    memory,
    { ...memory, turn: { speaker: 2, length: 1 } },
    signed({ tellsTime: true }),
    signed({ isQuestion: true }),
    { ...memory, turn: { speaker: 1, length: 6 } },
    { ...memory, turn: undefined },
    signed({ tellsNumber: true }),
    signed({ tellsPlace: true }),
  ];
  memories.forEach((one, at) =>
    postings.put(`${at}`, { createdAtMs: at, ...one })
  );
  const first = (weights: Partial<TurnWeights>) =>
    findIds(postings, "tea", { ...TURNS, ...weights })[0];
  assertEquals(first({ speakers: [2], speakerWeight: 3 }), "1");
  assertEquals(first({ timeWeight: 3 }), "2");
  assertEquals(first({ questionWeight: 3 }), "3");
  assertEquals(first({ lengthWeight: 3 }), "4");
  assertEquals(first({ numberWeight: 3 }), "6");
  assertEquals(first({ placeWeight: 3 }), "7");
  postings.remove("4");
  assert(first({ lengthWeight: 3 }) !== "4");
});

Deno.test("Postings scores the same however it came to its memories", async () => {
  const ALL = { ...TURNS, lengthWeight: 1, answerWeight: 1 };
  await eachRound({ rounds: 4, seed: 7 }, ({ random }) => {
    const changed = new Postings();
    const kept = new Map<string, Put>();
    for (let step = 0; step < 1_000; step++) {
      const id = `${random.below(200)}`;
      if (random.below(3) === 0) {
        assertEquals(changed.remove(id), kept.delete(id));
      } else {
        const words = Array.from(
          { length: 1 + random.below(6) },
          () => `w${random.below(30)}`,
        );
        const memory = {
          text: words.join(" "),
          isSpeech: random.below(4) > 0,
          isQuestion: random.below(3) === 0,
          speaker: 1 + random.below(3),
          createdAtMs: random.below(50),
        };
        put(changed, id, memory);
        kept.set(id, memory);
      }
      if (step % 250 !== 0) continue;
      const fresh = new Postings();
      for (const [key, memory] of kept) put(fresh, key, memory);
      const listScores = (one: Postings) =>
        one.search(createWords("w1 w2 w3"), { limit: 1_000, turns: ALL }).hits
          .map(({ id, words, turn }) =>
            `${id} ${words.toFixed(4)} ${turn?.answer.toFixed(4)} ` +
            `${turn?.length.toFixed(4)}`
          ).sort();
      assertEquals(changed.size, kept.size);
      assertEquals(listScores(changed), listScores(fresh));
      for (const [key, { text }] of kept) {
        assert(changed.has(key, [text.split(" ")[0] ?? ""]));
      }
    }
  });
});

Deno.test("Postings gives back what is removed", () => {
  const postings = new Postings();
  for (let at = 0; at < 2_000; at++) {
    const text = Array.from({ length: 16 }, (_, n) => `w${(at * n) % 500}`);
    put(postings, `${at}`, { text: [...new Set(text)].join(" ") });
  }
  const full = postings.bytes;
  for (let at = 0; at < 2_000; at++) postings.remove(`${at}`);
  assertEquals(postings.size, 0);
  assert(postings.bytes < full / 10, `${full} ${postings.bytes}`);
  put(postings, "1", { text: "tea" });
  postings.clear();
  assertEquals([...postings.terms()], []);
  put(postings, "2", { text: "tea" });
  assertEquals(findIds(postings, "tea"), ["2"]);
});

Deno.test("Postings.search() gives the same first memories at each limit", () => {
  const postings = new Postings();
  for (let at = 0; at < 1_000; at++) {
    put(postings, `${at}`, { text: `tea ${"milk ".repeat(at * 7 % 13)}end` });
  }
  const search = (limit: number) =>
    postings.search(createWords("tea milk"), { limit }).hits;
  const all = search(1_000);
  assertEquals(all.length, 1_000);
  all.slice(1).forEach(({ words }, at) =>
    assert(words <= (all[at]?.words ?? 0))
  );
  for (const limit of [0, 1, 5, 20, 100]) {
    assertEquals(search(limit), all.slice(0, limit));
  }
});
