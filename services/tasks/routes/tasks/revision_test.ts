import { assertEquals } from "@std/assert";
import { TASK_STATUSES } from "../../domain/task.ts";
import { statusWish } from "./revision.ts";

Deno.test("statusWish() asks for nothing when the status is the same", () => {
  for (const status of TASK_STATUSES) {
    assertEquals(statusWish({ status }, status), { kind: "nothing" });
  }
});

Deno.test("statusWish() leaves to the service what is not asked for", () => {
  for (const wanted of TASK_STATUSES) {
    const isAsked = ["canceled", "paused", "waiting"].includes(wanted);
    for (const status of TASK_STATUSES) {
      if (status === wanted) continue;
      const { kind } = statusWish({ status }, wanted);
      assertEquals([status, wanted, kind === "read_only"], [
        status,
        wanted,
        !isAsked,
      ]);
    }
  }
});

Deno.test("statusWish() lets a task wait from where that makes sense", () => {
  const wishes = TASK_STATUSES.map((status) => {
    const wish = statusWish({ status }, "waiting");
    return [status, wish.kind === "event" ? wish.event.kind : wish.kind];
  });
  assertEquals(wishes, [
    ["scheduled", "wrong_state"],
    ["blocked", "wrong_state"],
    ["waiting", "nothing"],
    ["running", "wrong_state"],
    ["retry", "retry"],
    ["done", "wrong_state"],
    ["paused", "resume"],
    ["complete", "retry"],
    ["failed", "retry"],
    ["canceled", "retry"],
    ["expired", "retry"],
  ]);
});
