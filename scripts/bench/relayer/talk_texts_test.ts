import { assert, assertEquals } from "@std/assert";
import { talkQuestion, talkText } from "./talk_texts.ts";

const NUMBERS = Array.from({ length: 2_000 }, (_, at) => at);

Deno.test("talkText() gives each number a turn of its own, the same one each time", () => {
  const texts = NUMBERS.map(talkText);
  assertEquals(new Set(texts).size, NUMBERS.length);
  assertEquals(NUMBERS.map(talkText), texts);
  for (const text of texts) {
    assert(/^(?:Annika|Tobias): I(?: [a-z]+){6,30}\.$/.test(text), text);
  }
});

Deno.test("talkText() uses few words often and most words seldom", () => {
  const counts = new Map<string, number>();
  const words = NUMBERS.flatMap((number) =>
    talkText(number).slice("Annika: ".length, -1).split(" ")
  );
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  const sorted = [...counts.values()].sort((one, other) => other - one);
  const [most = 0] = sorted;
  const once = sorted.filter((count) => count <= 2).length;
  assert(most > words.length / 20, `${most} of ${words.length}`);
  assert(once > sorted.length / 2, `${once} of ${sorted.length}`);
});

Deno.test("talkQuestion() asks for words and speaker of its turn", () => {
  for (const number of NUMBERS) {
    const [, , speaker, ...asked] = talkQuestion(number).slice(0, -1)
      .split(" ");
    const text = talkText(number);
    assert(speaker !== undefined && text.startsWith(`${speaker}: `), text);
    assert(asked.length >= 5, talkQuestion(number));
    for (const word of asked) assert(text.includes(word), text);
  }
});
