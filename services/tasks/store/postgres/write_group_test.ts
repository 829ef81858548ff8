import { assertEquals } from "@std/assert";
import type { Task } from "../../domain/task.ts";
import type { Write } from "../store.ts";
import {
  change,
  changed,
  creation,
  removal,
  sampleIds,
  sampleTask,
} from "../testing/sample_tasks.ts";
import { KnownTasks } from "./known_tasks.ts";
import { prepareWrite } from "./prepared_write.ts";
import { type Step, toSteps } from "./write_group.ts";

const TENANT = "tnt_a";
const ids = sampleIds();

function task(of: Partial<Task> = {}): Task {
  return sampleTask({
    id: ids.next(),
    createdBy: { type: "key", id: "k" },
    ...of,
  });
}

/** The sizes of the steps; "-" is a write by itself. */
function stepsOf(
  transactions: readonly (readonly Write[])[],
  known = new KnownTasks(),
): readonly (number | "-")[] {
  const prepared = transactions.map((writes) =>
    writes.map((write) => prepareWrite(write, known))
  );
  return toSteps(prepared).map((step) =>
    step.kind === "single" ? "-" : size(step)
  );
}

function size({ writes }: Extract<Step, { kind: "group" }>): number {
  const { creations, updates, moves, removals, answers, usage } = writes;
  return creations.length + updates.length + moves.length + removals.length +
    answers.length + writes.replacingAnswers.length + usage.length +
    writes.required.size + writes.quotas.size;
}

Deno.test("toSteps() puts what does not depend on each other into one statement", () => {
  const [there, gone] = [task(), task()];
  assertEquals(
    stepsOf([
      [require("w"), creation(task())],
      [require("w"), creation(task({ key: "a" }))],
      [change(changed(there, { run: 1 }))],
      [creation(task({ key: "b" })), answer("x"), use()],
    ]),
    [7],
  );
  assertEquals(stepsOf([[removal(gone)], [creation(task())]]), [2]);
});

Deno.test("toSteps() ends a group where a task, a key or an answer comes again", () => {
  const one = task();
  const keyed = task({ key: "k" });
  const ended = changed(keyed, { status: "complete" });
  assertEquals(stepsOf([[creation(one)], [change(changed(one, {}))]]), [1, 1]);
  assertEquals(stepsOf([[creation(one), removal(one)]]), [1, 1]);
  assertEquals(stepsOf([[answer("a")], [answer("a")]]), [1, 1]);
  assertEquals(
    stepsOf([[creation(keyed)], [creation(task({ key: "k" }))]]),
    [1, 1],
  );
  // The key is free only once the task has ended.
  assertEquals(
    stepsOf([[change(ended), creation(task({ key: "k" }))]]),
    [1, 1],
  );
  assertEquals(
    stepsOf([[change(ended), creation(task({ key: "k", workerId: "w" }))]]),
    [2],
  );
  // Which key a removal frees is not known.
  assertEquals(
    stepsOf([[removal(task())], [creation(task({ key: "k" }))]]),
    [1, 1],
  );
});

Deno.test("toSteps() applies by itself what takes another key, and records in their order", () => {
  const known = new KnownTasks();
  const there = task();
  known.note(there);
  const rekeyed = changed(there, { key: "new" });
  assertEquals(
    stepsOf([[creation(task())], [change(rekeyed)], [creation(task())]], known),
    [1, 1, 1],
  );
  const record: Write = {
    kind: "record",
    recordKind: "worker",
    tenantId: TENANT,
    id: "w",
    expectedVersion: 1,
    next: undefined,
  };
  assertEquals(
    stepsOf([[require("w")], [record], [require("w"), creation(task())]]),
    [1, "-", 2],
  );
});

Deno.test("toSteps() sums up the room that a plan must have", () => {
  const quota = (adds: number, limit: number): Write => ({
    kind: "quota",
    tenantId: TENANT,
    adds,
    limit,
  });
  const [step] = toSteps(
    [[quota(1, 9)], [quota(3, 7)]].map((writes) =>
      writes.map((write) => prepareWrite(write, new KnownTasks()))
    ),
  );
  assertEquals(
    step?.kind === "group" ? step.writes.quotas.get(TENANT) : undefined,
    { adds: 4, limit: 7 },
  );
});

function require(id: string): Write {
  return { kind: "require", recordKind: "worker", tenantId: TENANT, id };
}

function use(): Write {
  return { kind: "usage", tenantId: TENANT, period: "p", executions: 1 };
}

function answer(key: string): Write {
  return {
    kind: "idempotency",
    tenantId: TENANT,
    key,
    entry: {
      bodyHash: "h",
      status: 200,
      headers: {},
      body: "",
      expiresAtMs: 1,
    },
  };
}
