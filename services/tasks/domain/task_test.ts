import { assertEquals } from "@std/assert";
import { BLANK_DEFINITION, BLANK_TASK, pickDefinition } from "./task.ts";

Deno.test("pickDefinition() takes what the owner decides from a task, and nothing else", () => {
  const task = { ...BLANK_TASK, job: "mail", key: "k", tags: ["t"] };
  assertEquals(pickDefinition(task), {
    ...BLANK_DEFINITION,
    job: "mail",
    key: "k",
    tags: ["t"],
  });
});
