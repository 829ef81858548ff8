import { assertEquals } from "@std/assert";
import type { Change } from "../changes.ts";
import {
  ALICE,
  BOB,
  SAMPLE_MS,
  sampleJob,
  sampleMemory,
} from "../testing/sample_rows.ts";
import { REMOVAL_ROWS, toSteps } from "./commit_steps.ts";

const memory = (id: string, owner = ALICE): Change => ({
  kind: "new_memory",
  memory: sampleMemory({ id, owner }),
});
const removal: Change = { kind: "remove_memory", owner: ALICE, id: "a" };
const namespace: Change = {
  ...{ kind: "remove_namespace", owner: ALICE, namespace: "n" },
};

Deno.test("toSteps() puts changes together as long as their order has no meaning", () => {
  const nonce: Change = { kind: "nonce", nonce: "n", expiresAtMs: SAMPLE_MS };
  const job: Change = { kind: "new_job", job: sampleJob() };
  const patch: Change = {
    ...{ kind: "job", owner: ALICE, id: "job-1", expectedVersion: 1 },
    patch: {},
  };
  const { steps } = toSteps([
    ...[job, nonce, memory("a"), memory("b"), memory("a", BOB)],
    // The patch depends on the job before it, the nonce on the same one.
    patch,
    { kind: "supersede", owner: ALICE, id: "c", supersededBy: "a" },
    nonce,
    removal,
    memory("a"),
  ]);
  assertEquals(
    steps.map((step) =>
      step.kind === "single" ? step.change.kind : [
        step.changes.jobs.length,
        step.changes.patches.length,
        step.changes.nonces.length,
        step.changes.memories.length,
        step.changes.marks.length,
      ]
    ),
    [
      [1, 0, 1, 3, 0],
      [0, 1, 1, 0, 1],
      "remove_memory",
      [0, 0, 0, 1, 0],
    ],
  );
});

Deno.test("toSteps() numbers the changes of each owner in their order", () => {
  const { owners, steps } = toSteps([
    memory("a"),
    memory("z", BOB),
    memory("b"),
    removal,
    { kind: "begin_snapshot", owner: ALICE, name: "s" },
    memory("c"),
  ]);
  assertEquals(owners, new Map([[ALICE, 4], [BOB, 1]]));
  assertEquals(
    steps.flatMap((step) =>
      step.kind === "single"
        ? [step.back]
        : step.changes.memories.map(({ back }) => back)
    ),
    // The snapshot has all before it, and lacks the last one.
    [3, 0, 2, 1, 1, 0],
  );
});

Deno.test("toSteps() takes as many numbers as a removal of many may need", () => {
  const bite = toSteps([namespace], { isBite: true });
  assertEquals(bite.owners, new Map([[ALICE, REMOVAL_ROWS]]));
  assertEquals(bite.steps.map((step) => step.kind === "single" && step.back), [
    REMOVAL_ROWS,
  ]);
  const { owners } = toSteps([memory("a"), namespace, memory("b")]);
  assertEquals((owners.get(ALICE) ?? 0) > 1_000_000, true);
});
