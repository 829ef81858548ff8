import { assertEquals } from "@std/assert";
import { findClauseSubjects } from "./clause_subjects.ts";

Deno.test("findClauseSubjects() finds sentences whose subject is a clause", () => {
  for (
    const sentence of [
      "What is long is parsed in slices.",
      "Who makes a worker that is called needs a scope.",
      "What was accepted is stored:",
      "Whether the public may sign up is a setting that the handler checks.",
      "What repeats takes no date.",
    ]
  ) assertEquals(findClauseSubjects(sentence), [sentence]);
});

Deno.test("findClauseSubjects() leaves questions, phrases and named subjects alone", () => {
  for (
    const sentence of [
      "What is it, and who has it?",
      "What a caller may do.",
      "How long a call may take, the retries included.",
      "Whether writes reach the disk now, as far as is known.",
      "What the service gets from the process it runs in.",
      "Long bodies are parsed in slices.",
      "What happens to a hit when the store is full.",
    ]
  ) assertEquals(findClauseSubjects(sentence), []);
});

Deno.test("findClauseSubjects() reads cells of tables and items of lists on their own", () => {
  const text =
    "| what | is it |\n| --- | --- |\n\n- what it is\n- is left\n\n" +
    "Before. What is\nleft is kept. After.";
  assertEquals(findClauseSubjects(text), ["What is left is kept."]);
});
