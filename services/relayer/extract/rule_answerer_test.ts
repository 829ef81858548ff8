import { assert, assertEquals } from "@std/assert";
import { assertGrowth } from "../../../tests/support/growth.ts";
import { NO_ANSWER, RuleAnswerer } from "./rule_answerer.ts";

const MEMORIES = [
  { text: "Ada lives in Berlin. She has two dogs.", createdAtMs: 0 },
  {
    text: "Carlo: I prefer green tea",
    createdAtMs: Date.UTC(2026, 10, 21, 23),
  },
  { text: "The meeting is on Monday", createdAtMs: 0 },
];

Deno.test("RuleAnswerer.answer() shows the closest sentence and its day", async () => {
  assertEquals(await answerTo("Where does Ada live?"), {
    kind: "ok",
    answer: 'Closest in the memories: "Ada lives in Berlin." (1970-01-01)',
    used: [0],
  });
  assertEquals(await answerTo("which tea does Carlo prefer"), {
    kind: "ok",
    answer: 'Closest in the memories: "I prefer green tea" (2026-11-21)',
    used: [1],
  });
});

Deno.test("RuleAnswerer.answer() shows several when they fit as well", async () => {
  const { answer, used } = await answerTo("dogs, meetings");
  assertEquals(used, [0, 2]);
  assertEquals(
    answer,
    'Closest in the memories: "She has two dogs." (1970-01-01); ' +
      '"The meeting is on Monday" (1970-01-01)',
  );
});

Deno.test("RuleAnswerer.answer() does not know what no memory tells", async () => {
  const none = { kind: "ok", answer: NO_ANSWER, used: [] } as const;
  for (const question of ["Who won the cup?", "who am I?", "", "???"]) {
    assertEquals(await answerTo(question), none);
  }
  const answerer = new RuleAnswerer();
  assertEquals(answerer.name, "rules");
  const outcome = await answerer.answer("Ada?", { memories: [], nowMs: 0 });
  assertEquals(outcome, none);
});

Deno.test("RuleAnswerer.answer() asks for a pause after a few sentences of the memories", async () => {
  const memories = [{ text: "I am Ada. ".repeat(1_600), createdAtMs: 0 }];
  let asks = 0;
  const pausing = { pause: () => void asks++ };
  const options = { memories, nowMs: 0, pausing };
  await new RuleAnswerer().answer("Who is Ada?", options);
  assert(asks >= 3 * 1_600 / 32, `${asks}`);
});

Deno.test("RuleAnswerer.answer() takes no longer for many short sentences and words", async () => {
  const answer = (count: number) => {
    const memories = Array.from({ length: 20 }, (_, at) => ({
      text: `w${at}. `.repeat(count),
      createdAtMs: 0,
    }));
    const question = Array.from({ length: 3 * count }, (_, at) => `w${at}`)
      .join(" ");
    return () => new RuleAnswerer().answer(question, { memories, nowMs: 0 });
  };
  // It would be sixteen times as long if each sentence were compared with each
  // word.
  await assertGrowth({ small: answer(500), large: answer(2_000), atMost: 8 });
});

function answerTo(question: string) {
  return new RuleAnswerer().answer(question, { memories: MEMORIES, nowMs: 0 });
}
