import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import { runWithin } from "./deadline.ts";

function never(): Promise<never> {
  return new Promise(() => {});
}

Deno.test("runWithin() settles as the work does and leaves no timer", async () => {
  const clock = new FakeClock();
  const deadline = { clock, timeoutMs: 5, error: () => new Error("late") };
  const limits = { signals: [new AbortController().signal], deadline };
  assertEquals(await runWithin(() => Promise.resolve(7), limits), 7);
  const reason = new Error("broken");
  await assertRejects(() => runWithin(() => Promise.reject(reason), limits));
  await assertRejects(
    () =>
      runWithin(() => {
        throw reason;
      }, limits),
    Error,
    "broken",
  );
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("runWithin() ends work that does not listen when the deadline passes, and tells it", async () => {
  const clock = new FakeClock();
  const late = new Error("late");
  let seen: AbortSignal | undefined;
  const running = runWithin((signal) => {
    seen = signal;
    return never();
  }, { signals: [], deadline: { clock, timeoutMs: 5, error: () => late } });
  clock.advance(4);
  assertEquals(seen?.aborted, false);
  clock.advance(1);
  await assertRejects(() => running, Error, "late");
  assertStrictEquals(seen?.reason, late);
});

Deno.test("runWithin() sets no timer when the deadline is never", async () => {
  const clock = new FakeClock();
  const controller = new AbortController();
  const running = runWithin(never, {
    signals: [controller.signal],
    deadline: { clock, timeoutMs: Infinity, error: () => new Error("late") },
  });
  assertEquals(clock.pendingTimers, 0);
  controller.abort(new Error("enough"));
  await assertRejects(() => running, Error, "enough");
});

Deno.test("runWithin() does not begin when a signal has aborted", async () => {
  let hasBegun = false;
  await assertRejects(
    () =>
      runWithin(() => {
        hasBegun = true;
        return never();
      }, { signals: [AbortSignal.abort(new Error("enough"))] }),
    Error,
    "enough",
  );
  assertEquals(hasBegun, false);
});
