import { assertEquals, assertThrows } from "@std/assert";
import { isFinal, TASK_STATUSES } from "../../domain/task.ts";
import { RUNNING_CODE, statusCode, statusOf } from "./status_code.ts";

Deno.test("statusCode() keeps the numbers that files hold", () => {
  assertEquals(
    Object.fromEntries(TASK_STATUSES.map((one) => [one, statusCode(one)])),
    {
      scheduled: 0,
      blocked: 1,
      waiting: 2,
      running: 3,
      retry: 4,
      done: 5,
      paused: 6,
      complete: 7,
      failed: 8,
      canceled: 9,
      expired: 10,
    },
  );
  assertEquals(statusCode("running"), RUNNING_CODE);
});

Deno.test("statusCode() numbers final statuses from 7 on, as the indexes say", () => {
  for (const status of TASK_STATUSES) {
    assertEquals(statusCode(status) >= 7, isFinal(status), status);
    assertEquals(statusOf(statusCode(status)), status);
  }
  assertThrows(() => statusOf(11), TypeError);
});
