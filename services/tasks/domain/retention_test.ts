import { assertEquals } from "@std/assert";
import { readWhole } from "../../shared/schema/schema.ts";
import {
  keptUntilMs,
  RETAIN,
  retentionFault,
  showRetain,
} from "./retention.ts";
import { definitionWith, TaskStory } from "./testing/task_story.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

Deno.test("keptUntilMs() counts from the end, a minute at the least and the plan's time at the most", () => {
  const retain = { succeededMs: HOUR_MS, failedMs: 2 * HOUR_MS };
  const until = (
    status: "complete" | "failed" | "canceled" | "expired",
    rules: Parameters<typeof keptUntilMs>[2],
  ) => keptUntilMs({ status, calls: undefined }, 1_000, rules);
  assertEquals(until("complete", { retain }), 1_000 + HOUR_MS);
  for (const status of ["failed", "canceled", "expired"] as const) {
    assertEquals(until(status, { retain }), 1_000 + 2 * HOUR_MS, status);
  }
  assertEquals(until("complete", { retain, retentionMs: 5_000 }), 6_000);
  assertEquals(until("complete", { retain: { succeededMs: 0 } }), 61_000);
  assertEquals(until("failed", { retain: { succeededMs: 0 } }), undefined);
  assertEquals(until("failed", { retentionMs: 7 }), 1_007);
  assertEquals(until("complete", {}), undefined);
});

Deno.test("RETAIN reads durations and shows them again", () => {
  const read = (body: unknown) => readWhole(RETAIN, body);
  assertEquals(read({ succeeded: "P1D", failed: { hours: 1 } }), {
    kind: "ok",
    value: { succeededMs: DAY_MS, failedMs: HOUR_MS },
  });
  assertEquals(read({ succeeded: "60s", failed: null }), {
    kind: "ok",
    value: { succeededMs: 60_000 },
  });
  assertEquals(read({ succeeded: 60 }).kind, "invalid");
  assertEquals(read({ complete: "P1D" }).kind, "invalid");
  assertEquals(showRetain({ succeededMs: DAY_MS }), {
    succeeded: "PT24H",
    failed: undefined,
  });
  assertEquals(showRetain(undefined), null);
});

Deno.test("retentionFault() tells a time that the plan does not keep", () => {
  const fault = (retain: Parameters<typeof retentionFault>[0]) =>
    retentionFault(retain, DAY_MS)?.pointer;
  assertEquals(fault({ succeededMs: DAY_MS, failedMs: DAY_MS }), undefined);
  assertEquals(fault({ succeededMs: DAY_MS + 1 }), "/succeeded");
  assertEquals(fault({ failedMs: DAY_MS + 1 }), "/failed");
  assertEquals(retentionFault({ failedMs: DAY_MS }, null), undefined);
});

Deno.test("a task is kept as it says itself, then as its job, its worker and the plan say", () => {
  const levels = {
    task: { succeededMs: HOUR_MS },
    job: { succeededMs: 2 * HOUR_MS, failedMs: 3 * HOUR_MS },
    worker: { failedMs: 4 * HOUR_MS },
  };
  const keptHours = (
    names: readonly (keyof typeof levels)[],
    end: "succeeds" | "fails",
  ): number => {
    const has = (name: keyof typeof levels) =>
      names.includes(name) ? levels[name] : undefined;
    const story = new TaskStory({
      definition: { retry: null, retain: has("task"), job: "mail" },
      retentionMs: 9 * HOUR_MS,
    });
    story.worker = {
      ...story.worker,
      jobs: { mail: { retain: has("job") } },
      retain: has("worker"),
    };
    story[end]();
    const { purgeAtMs = 0, finishedAtMs = 0 } = story.task;
    return (purgeAtMs - finishedAtMs) / HOUR_MS;
  };
  assertEquals(keptHours(["task", "job", "worker"], "succeeds"), 1);
  assertEquals(keptHours(["job", "worker"], "succeeds"), 2);
  assertEquals(keptHours(["worker"], "succeeds"), 9);
  assertEquals(keptHours(["task", "job", "worker"], "fails"), 3);
  assertEquals(keptHours(["task", "worker"], "fails"), 4);
  assertEquals(keptHours(["task"], "fails"), 9);
});

Deno.test("update() of an ended task changes how long it is kept, counted from its end", () => {
  const story = new TaskStory({ retentionMs: 9 * HOUR_MS });
  story.succeeds();
  story.nowMs += 1_000;
  const { finishedAtMs = 0, version } = story.task;
  story.happens({
    kind: "update",
    definition: definitionWith({ retain: { succeededMs: HOUR_MS } }),
    changes: [{ field: "retain", from: null, to: { succeeded: "PT1H" } }],
  });
  const { status, purgeAtMs } = story.task;
  assertEquals(
    [status, purgeAtMs, story.task.version],
    ["complete", finishedAtMs + HOUR_MS, version + 1],
  );
});
