import { assert, assertEquals } from "@std/assert";
import {
  type Failure,
  nextRetry,
  parseRetryCondition,
  type RetryPolicy,
} from "./retry_policy.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";

type NextRetryOptions = Parameters<typeof nextRetry>[1];

/** The longest wait that a worker may ask for: a day. */
const MAX_RETRY_AFTER_MS = 86_400_000;

const FIXED: RetryPolicy = {
  limit: 2,
  backoff: { kind: "fixed", intervalMs: 10_000 },
  jitter: "none",
};

const FAILED: NextRetryOptions = {
  retries: 0,
  failedAtMs: 1_000_000,
  firstTriedAtMs: 900_000,
  failure: { code: "failed" },
  random: () => 0.5,
};

/** The delay that a policy gives a retry. */
function delayMs(policy: RetryPolicy, retries: number): number {
  const next = nextRetry(policy, { ...FAILED, retries });
  assert(next.kind === "retry");
  return next.atMs - FAILED.failedAtMs;
}

Deno.test("parseRetryCondition() reads statuses, classes and codes", () => {
  const cases: readonly [unknown, unknown][] = [
    [429, "429"],
    ["429", "429"],
    ["5xx", "5xx"],
    ["4XX", "4xx"],
    ["timed_out", "timed_out"],
    [99, undefined],
    [600, undefined],
    [429.5, undefined],
    ["999", undefined],
    ["6xx", undefined],
    ["", undefined],
    ["Timed Out", undefined],
    ["a".repeat(65), undefined],
    [null, undefined],
    [["5xx"], undefined],
  ];
  for (const [input, condition] of cases) {
    assertEquals(parseRetryCondition(input), condition, JSON.stringify(input));
  }
});

Deno.test("nextRetry() decides by finality, status and code", () => {
  const cases: readonly [
    Partial<Failure>,
    readonly unknown[] | undefined,
    boolean,
  ][] = [
    [{}, undefined, true],
    [{ httpStatus: 500 }, undefined, true],
    [{ httpStatus: 404 }, undefined, true],
    [{ httpStatus: 302 }, undefined, true],
    [{ httpStatus: 410 }, undefined, false],
    [{ httpStatus: 501 }, undefined, false],
    [{ isFinal: true }, undefined, false],
    [{ isFinal: true, httpStatus: 503 }, ["5xx"], false],
    [{ httpStatus: 503 }, ["5xx"], true],
    [{ httpStatus: 404 }, ["5xx"], false],
    [{ httpStatus: 404 }, ["5xx", 404], true],
    [{ httpStatus: 501 }, ["5xx"], false],
    [{ httpStatus: 501 }, [501], true],
    [{ httpStatus: 410 }, ["4xx"], false],
    [{ httpStatus: 410 }, ["410"], true],
    [{ code: "timed_out" }, ["timed_out"], true],
    [{ code: "timed_out" }, ["5xx"], false],
    [{ code: "http", httpStatus: 500 }, ["timed_out", "http"], true],
    [{}, [], false],
  ];
  for (const [failure, on, expected] of cases) {
    const conditions = on?.flatMap((item) => parseRetryCondition(item) ?? []);
    assertEquals(
      nextRetry({ ...FIXED, on: conditions }, {
        ...FAILED,
        failure: { code: "failed", ...failure },
      }).kind === "retry",
      expected,
      JSON.stringify([failure, on]),
    );
  }
});

Deno.test("nextRetry() counts the delay from the failure", () => {
  assertEquals(nextRetry(FIXED, FAILED), { kind: "retry", atMs: 1_010_000 });
});

Deno.test("a limit of two means three tries in all", () => {
  const kinds = [0, 1, 2].map((retries) =>
    nextRetry(FIXED, { ...FAILED, retries })
  );
  assertEquals(kinds.map(({ kind }) => kind), ["retry", "retry", "stop"]);
  assertEquals(kinds[2], { kind: "stop", reason: "limit" });
});

Deno.test("a policy without a limit retries for ever", () => {
  const { backoff, jitter } = FIXED;
  const endless = { backoff, jitter };
  assertEquals(nextRetry(endless, { ...FAILED, retries: 1e6 }).kind, "retry");
});

Deno.test("nextRetry() lets delays grow as the backoff says", () => {
  const cases: readonly [RetryPolicy["backoff"], readonly number[]][] = [
    [{ kind: "fixed", intervalMs: 10 }, [10, 10, 10, 10]],
    [{ kind: "linear", intervalMs: 10 }, [10, 20, 30, 40]],
    [{ kind: "exponential", intervalMs: 10, factor: 2 }, [10, 20, 40, 80]],
    [{ kind: "exponential", intervalMs: 20, factor: 1.5 }, [20, 30, 45]],
    [{ kind: "list", intervalsMs: [5, 7, 9] }, [5, 7, 9, 9, 9]],
    [{ kind: "exponential", intervalMs: 0, factor: 100 }, [0, 0]],
  ];
  for (const [backoff, delays] of cases) {
    const policy: RetryPolicy = { backoff, jitter: "none" };
    assertEquals(
      delays.map((_, retries) => delayMs(policy, retries)),
      delays,
    );
  }
  const backoff = { kind: "exponential", intervalMs: 10, factor: 2 } as const;
  const capped: RetryPolicy = { backoff, maxIntervalMs: 35, jitter: "none" };
  assertEquals([0, 1, 2, 3].map((n) => delayMs(capped, n)), [
    10,
    20,
    35,
    35,
  ]);
  assertEquals(delayMs(capped, 1e6), 35);
  const never = { ...backoff, intervalMs: 0 };
  assertEquals(delayMs({ backoff: never, jitter: "none" }, 1e6), 0);
});

Deno.test("nextRetry() spreads the delay as the jitter says", () => {
  const cases: readonly [RetryPolicy["jitter"], number, number][] = [
    ["none", 0, 10_000],
    ["none", 0.999, 10_000],
    ["equal", 0, 5_000],
    ["equal", 0.5, 7_500],
    ["full", 0, 0],
    ["full", 0.25, 2_500],
  ];
  for (const [jitter, chance, delayMs] of cases) {
    assertEquals(
      nextRetry({ ...FIXED, jitter }, { ...FAILED, random: () => chance }),
      { kind: "retry", atMs: FAILED.failedAtMs + delayMs },
    );
  }
});

Deno.test("nextRetry() waits as long as the worker asks, up to a bound", () => {
  const cases: readonly [Partial<RetryPolicy>, number, number][] = [
    [{}, 5_000, 10_000],
    [{}, 60_000, 60_000],
    [{ jitter: "full" }, 60_000, 60_000],
    [{ maxIntervalMs: 10_000 }, 60_000, 60_000],
    [{}, -5, 10_000],
    [{}, Infinity, MAX_RETRY_AFTER_MS],
    [{ backoff: { kind: "fixed", intervalMs: 2e8 } }, 3e8, 2e8],
  ];
  for (const [parts, retryAfterMs, delayMs] of cases) {
    assertEquals(
      nextRetry({ ...FIXED, ...parts }, { ...FAILED, retryAfterMs }),
      { kind: "retry", atMs: FAILED.failedAtMs + delayMs },
    );
  }
});

Deno.test("nextRetry() stops when the next try would begin too late", () => {
  const policy = { ...FIXED, forMs: 110_000 };
  assertEquals(nextRetry(policy, FAILED).kind, "retry");
  const stop = { kind: "stop", reason: "for" } as const;
  assertEquals(nextRetry({ ...policy, forMs: 109_999 }, FAILED), stop);
  assertEquals(nextRetry(policy, { ...FAILED, retryAfterMs: 10_001 }), stop);
});

Deno.test("nextRetry() stops for failures that are not worth it", () => {
  const stop = { kind: "stop", reason: "not_retryable" } as const;
  const failure = { code: "http", httpStatus: 410 };
  assertEquals(nextRetry(FIXED, { ...FAILED, failure }), stop);
  const on = ["5xx"];
  assertEquals(nextRetry({ ...FIXED, on }, FAILED), stop);
  // "not_retryable" is the reason even when no retries are left.
  assertEquals(nextRetry(FIXED, { ...FAILED, retries: 9, failure }), stop);
});

function drawPolicy(random: SeededRandom): RetryPolicy {
  const intervalMs = random.below(10 ** (1 + random.below(7)));
  const backoff = random.pick<RetryPolicy["backoff"]>([
    { kind: "fixed", intervalMs },
    { kind: "linear", intervalMs },
    { kind: "exponential", intervalMs, factor: 1 + random.next() * 99 },
    { kind: "list", intervalsMs: [intervalMs, random.below(1e6)] },
  ]);
  return {
    backoff,
    jitter: random.pick(["none", "equal", "full"]),
    ...random.chance(0.5) ? { limit: random.below(20) } : {},
    ...random.chance(0.7) ? { maxIntervalMs: random.below(1e8) } : {},
    ...random.chance(0.5) ? { forMs: random.below(1e8) } : {},
  };
}

Deno.test("nextRetry() keeps its bounds for any policy", () => {
  const random = new SeededRandom(51);
  for (let round = 0; round < 3_000; round++) {
    const policy = drawPolicy(random);
    const firstTriedAtMs = 1.7e12;
    const failedAtMs = firstTriedAtMs + random.below(1e7);
    const retryAfterMs = random.chance(0.3) ? random.below(2e8) : undefined;
    const options: NextRetryOptions = {
      ...FAILED,
      retries: random.below(2_000),
      failedAtMs,
      firstTriedAtMs,
      random: () => random.next(),
      ...retryAfterMs === undefined ? {} : { retryAfterMs },
    };
    const decision = nextRetry(policy, options);
    const context = JSON.stringify({ policy, options, decision });
    if (decision.kind === "stop") {
      assert(
        decision.reason === "limit"
          ? options.retries >= (policy.limit ?? Infinity)
          : policy.forMs !== undefined,
        context,
      );
      continue;
    }
    const { atMs } = decision;
    assert(Number.isSafeInteger(atMs), context);
    assert(
      atMs >= failedAtMs + Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS),
    );
    assert(atMs <= firstTriedAtMs + (policy.forMs ?? Infinity), context);
    assert(options.retries < (policy.limit ?? Infinity), context);
    const longestMs = Math.max(
      retryAfterMs ?? 0,
      policy.maxIntervalMs ?? Infinity,
    );
    assert(atMs <= failedAtMs + longestMs, context);
  }
});

Deno.test("all retries of a run end within the time the policy gives", () => {
  const random = new SeededRandom(52);
  for (let round = 0; round < 200; round++) {
    const policy = {
      ...drawPolicy(random),
      limit: 50,
      forMs: random.below(1e7),
    };
    let failedAtMs = random.below(1_000);
    let retries = 0;
    for (; retries <= 50; retries++) {
      const decision = nextRetry(policy, {
        ...FAILED,
        retries,
        failedAtMs,
        firstTriedAtMs: 0,
        random: () => random.next(),
      });
      if (decision.kind === "stop") break;
      assert(decision.atMs >= failedAtMs && decision.atMs <= policy.forMs);
      failedAtMs = decision.atMs + random.below(1_000);
    }
    assert(retries <= 50);
  }
});
