import { assert, assertEquals } from "@std/assert";
import {
  EVENT_TYPES,
  eventOfAction,
  eventOfHistory,
  meaningOf,
  selectTypes,
  subjectOf,
} from "./event_types.ts";
import { HISTORY_TYPES } from "./history.ts";

Deno.test("eventOfHistory() tells each end of a run once", () => {
  const ends = ["succeeded", "failed", "timed_out", "retrying", "exhausted"];
  const told = HISTORY_TYPES.filter((type) => ends.includes(type))
    .map((type) => eventOfHistory(type));
  assertEquals(told, [
    "task.succeeded",
    undefined,
    undefined,
    "task.retrying",
    "task.failed",
  ]);
});

Deno.test("eventOfAction() knows actions by name or by what they are about", () => {
  for (
    const [action, type] of [
      ["worker.paused", "worker.paused"],
      ["user.created", "user.changed"],
      ["credential.revoked", "key.changed"],
      ["signing.rotated", "secret.changed"],
      ["tenant.suspended", "account.changed"],
      ["tasks.bulk", undefined],
      ["constructor.x", undefined],
    ] as const
  ) assertEquals(eventOfAction(action), type, action);
});

Deno.test("selectTypes() takes names and beginnings, and nothing unknown", () => {
  assertEquals(selectTypes(["*"])?.size, EVENT_TYPES.length);
  assertEquals(
    selectTypes(["quota.*", "task.failed"]),
    new Set([
      "quota.near",
      "quota.reached",
      "task.failed",
    ]),
  );
  for (const pattern of ["task", "task.", "task.x", "x.*", "", "*.failed"]) {
    assertEquals(selectTypes(["task.failed", pattern]), undefined, pattern);
  }
});

Deno.test("EVENT_TYPES have a meaning, and a subject that fits", () => {
  for (const type of EVENT_TYPES) {
    assert(meaningOf(type).length > 10);
    const isOfTask = type.startsWith("task.") || type.startsWith("calendar.");
    assertEquals(subjectOf(type) === "tasks", isOfTask, type);
  }
});
