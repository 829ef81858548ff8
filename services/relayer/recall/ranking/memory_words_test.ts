import { assertEquals } from "@std/assert";
import { eachRound } from "../../../../tests/support/rounds.ts";
import { finish } from "../../concurrency/testing/finish.ts";
import {
  decodeWords,
  encodeWords,
  type MemoryWords,
  memoryWordsSteps,
} from "./memory_words.ts";

function listWords(text: string): MemoryWords {
  return finish(memoryWordsSteps(text));
}

function showTerms(words: MemoryWords | undefined): string {
  return JSON.stringify([...words?.terms ?? []].sort());
}

Deno.test("memoryWordsSteps() tells who speaks and what signs go by", () => {
  const cases: readonly (readonly [string, Partial<MemoryWords>])[] = [
    ["Ann: I left yesterday.", { speaker: "Ann", tellsTime: true }],
    ["8 May, Ann Lee (by phone): Tea?", {
      speaker: "Ann Lee",
      isQuestion: true,
      saidTerms: 1,
    }],
    ["Tom: What is it? (picture: a kite)", { isQuestion: true }],
    ["Anna: Seit Montag bin ich weg.", { language: "de", tellsTime: true }],
    ["todo: buy tea", { speaker: undefined, isQuestion: false }],
    ["Who is it?", { speaker: undefined, isQuestion: true }],
    ["the marsh", { tellsTime: false }],
    ["ann: who is coming", { isQuestion: true, isTalk: true }],
    ["ann: What a day!", { isQuestion: false }],
    ["지아: 언제 와", { isQuestion: true }],
    ["Redis: keeps counters", { speaker: "Redis", isTalk: false }],
    ["I moved here", { isOfSelf: true, tellsChange: true, tellsPlace: true }],
    ["it was 40", { tellsNumber: true, tellsChange: false }],
  ];
  for (const [text, expected] of cases) {
    const words: MemoryWords = listWords(text);
    assertEquals({ ...words, ...expected }, words, text);
  }
});

Deno.test("memoryWordsSteps() knows speakers by the forms that exports of chats have", () => {
  const cases: readonly (readonly [string, string | undefined])[] = [
    ["Ann: Yes", "Ann"],
    ["Dr. Ann Lee: Yes", "Dr. Ann Lee"],
    ["Ann:\nYes", "Ann"],
    ["Ann (10:03): Yes", "Ann"],
    ["Ann Lee [10:03 AM]: Yes", "Ann Lee"],
    ["[12/05/2031, 18:02] Ann: Yes", "Ann"],
    ["[12/05/2031, 18:02:11] Ann Lee: Yes", "Ann Lee"],
    ["12.05.31, 18:02 - Ann: Yes", "Ann"],
    ["5/12/31, 6:02 PM - Ann: Yes", "Ann"],
    ["2031-05-12 18:02 Ann: Yes", "Ann"],
    ["2031-05-12T18:02:11Z Ann: Yes", "Ann"],
    ["2031-05-12T18:02:11+02:00 Ann: Yes", "Ann"],
    ["18:02 Ann: Yes", "Ann"],
    ["(18:02) Ann: Yes", "Ann"],
    ["1:56 pm on 8 May, 2031, Ann: Yes", "Ann"],
    ["8 May 2031, Ann: Yes", "Ann"],
    ["**Ann**: Yes", "Ann"],
    ["**Ann:** Yes", "Ann"],
    ["<ann_2> Yes", "ann_2"],
    ["@ann: Yes", "ann"],
    ["user: Yes", "user"],
    ["ann: Yes", "ann"],
    ["[12/05/2031, 18:02] tom w: Yes", "tom w"],
    ["민지: Yes", "민지"],
    ["User: Yes", "user"],
    ["assistant: Yes", "assistant"],
    ["[2031-05-12] assistant: Yes", "assistant"],
  ];
  for (const [text, speaker] of cases) {
    const words = listWords(text);
    assertEquals([words.speaker, words.saidTerms], [speaker, 1], text);
  }
});

Deno.test("memoryWordsSteps() takes for no speaker what only looks like one", () => {
  const texts = [
    "Note: the shop is shut",
    "Preference: window seats",
    "Aufgabe: Milch kaufen",
    "TCK-1041: it fails",
    "todo: buy tea",
    "12:30 lunch with Ann",
    "3. Januar: es schneit",
    "3 January: it snows",
    "Montag: es regnet",
    "Meeting at 18:02",
    "https://ann.example: yes",
    "We said it to Ann: yes",
    "<b>bold</b> text",
    "12 : 30",
    ": yes",
    "",
  ];
  for (const text of texts) {
    assertEquals(listWords(text).speaker, undefined, text);
  }
  // No pattern takes long on a repeated part.
  for (const part of ["[", "(", "1 ", "<", "**", "@a", "A ", ",", "1:"]) {
    assertEquals(listWords(part.repeat(100_000)).speaker, undefined, part);
  }
});

Deno.test("decodeWords() gives back what was encoded", async () => {
  for (
    const text of [
      "",
      "Ann: Where is the key to v2.3.1?",
      "日本 привет ünïcödé\nline",
      "tea ".repeat(1_000),
      // More terms than are kept, in letters of one, two and three bytes.
      ...["w", "ж", "語"].map((letter) =>
        Array.from({ length: 40_000 }, (_, at) => `${letter}${at}`).join(" ")
      ),
    ]
  ) {
    const words = listWords(text);
    const decoded = decodeWords(encodeWords(words));
    assertEquals({ ...decoded, terms: [] }, { ...words, terms: [] });
    // As text, since comparing 40,000 terms takes seconds.
    assertEquals(showTerms(decoded), showTerms(words));
  }
  const bytes = encodeWords(listWords("Ann: Where is the key?"));
  await eachRound({ rounds: 200, seed: 5 }, ({ random }) => {
    const cut = bytes.slice(0, random.below(bytes.length + 1));
    if (cut.length > 0) cut[random.below(cut.length)] = random.below(256);
    // The result does not matter, only that decoding ends without an error.
    decodeWords(cut);
  });
});

Deno.test("decodeWords() refuses another version", () => {
  const bytes = encodeWords(listWords("tea"));
  bytes[0] = 0;
  assertEquals(decodeWords(bytes), undefined);
  assertEquals(decodeWords(new Uint8Array()), undefined);
});
