import { assertEquals, assertStringIncludes, fail } from "@std/assert";
import {
  DEFAULT_RETRY_POLICY,
  NO_RETRY_POLICY,
  parseRetryPolicy,
  policyWithUnits,
} from "./retry_schema.ts";
import type { RetryPolicy } from "./retry_policy.ts";

function read(input: unknown): RetryPolicy {
  const outcome = parseRetryPolicy(input);
  if (outcome.kind === "ok") return outcome.value;
  fail(JSON.stringify(outcome.faults));
}

/** A policy without its undefined fields. */
function written(policy: RetryPolicy): unknown {
  return JSON.parse(JSON.stringify(policy));
}

Deno.test("parseRetryPolicy() fills in what is not sent", () => {
  const fixed = (intervalMs: number) =>
    ({ kind: "fixed", intervalMs }) as const;
  const exponential = (intervalMs: number, factor = 2) =>
    ({ kind: "exponential", intervalMs, factor }) as const;
  const cases: readonly [unknown, RetryPolicy][] = [
    [undefined, DEFAULT_RETRY_POLICY],
    [{}, DEFAULT_RETRY_POLICY],
    [{ limit: null, interval: null }, DEFAULT_RETRY_POLICY],
    [null, NO_RETRY_POLICY],
    [{ limit: 5 }, { ...DEFAULT_RETRY_POLICY, limit: 5 }],
    // An interval alone is meant exactly as it is written.
    [{ limit: 2, interval: "PT1M" }, {
      limit: 2,
      backoff: fixed(60_000),
      jitter: "none",
    }],
    [{ limit: 2, interval: "P1D" }, {
      limit: 2,
      backoff: fixed(86_400_000),
      jitter: "none",
    }],
    [{ limit: 2, interval: { minute: 1 }, for: "600s", on: ["5xx"] }, {
      limit: 2,
      backoff: fixed(60_000),
      jitter: "none",
      forMs: 600_000,
      on: ["5xx"],
    }],
    // Without a limit, retries never end.
    [{ interval: "30s" }, { backoff: fixed(30_000), jitter: "none" }],
    [{ interval: "30s", backoff: "exponential" }, {
      backoff: exponential(30_000),
      maxIntervalMs: 3_600_000,
      jitter: "equal",
    }],
    [{ limit: 2, interval: "1s", jitter: "full" }, {
      limit: 2,
      backoff: exponential(1_000),
      maxIntervalMs: 3_600_000,
      jitter: "full",
    }],
    [{ limit: 2, interval: "1s", backoff: "fixed" }, {
      limit: 2,
      backoff: fixed(1_000),
      jitter: "equal",
    }],
    [{ backoff: "linear" }, {
      limit: 3,
      backoff: { kind: "linear", intervalMs: 10_000 },
      maxIntervalMs: 3_600_000,
      jitter: "equal",
    }],
    [{ factor: 3, max_interval: "PT5M" }, {
      limit: 3,
      backoff: exponential(10_000, 3),
      maxIntervalMs: 300_000,
      jitter: "equal",
    }],
    [{ limit: 9, interval: "PT2H", backoff: "exponential" }, {
      limit: 9,
      backoff: exponential(7_200_000),
      maxIntervalMs: 7_200_000,
      jitter: "equal",
    }],
    // A list ends with its last delay.
    [{ interval: ["PT5S", "PT5M", "30m"] }, {
      limit: 3,
      backoff: { kind: "list", intervalsMs: [5_000, 300_000, 1_800_000] },
      jitter: "none",
    }],
    [{ interval: ["5s"], backoff: "list", limit: 9, max_interval: "60s" }, {
      limit: 9,
      backoff: { kind: "list", intervalsMs: [5_000] },
      maxIntervalMs: 60_000,
      jitter: "equal",
    }],
    [{ limit: 0 }, { ...DEFAULT_RETRY_POLICY, limit: 0 }],
    [{ limit: 1, interval: "0s" }, {
      limit: 1,
      backoff: fixed(0),
      jitter: "none",
    }],
  ];
  for (const [input, policy] of cases) {
    assertEquals(written(read(input)), written(policy), JSON.stringify(input));
  }
});

Deno.test("parseRetryPolicy() tells what is wrong, and where", () => {
  const cases: readonly [unknown, string, string][] = [
    ["never", "", "it is text, not an object"],
    [[], "", "it is a list, not an object"],
    [{ limit: -1 }, "/limit", "less than 0"],
    [{ limit: 1.5 }, "/limit", "not a whole number"],
    [{ limit: "3" }, "/limit", "not a whole number"],
    [{ limit: 1e9 }, "/limit", "greater than 1000000"],
    [{ interval: 5 }, "/interval", "Cannot read duration"],
    [{ interval: "0s" }, "/interval", "at least a second"],
    [{ interval: "0.5s", backoff: "linear" }, "/interval", "at least a second"],
    [{ interval: [] }, "/interval", "fewer than 1 items"],
    [{ interval: ["PT5S", "x"] }, "/interval/1", "Cannot read duration"],
    [{ interval: ["5s"], backoff: "fixed" }, "/interval", `"list" alone`],
    [{ interval: "5s", backoff: "list" }, "/interval", "a list of intervals"],
    [{ backoff: "list" }, "/interval", "a list of intervals"],
    [{ backoff: "quadratic" }, "/backoff", 'known are "fixed", "linear"'],
    [{ factor: 0.5 }, "/factor", "less than 1"],
    [{ factor: "2" }, "/factor", "not a number"],
    [{ factor: 2, backoff: "linear" }, "/factor", "exponential backoff alone"],
    [
      { limit: 1, interval: "60s", max_interval: "5s" },
      "/max_interval",
      "shorter",
    ],
    [{ jitter: "some" }, "/jitter", 'known are "none", "equal", "full"'],
    [{ for: "soon" }, "/for", "Cannot read duration"],
    [{ on: "5xx" }, "/on", "not a list"],
    [{ on: [] }, "/on", "fewer than 1 items"],
    [{ on: ["5xx", 7] }, "/on/1", "neither a status"],
    [{ limits: 5 }, "/limits", `did you mean "limit"?`],
    [{ "a/b~": 1 }, "/a~1b~0", 'known are "limit"'],
  ];
  for (const [input, pointer, part] of cases) {
    const outcome = parseRetryPolicy(input);
    if (outcome.kind === "ok") fail(`${JSON.stringify(input)} was taken`);
    assertEquals(
      outcome.faults.map((fault) => fault.pointer),
      [pointer],
      JSON.stringify(outcome),
    );
    assertStringIncludes(outcome.faults[0]?.detail ?? "", part);
  }
});

Deno.test("parseRetryPolicy() tells all that is wrong at once", () => {
  const outcome = parseRetryPolicy({ limit: -1, jitter: "5s", for: "x", y: 1 });
  if (outcome.kind === "ok") fail("it was taken");
  assertEquals(
    outcome.faults.map(({ pointer }) => pointer).sort(),
    ["/for", "/jitter", "/limit", "/y"],
  );
});

Deno.test("policyWithUnits() makes numbers of earlier versions seconds", () => {
  const stored = {
    limit: 2,
    interval: [5, "PT1M"],
    max_interval: 60,
    for: 600,
  };
  const written = {
    limit: 2,
    interval: [{ seconds: 5 }, "PT1M"],
    max_interval: { seconds: 60 },
    for: { seconds: 600 },
  };
  assertEquals(policyWithUnits(stored), written);
  assertEquals(policyWithUnits(written), written);
  assertEquals(policyWithUnits(null), null);
  assertEquals(policyWithUnits(undefined), undefined);
});
