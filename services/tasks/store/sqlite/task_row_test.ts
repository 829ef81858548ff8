import { assertEquals, assertThrows } from "@std/assert";
import { isFinal, TASK_STATUSES } from "../../domain/task.ts";
import {
  PayloadCache,
  RUNNING_CODE,
  statusCode,
  statusOf,
} from "./task_row.ts";

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

Deno.test("PayloadCache keeps what was used last within its bound", () => {
  const cache = new PayloadCache(10);
  cache.set("data", "a", { version: 1, text: "aaaa" });
  cache.set("data", "b", { version: 1, text: "bbbb" });
  assertEquals(cache.get("data", "a")?.text, "aaaa");
  cache.set("result", "a", { version: 2, text: "cccc" });
  assertEquals(cache.get("data", "b"), undefined);
  assertEquals(cache.get("data", "a")?.text, "aaaa");
  assertEquals(cache.get("result", "a"), { version: 2, text: "cccc" });
});

Deno.test("PayloadCache counts what is replaced and deleted", () => {
  const cache = new PayloadCache(10);
  for (let at = 1; at < 100; at++) {
    cache.set("data", "a", { version: at, text: "x".repeat(at % 10) });
    cache.delete("data", "missing");
  }
  cache.delete("data", "a");
  assertEquals(cache.get("data", "a"), undefined);
  cache.set("data", "b", { version: 1, text: "bbbbb" });
  cache.set("data", "c", { version: 1, text: "ccccc" });
  assertEquals(cache.get("data", "b")?.text, "bbbbb");
  assertEquals(cache.get("data", "c")?.text, "ccccc");
});

Deno.test("PayloadCache leaves out what is larger than itself", () => {
  const cache = new PayloadCache(3);
  cache.set("data", "a", { version: 1, text: "aaa" });
  cache.set("data", "a", { version: 2, text: "aaaa" });
  assertEquals(cache.get("data", "a"), undefined);
});
