import { assertEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import { describeError, settle, waitAtMost } from "./settled.ts";

Deno.test("settle() turns throws and rejections into values", async () => {
  const error = new Error("no");
  const throws = (): never => {
    throw error;
  };
  assertEquals(await settle(() => 1), { kind: "ok", value: 1 });
  assertEquals(await settle(() => Promise.resolve(2)), {
    kind: "ok",
    value: 2,
  });
  assertEquals(await settle(throws), { kind: "failed", error });
  assertEquals(await settle(() => Promise.reject(error)), {
    kind: "failed",
    error,
  });
});

Deno.test("waitAtMost() gives what came in time and leaves no timer", async () => {
  const clock = new FakeClock();
  const options = { clock, timeoutMs: 10 };
  assertEquals(await waitAtMost(Promise.resolve("x"), options), "x");
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("waitAtMost() gives late after the time", async () => {
  const clock = new FakeClock();
  const waiting = waitAtMost(new Promise(() => {}), { clock, timeoutMs: 10 });
  clock.advance(10);
  assertEquals(await waiting, "late");
});

Deno.test("describeError() gives the message, or the value as text", () => {
  assertEquals(describeError(new RangeError("too far")), "too far");
  assertEquals(describeError(new RangeError()), "RangeError");
  assertEquals(describeError("plain"), "plain");
  assertEquals(describeError(undefined), "undefined");
});
