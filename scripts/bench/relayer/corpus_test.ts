import { assert, assertEquals, assertThrows } from "@std/assert";
import { parseConversations, readOwnSet } from "./corpus.ts";

const FILE = [{
  sample_id: "conv-1",
  conversation: {
    speaker_a: "Mia",
    session_10_date_time: "9 May 2031",
    session_10: [{ speaker: "Tom", dia_id: "D10:1", text: "Later." }],
    session_2_date_time: "1 May 2031",
    session_2: [
      { speaker: "Mia", dia_id: "D2:1", text: "Look!", blip_caption: "a kite" },
      { speaker: "Tom", text: "This one has no id." },
    ],
    session_3_date_time: "a session that was never held",
  },
  qa: [
    { question: "What flew?", category: 4, evidence: ["D2:1"] },
    { question: "Both?", category: 1, evidence: ["D2:1; D10:1", "D2:1"] },
    { question: "Nowhere to be found?", category: 1, evidence: ["D9:9"] },
    { question: "No evidence?", category: 5, evidence: [] },
    { question: "Not even a list?", category: 5 },
  ],
}];

Deno.test("parseConversations() makes a memory of each turn, a question of each with evidence", () => {
  assertEquals(parseConversations(JSON.stringify(FILE)), [{
    name: "conv-1",
    memories: [
      { id: "D2:1", text: "1 May 2031, Mia: Look! (picture: a kite)" },
      { id: "D10:1", text: "9 May 2031, Tom: Later." },
    ],
    questions: [
      { text: "What flew?", category: "4", gold: ["D2:1"] },
      { text: "Both?", category: "1", gold: ["D2:1", "D10:1"] },
    ],
  }]);
});

Deno.test("parseConversations() says what is wrong with a file of another form", () => {
  assertThrows(() => parseConversations("{}"), TypeError, "it is not a list");
  assertThrows(
    () => parseConversations('[{"conversation": {}}]'),
    TypeError,
    "entry 1",
  );
  assertThrows(() => parseConversations("no JSON"), SyntaxError);
});

Deno.test("readOwnSet() has an answer for each question, and no text twice in notes", async () => {
  for (const set of ["notes", "chats", "changes"] as const) {
    for (const { name, memories, questions } of await readOwnSet(set)) {
      const ids = new Set(memories.map(({ id }) => id));
      const texts = new Set(memories.map(({ text }) => text));
      assertEquals(ids.size, memories.length, name);
      if (set === "notes") assertEquals(texts.size, ids.size, name);
      for (const { text, gold } of questions) {
        assert(gold.length > 0 && gold.every((id) => ids.has(id)), text);
      }
    }
  }
});
