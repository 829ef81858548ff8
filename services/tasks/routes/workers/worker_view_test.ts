import { assertEquals } from "@std/assert";
import type { TaskStatus } from "../../domain/task.ts";
import { type WorkerStatus, workerStatus } from "./worker_view.ts";

const NOW_MS = 1_800_000_000_000;

type Counts = Partial<Record<TaskStatus, number>>;

Deno.test("workerStatus() tells a pull worker's life by when it asked for tasks", () => {
  const cases: [number | undefined, Counts, WorkerStatus][] = [
    [undefined, {}, "idle"],
    [undefined, { failed: 3, retry: 1 }, "idle"],
    [undefined, { waiting: 1 }, "stale"],
    [undefined, { running: 1, waiting: 1 }, "active"],
    [0, {}, "active"],
    [59_999, { waiting: 1 }, "active"],
    [60_000, {}, "stale"],
    [60_000, { running: 1 }, "active"],
  ];
  for (const [agoMs, counts, status] of cases) {
    assertEquals(statusOf("pull", { agoMs, counts }), status);
  }
});

Deno.test("workerStatus() tells a push worker's life by its tasks", () => {
  assertEquals(statusOf("push", { counts: {} }), "idle");
  assertEquals(statusOf("push", { counts: { waiting: 1 } }), "active");
  assertEquals(statusOf("push", { counts: { running: 1 } }), "active");
});

Deno.test("workerStatus() is paused whatever the worker does", () => {
  for (const kind of ["pull", "push"] as const) {
    const counts = { running: 1 };
    assertEquals(
      statusOf(kind, { counts, agoMs: 0, isPaused: true }),
      "paused",
    );
  }
});

function statusOf(
  kind: "pull" | "push",
  { agoMs, counts, isPaused = false }: {
    readonly agoMs?: number | undefined;
    readonly counts: Counts;
    readonly isPaused?: boolean;
  },
): WorkerStatus {
  return workerStatus({ kind, isPaused }, {
    counts,
    nowMs: NOW_MS,
    ...(agoMs === undefined ? {} : {
      life: { lastSeenAtMs: NOW_MS - agoMs, instances: new Map() },
    }),
  });
}
