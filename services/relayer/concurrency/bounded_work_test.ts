import { assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import type { Pausing } from "../../shared/slices.ts";
import {
  boundedWork,
  finishInSlices,
  pooled,
  type Steps,
} from "./bounded_work.ts";
import { finish } from "./testing/finish.ts";

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

Deno.test("pooled() keeps the order and the bound", async () => {
  const { signal } = new AbortController();
  let atOnce = 0;
  let most = 0;
  const items = Array.from({ length: 20 }, (_, at) => at);
  const results = await pooled(items, {
    parallel: 3,
    signal,
    work: async (item) => {
      most = Math.max(most, ++atOnce);
      for (let turn = 20 - item; turn > 0; turn--) await Promise.resolve();
      atOnce--;
      return item * 2;
    },
  });
  assertEquals(results, items.map((item) => item * 2));
  assertEquals(most, 3);
  assertEquals(await pooled([], { parallel: 3, signal, work: fail }), []);
});

Deno.test("pooled() begins nothing after a failure or its signal", async () => {
  const controller = new AbortController();
  const begun: number[] = [];
  await assertRejects(() =>
    pooled([1, 2, 3, 4], {
      parallel: 1,
      signal: controller.signal,
      work: (item) => {
        begun.push(item);
        return item === 2 ? fail() : Promise.resolve();
      },
    }), RangeError);
  assertEquals(begun, [1, 2]);
  await assertRejects(() =>
    pooled([5, 6, 7], {
      parallel: 1,
      signal: controller.signal,
      work: (item) => {
        begun.push(item);
        controller.abort();
        return Promise.resolve();
      },
    }), DOMException);
  assertEquals(begun, [1, 2, 5]);
});

function fail(): Promise<never> {
  return Promise.reject(new RangeError("no"));
}

function* counting(to: number): Steps<number> {
  for (let at = 0; at < to; at++) yield;
  return to;
}

Deno.test("finishInSlices() asks after each step and waits when it is told to", async () => {
  let asked = 0;
  let waited = 0;
  const pausing: Pausing = {
    pause() {
      if (++asked % 3 !== 0) return undefined;
      return Promise.resolve().then(() => void waited++);
    },
  };
  assertEquals(await finishInSlices(counting(10), { pausing }), 10);
  assertEquals([asked, waited], [10, 3]);
  assertEquals(finish(counting(10)), 10);
});

Deno.test("finishInSlices() ends with its signal after a wait", async () => {
  const ending = new AbortController();
  let asked = 0;
  const pausing: Pausing = {
    pause() {
      if (++asked === 2) ending.abort(new RangeError("over"));
      return Promise.resolve();
    },
  };
  await assertRejects(
    () => finishInSlices(counting(10), { pausing, signal: ending.signal }),
    RangeError,
    "over",
  );
  assertEquals(asked, 2);
});
