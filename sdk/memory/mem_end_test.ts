import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import type { MemFetch } from "./round_trip.ts";
import { MemDestroyedError } from "./errors.ts";
import { Mem } from "./mem.ts";
import { ALL_CALLS } from "./testing/all_calls.ts";
import { StubRelayer } from "./testing/stub_relayer.ts";

const JOB = { job_id: "j1", status: "running" };

/** A relayer whose jobs never end. */
function busyRelayer(): StubRelayer {
  const jobs = { job_ids: ["j1", "j2"], status: "running" };
  return new StubRelayer()
    .on("POST /api/remember", { status: 202, json: JOB })
    .on("GET /api/remember/j1", { json: JOB })
    .on("POST /api/remember/bulk", { json: { ...jobs, total: 2 } })
    .on("POST /api/remember/bulk/status", {
      json: { results: [JOB, { ...JOB, job_id: "j2" }] },
    })
    .on("POST /api/analyze", {
      json: { ...jobs, facts: [], fact_count: 2, owner: "0x1" },
    })
    .on("GET /api/whoami", {
      json: { account_id: "0xa", owner: "0x1", package_id: "0x2" },
    });
}

interface Ended {
  readonly outcome: string;
  readonly timers: number;
  readonly unhandled: readonly string[];
}

/** Destroys a client while request number `at` is pending. */
async function endAt(
  at: number,
  { call, late }: {
    readonly call: (mem: Mem) => Promise<unknown>;
    /**
     * How a transport that ignores abort signals ends that request afterwards.
     */
    readonly late: "never" | "answer" | "failure";
  },
): Promise<Ended & { readonly isReached: boolean }> {
  const relayer = busyRelayer();
  const clock = new FakeClock();
  const reached = Promise.withResolvers<void>();
  const afterwards = Promise.withResolvers<void>();
  let count = 0;
  const fetch: MemFetch = async (url, init) => {
    if (++count !== at) return await relayer.fetch(url, init);
    reached.resolve();
    await afterwards.promise;
    if (late === "failure") throw new TypeError("connection reset");
    return await relayer.fetch(url, init);
  };
  const mem = Mem.create({
    key: "07".repeat(32),
    accountId: "0xa",
    fetch,
    clock,
  });
  const unhandled: string[] = [];
  const listener = (event: PromiseRejectionEvent): void => {
    event.preventDefault();
    unhandled.push(String(event.reason));
  };
  globalThis.addEventListener("unhandledrejection", listener);
  try {
    const outcome = call(mem).then(
      () => "fulfilled",
      (error) => error instanceof MemDestroyedError ? "ended" : String(error),
    );
    const begun = Promise.race([reached.promise, outcome]);
    await untilIdle(() => clock.pendingTimers > 0, begun);
    const isReached = count >= at;
    mem.destroy();
    if (late !== "never") afterwards.resolve();
    const ended = await outcome;
    await nextTask();
    return {
      isReached,
      outcome: ended,
      timers: clock.pendingTimers,
      unhandled,
    };
  } finally {
    globalThis.removeEventListener("unhandledrejection", listener);
  }
}

/**
 * Settles at `end`, or when only a timer is pending, as between two requests
 * for the status.
 */
async function untilIdle(
  hasTimer: () => boolean,
  end: Promise<unknown>,
): Promise<void> {
  let isOver = false;
  end.then(() => isOver = true);
  let quiet = 0;
  for (let turns = 0; quiet < 10 && turns < 1_000; turns++) {
    await nextTask();
    if (isOver) return;
    quiet = hasTimer() ? quiet + 1 : 0;
  }
}

function nextTask(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

for (const late of ["never", "answer", "failure"] as const) {
  Deno.test(`Mem.destroy() ends every call, whichever request is under way and ends late with: ${late}`, async () => {
    for (const [name, call] of ALL_CALLS) {
      for (let at = 1; at <= 4; at++) {
        const end = await endAt(at, { call, late });
        const { isReached, outcome, timers, unhandled } = end;
        assert(isReached || at > 1, `${name} sends nothing`);
        if (!isReached && outcome !== "ended") break;
        assertEquals(
          { name, at, outcome, timers, unhandled },
          { name, at, outcome: "ended", timers: 0, unhandled: [] },
        );
        if (!isReached) break;
      }
    }
  });
}

Deno.test("Mem leaves no timer behind when its calls end by themselves", async () => {
  const clock = new FakeClock();
  const { fetch } = new StubRelayer().on("POST /api/recall", {
    json: { results: [], total: 0 },
  });
  const mem = Mem.create({
    key: "07".repeat(32),
    accountId: "0xa",
    fetch,
    clock,
  });
  await mem.recall("q");
  await mem.stats().catch(() => {});
  assertEquals(clock.pendingTimers, 0);
  mem.destroy();
});
