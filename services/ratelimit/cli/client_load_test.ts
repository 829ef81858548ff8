import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import type { CallOutcome } from "./client_load.ts";
import { runLoad } from "./client_load.ts";

const OK: CallOutcome = { kind: "answered", name: "OK", isOver: false };

interface World {
  readonly out: string[];
  readonly progress: string[];
  readonly clock: FakeClock;
  /** Sends SIGINT. */
  interrupt(): void;
  load(
    plan: {
      readonly call: () => Promise<CallOutcome>;
      readonly repeat: number;
      readonly concurrency: number;
    },
  ): Promise<number>;
}

function makeWorld(): World {
  const out: string[] = [];
  const progress: string[] = [];
  const clock = new FakeClock(0);
  const listeners = new Set<() => void>();
  return {
    out,
    progress,
    clock,
    interrupt() {
      for (const listener of [...listeners]) listener();
    },
    async load(plan) {
      const code = await runLoad({
        ...plan,
        json: true,
        io: {
          out: (text) => void out.push(text),
          err: () => {},
          progress: (text) => void progress.push(text),
        },
        clock,
        signals: {
          listen(_signal, callback) {
            listeners.add(callback);
            return () => void listeners.delete(callback);
          },
        },
      });
      assertEquals(listeners.size, 0);
      return code;
    },
  };
}

Deno.test("runLoad() keeps as many calls running as it is told, and no more", async () => {
  const { load } = makeWorld();
  let running = 0;
  let most = 0;
  let made = 0;
  const code = await load({
    repeat: 100,
    concurrency: 7,
    async call() {
      made++;
      most = Math.max(most, ++running);
      await Promise.resolve();
      running--;
      return OK;
    },
  });
  assertEquals([code, made, most], [0, 100, 7]);
});

Deno.test("runLoad() tells the durations of answers to one percent", async () => {
  const { load, clock, out } = makeWorld();
  let calls = 0;
  await load({
    repeat: 1_000,
    concurrency: 1,
    call() {
      clock.advance(++calls);
      return Promise.resolve(
        calls % 2 === 0
          ? OK
          : { kind: "failed", name: "UNAVAILABLE", message: "away" },
      );
    },
  });
  const { p50, p99, max } = JSON.parse(out[0]!).latencyMs;
  assert(Math.abs(p50 / 500 - 1) < 0.015, `p50 is ${p50}`);
  assert(Math.abs(p99 / 990 - 1) < 0.015, `p99 is ${p99}`);
  assertEquals(max, 1_000);
});

Deno.test("runLoad() shows how far it is, and clears that before the summary", async () => {
  const { load, clock, progress } = makeWorld();
  await load({
    repeat: 5,
    concurrency: 1,
    call() {
      clock.advance(150);
      return Promise.resolve(OK);
    },
  });
  assertEquals(progress, ["2 of 5 calls", "4 of 5 calls", ""]);
});

Deno.test("runLoad() sums up what was done when SIGINT comes, and waits for nothing", async () => {
  const { load, interrupt, out } = makeWorld();
  let calls = 0;
  const code = await load({
    repeat: 1_000,
    concurrency: 1,
    call() {
      if (++calls <= 3) return Promise.resolve(OK);
      queueMicrotask(interrupt);
      return new Promise(() => {});
    },
  });
  assertEquals(code, 130);
  assertEquals(JSON.parse(out[0]!).codes, { OK: 3 });
});
