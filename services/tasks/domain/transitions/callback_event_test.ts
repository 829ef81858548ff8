import { assertEquals } from "@std/assert";
import { TaskStory } from "../testing/task_story.ts";

Deno.test("callback() keeps what became of the call and leaves the task", () => {
  const story = new TaskStory();
  story.succeeds();
  const { version: _version, updatedAtMs: _updatedAtMs, ...before } =
    story.task;
  const [sent] = story.happens({
    kind: "callback",
    isSent: true,
    message: "the receiver answered 204",
    http: { status: 204, durationMs: 7 },
  });
  assertEquals([sent?.type, sent?.message], [
    "callback_sent",
    "the receiver answered 204",
  ]);
  assertEquals(sent?.http, { status: 204, durationMs: 7 });
  const [failed] = story.happens({
    kind: "callback",
    isSent: false,
    message: "given up",
  });
  assertEquals([failed?.type, "http" in (failed ?? {})], [
    "callback_failed",
    false,
  ]);
  const { version, updatedAtMs: _, ...after } = story.task;
  assertEquals(after, before);
  assertEquals(version, 5);
});
