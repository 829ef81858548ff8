import { assertEquals } from "@std/assert";
import { TASK_STATUSES } from "../../domain/task.ts";
import { statusRequest } from "./revision.ts";

Deno.test("statusRequest() asks for nothing when the status is the same", () => {
  for (const status of TASK_STATUSES) {
    assertEquals(statusRequest({ status }, status), { kind: "nothing" });
  }
});

Deno.test("statusRequest() leaves to the service what is not asked for", () => {
  for (const wanted of TASK_STATUSES) {
    const isAsked = ["canceled", "paused", "waiting"].includes(wanted);
    for (const status of TASK_STATUSES) {
      if (status === wanted) continue;
      const { kind } = statusRequest({ status }, wanted);
      assertEquals([status, wanted, kind === "read_only"], [
        status,
        wanted,
        !isAsked,
      ]);
    }
  }
});

Deno.test("statusRequest() lets a task wait from where that makes sense", () => {
  const wishes = TASK_STATUSES.map((status) => {
    const wish = statusRequest({ status }, "waiting");
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
