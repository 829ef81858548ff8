import { assertEquals } from "@std/assert";
import { NOON_MS, START, TaskStory } from "../testing/task_story.ts";

function running(bootId?: string): TaskStory {
  const story = new TaskStory();
  story.happens(bootId === undefined ? START : { ...START, bootId });
  return story;
}

Deno.test("heartbeat() extends by the lease's own time or by what is asked for", () => {
  const story = running();
  const { lease } = story;
  story.nowMs += 10_000;
  assertEquals(story.happens({ kind: "heartbeat", lease }), []);
  assertEquals(story.task.attempt?.expiresAtMs, story.nowMs + 30_000);
  story.happens({ kind: "heartbeat", lease, extendMs: 12_000 });
  assertEquals(story.task.attempt?.expiresAtMs, story.nowMs + 12_000);
});

Deno.test("heartbeat() extends never beyond the deadline", () => {
  const story = running();
  const { lease } = story;
  story.happens({ kind: "heartbeat", lease, extendMs: 3_600_000 });
  assertEquals(story.task.attempt?.expiresAtMs, NOON_MS + 60_000);
  story.nowMs += 50_000;
  assertEquals(story.outcome({ kind: "heartbeat", lease }).kind, "unchanged");
});

Deno.test("heartbeat() keeps progress in the history", () => {
  const story = running();
  const [record] = story.happens({
    kind: "heartbeat",
    lease: story.lease,
    progressJson: `{"percent":50}`,
  });
  assertEquals(record?.type, "progress");
  assertEquals(record?.progressJson, `{"percent":50}`);
  assertEquals(story.task.attempt?.progressJson, `{"percent":50}`);
});

Deno.test("heartbeat() leaves the lease of the service's own call", () => {
  const story = running("boot");
  const { lease } = story;
  const expiresAtMs = story.task.attempt?.expiresAtMs;
  assertEquals(story.outcome({ kind: "heartbeat", lease }).kind, "unchanged");
  story.happens({ kind: "heartbeat", lease, progressJson: "1" });
  assertEquals(story.task.attempt?.expiresAtMs, expiresAtMs);
});

Deno.test("heartbeat() and complete() still count when the lease is over and nobody has looked", () => {
  const story = running();
  story.nowMs += 45_000;
  story.happens({ kind: "heartbeat", lease: story.lease, extendMs: 5_000 });
  assertEquals(story.task.attempt?.expiresAtMs, story.nowMs + 5_000);
  story.nowMs += 30_000;
  story.happens({ kind: "complete", lease: story.lease });
  assertEquals(story.task.status, "complete");
});

Deno.test("accept() hands the lease to the worker", () => {
  const story = running("boot");
  story.nowMs += 2_000;
  const [record] = story.happens({
    kind: "accept",
    lease: { id: story.lease.id },
    leaseMs: 20_000,
    http: { status: 202, durationMs: 12 },
  });
  assertEquals(record?.type, "accepted");
  assertEquals(record?.http, { status: 202, durationMs: 12 });
  const { attempt } = story.task;
  assertEquals("bootId" in (attempt ?? {}), false);
  assertEquals(attempt?.expiresAtMs, story.nowMs + 20_000);
  assertEquals(attempt?.deadlineMs, NOON_MS + 60_000);
  story.happens({ kind: "heartbeat", lease: story.lease, progressJson: "1" });
  assertEquals(story.task.attempt?.expiresAtMs, story.nowMs + 20_000);
});

Deno.test("accept() gives no more than the attempt's time, and tells when the lease ends", () => {
  for (
    const [leaseMs, end] of [
      [20_000, "12:00:22.000Z"],
      [
        600_000,
        "12:01:00.000Z, when the attempt times out: sooner than was asked for",
      ],
    ] as const
  ) {
    const story = running("boot");
    story.nowMs += 2_000;
    const lease = { id: story.lease.id };
    const [record] = story.happens({ kind: "accept", lease, leaseMs });
    const [date] = new Date(NOON_MS).toISOString().split("T");
    assertEquals(record?.message, `the lease ends at ${date}T${end}`);
  }
});

Deno.test("log() keeps the lines in one record, and none when there are none", () => {
  const story = running();
  const { lease } = story;
  const [record] = story.happens({ kind: "log", lease, lines: ["a", "b"] });
  assertEquals([record?.type, record?.message], ["log", "a\nb"]);
  assertEquals(
    story.outcome({ kind: "log", lease, lines: [] }).kind,
    "unchanged",
  );
});

Deno.test("release() spends nothing", () => {
  const story = running();
  const [record] = story.happens({
    kind: "release",
    lease: story.lease,
    reason: "shutting down",
  });
  const { task } = story;
  assertEquals([record?.type, record?.message], ["released", "shutting down"]);
  assertEquals([task.status, task.isDue, task.dateMs], [
    "waiting",
    true,
    NOON_MS,
  ]);
  assertEquals([task.executions, task.retries, task.lost], [0, 0, 0]);
  assertEquals(["attempt" in task, "firstTriedAtMs" in task], [false, false]);
  assertEquals(task.settled?.outcome, "released");
});

Deno.test("release() with a delay schedules the task and keeps its slot", () => {
  const story = running();
  story.nowMs += 1_000;
  story.happens({ kind: "release", lease: story.lease, delayMs: 60_000 });
  const { task } = story;
  assertEquals([task.status, task.isDue], ["scheduled", false]);
  assertEquals([task.dateMs, task.slotMs], [NOON_MS + 61_000, NOON_MS]);
});

Deno.test("release() keeps when the run was tried first, if that was another attempt", () => {
  const story = new TaskStory();
  story.fails();
  story.starts();
  story.happens({ kind: "release", lease: story.lease });
  assertEquals([story.task.firstTriedAtMs, story.task.retries], [NOON_MS, 1]);
});

Deno.test("withLease() refuses another lease and another token", () => {
  const story = running();
  const { id } = story.lease;
  for (
    const lease of [
      { id, tokenHash: "other" },
      { id, tokenHash: "" },
      { id: "lse_other", tokenHash: "hash" },
      { id: "lse_other" },
    ]
  ) {
    const outcome = story.outcome({ kind: "complete", lease });
    assertEquals(outcome, {
      kind: "refused",
      code: "lease_gone",
      reason:
        "Cannot complete with this lease: it is not the task's lease, or not any more",
    });
  }
});

Deno.test("withLease() lets no token open a lease that only the service holds", () => {
  const story = new TaskStory();
  story.happens({ ...START, tokenHash: "", bootId: "boot" });
  const { id } = story.lease;
  const lease = { id, tokenHash: "" };
  assertEquals(story.outcome({ kind: "complete", lease }).kind, "refused");
  story.happens({ kind: "complete", lease: { id } });
  assertEquals(story.task.status, "complete");
});

Deno.test("withLease() takes the same outcome twice and refuses another", () => {
  const story = running();
  const { lease } = story;
  story.happens({ kind: "complete", lease });
  assertEquals(story.outcome({ kind: "complete", lease }).kind, "unchanged");
  const failure = { code: "x" };
  assertEquals(
    story.outcome({ kind: "fail", lease, failure, message: "x" }),
    {
      kind: "refused",
      code: "lease_gone",
      reason:
        `Cannot fail with this lease: its attempt has ended as "completed"`,
    },
  );
  assertEquals(story.outcome({ kind: "heartbeat", lease }).kind, "refused");
  const stranger = { id: lease.id, tokenHash: "other" };
  assertEquals(
    story.outcome({ kind: "complete", lease: stranger }).kind,
    "refused",
  );
});

Deno.test("withLease() refuses an attempt that was lost when the next one runs", () => {
  const story = running();
  const { lease } = story;
  story.happens({ kind: "lose", lease, reason: "gone" });
  story.happens(START);
  assertEquals(story.outcome({ kind: "complete", lease }).kind, "refused");
  assertEquals(
    story.outcome({ kind: "complete", lease: story.lease }).kind,
    "changed",
  );
});
