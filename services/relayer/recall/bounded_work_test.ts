import { assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { boundedWork } from "./bounded_work.ts";

Deno.test("boundedWork() gives the result and leaves nothing behind", async () => {
  const clock = new FakeClock();
  const { signal } = new AbortController();
  const outcome = await boundedWork({
    clock,
    timeoutMs: 10,
    signal,
    run: () => Promise.resolve("x"),
  });
  assertEquals(outcome, { kind: "done", result: "x" });
  assertEquals(clock.pendingTimers, 0);
});

Deno.test("boundedWork() does not wait for work that does not listen", async () => {
  const clock = new FakeClock();
  const never = new Promise<string>(() => {});
  let isAborted = false;
  const late = boundedWork({
    clock,
    timeoutMs: 10,
    run: (signal) => {
      signal.addEventListener("abort", () => isAborted = true);
      return never;
    },
  });
  clock.advance(10);
  assertEquals(await late, { kind: "late" });
  assertEquals(isAborted, true);
  const controller = new AbortController();
  const ended = boundedWork({
    clock,
    signal: controller.signal,
    run: () => never,
  });
  controller.abort();
  assertEquals(await ended, { kind: "ended" });
});

Deno.test("boundedWork() does not begin for nobody", async () => {
  let hasBegun = false;
  const outcome = await boundedWork({
    clock: new FakeClock(),
    signal: AbortSignal.abort(),
    run: () => {
      hasBegun = true;
      return Promise.resolve();
    },
  });
  assertEquals([outcome, hasBegun], [{ kind: "ended" }, false]);
});

Deno.test("boundedWork() passes on what the work throws, in time only", async () => {
  const clock = new FakeClock();
  const failing = () => Promise.reject(new RangeError("no"));
  await assertRejects(
    () => boundedWork({ clock, timeoutMs: 10, run: failing }),
    RangeError,
  );
  assertEquals(clock.pendingTimers, 0);
  const late = boundedWork({
    clock,
    timeoutMs: 10,
    run: async (signal) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      throw new RangeError("too late to be heard");
    },
  });
  clock.advance(10);
  assertEquals(await late, { kind: "late" });
});
