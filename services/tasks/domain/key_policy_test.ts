import { assertEquals } from "@std/assert";
import {
  decideByKey,
  type KeyDecision,
  type KeyHolder,
  type KeyRequest,
} from "./key_policy.ts";
import { BLANK_TASK, TASK_STATUSES, type TaskStatus } from "./task.ts";
import { repeatWith } from "./testing/task_story.ts";

const NOW_MS = 1_000_000;
const WINDOW_MS = 5_000;

/** A task of the key; it is due exactly when it is `waiting`. */
function holder(
  status: TaskStatus,
  fields: Partial<KeyHolder> = {},
): KeyHolder {
  return {
    ...BLANK_TASK,
    status,
    isDue: status === "waiting",
    dateMs: NOW_MS + 60_000,
    startedAtMs: NOW_MS - 2_000,
    ...fields,
  };
}

function decide(
  of: KeyHolder | undefined,
  request: Partial<KeyRequest>,
  { repeats = false, afterMs = 0 } = {},
): KeyDecision {
  return decideByKey(of, {
    request: { onConflict: "return", ...request },
    repeats,
    nowMs: NOW_MS + afterMs,
  });
}

const FREE = [undefined, "complete", "failed", "canceled", "expired"] as const;

Deno.test("decideByKey() creates a task where no live one has the key", () => {
  for (const status of FREE) {
    for (
      const onConflict of ["return", "reject", "replace", "run_after"] as const
    ) {
      const of = status && holder(status);
      assertEquals(decide(of, { onConflict, dateMs: 7 }), {
        kind: "create",
        dateMs: 7,
      });
    }
  }
});

Deno.test("decideByKey() replaces what repeats while it runs, and what runs once only before", () => {
  for (const onConflict of ["replace", "keep_date"] as const) {
    const running = holder("running");
    assertEquals(decide(running, { onConflict }).kind, "conflict");
    const repeating = decide(running, { onConflict }, { repeats: true });
    assertEquals(repeating.kind, "update");
    assertEquals(decide(holder("retry"), { onConflict }).kind, "update");
  }
});

Deno.test("decideByKey() moves what it replaces to now, and what repeats only when asked to", () => {
  const scheduled = holder("scheduled");
  const decideDate = (request: Partial<KeyRequest>, repeats: boolean) => {
    const decision = decide(scheduled, request, { repeats });
    return decision.kind === "update" ? decision.dateMs : decision.kind;
  };
  const replace = { onConflict: "replace" } as const;
  assertEquals(decideDate(replace, false), NOW_MS);
  assertEquals(decideDate(replace, true), undefined);
  assertEquals(decideDate({ ...replace, dateMs: 9 }, true), 9);
  assertEquals(
    decideDate({ onConflict: "keep_date", dateMs: 9 }, false),
    undefined,
  );
});

Deno.test("decideByKey() lets what has begun run once more, at the earliest date asked for", () => {
  const ask = { onConflict: "run_after" } as const;
  for (const status of ["running", "retry"] as const) {
    assertEquals(decide(holder(status), ask), {
      kind: "run_after",
      dateMs: NOW_MS,
    });
  }
  const again = { dateMs: NOW_MS + 500 };
  const asked = holder("running", { again });
  assertEquals(decide(asked, { ...ask, dateMs: NOW_MS + 900 }), {
    kind: "run_after",
    dateMs: again.dateMs,
  });
  const paused = holder("paused", { pausedFrom: "retry" });
  assertEquals(decide(paused, ask).kind, "run_after");
  // What has not begun will run with the new values anyway.
  for (
    const [dateMs, sooner] of [[NOW_MS, NOW_MS], [Infinity, NOW_MS + 60_000]]
  ) {
    assertEquals(decide(holder("scheduled"), { ...ask, dateMs }), {
      kind: "update",
      dateMs: sooner,
    });
  }
});

Deno.test("decideByKey() spaces no runs of a task that repeats", () => {
  const repeating = holder("scheduled", { repeat: repeatWith() });
  for (
    const request of [
      { onConflict: "run_after" },
      { pacing: { kind: "debounce", windowMs: 1 } },
      { pacing: { kind: "throttle", windowMs: 1 } },
    ] as const
  ) assertEquals(decide(repeating, request).kind, "conflict");
});

Deno.test("decideByKey() debounces: each request moves the run to a window from then on, up to the longest wait", () => {
  const pacing = {
    kind: "debounce",
    windowMs: WINDOW_MS,
    maxWaitMs: 12_000,
  } as const;
  const calls = { kind: "debounce", sinceMs: NOW_MS } as const;
  let of: KeyHolder | undefined;
  const dates = [0, 4_999, 9_998, 11_999].map((afterMs) => {
    const decision = decide(of, { pacing }, { afterMs });
    assertEquals(decision.kind, of === undefined ? "create" : "update");
    if (decision.kind !== "update" && decision.kind !== "create") return;
    assertEquals(decision.calls, calls);
    const { dateMs = 0 } = decision;
    of = holder("scheduled", { dateMs, calls: decision.calls });
    return dateMs - NOW_MS;
  });
  assertEquals(dates, [5_000, 9_999, 12_000, 12_000]);
});

Deno.test("decideByKey() debounces: at the end of the window the date stays, and what has begun has a window of its own", () => {
  const pacing = { kind: "debounce", windowMs: WINDOW_MS } as const;
  const calls = { kind: "debounce", sinceMs: NOW_MS - 60_000 } as const;
  for (
    const of of [
      holder("scheduled", { dateMs: NOW_MS, calls }),
      holder("waiting", { calls }),
    ]
  ) assertEquals(decide(of, { pacing }), { kind: "update" });
  for (const status of ["running", "retry"] as const) {
    const next = {
      dateMs: NOW_MS + WINDOW_MS,
      calls: { ...calls, sinceMs: NOW_MS },
    };
    assertEquals(decide(holder(status, { calls }), { pacing }), {
      kind: "run_after",
      ...next,
    });
    const asked = holder(status, { calls, again: next });
    assertEquals(decide(asked, { pacing }, { afterMs: 10 }), {
      kind: "run_after",
      ...next,
      dateMs: next.dateMs + 10,
    });
    // Its date has come while the run before is still under way.
    assertEquals(decide(asked, { pacing }, { afterMs: WINDOW_MS }), {
      kind: "run_after",
      ...next,
    });
  }
  for (const status of FREE) {
    const of = status && holder(status, { calls });
    assertEquals(decide(of, { pacing }).kind, "create");
  }
});

Deno.test("decideByKey() throttles: the first request runs at once, those within the window together at its end", () => {
  const pacing = { kind: "throttle", windowMs: WINDOW_MS } as const;
  const untilMs = NOW_MS + WINDOW_MS;
  const calls = { kind: "throttle", untilMs } as const;
  const first = { kind: "create", dateMs: NOW_MS, calls } as const;
  assertEquals(decide(undefined, { pacing }), first);
  const next = {
    dateMs: untilMs,
    calls: { kind: "throttle", untilMs: untilMs + WINDOW_MS },
  } as const;
  // Before it began, the first run takes the values of others.
  assertEquals(decide(holder("waiting", { calls }), { pacing }), {
    kind: "update",
  });
  for (const afterMs of [0, 10, WINDOW_MS - 1]) {
    const options = { afterMs };
    const running = holder("running", { calls });
    assertEquals(decide(running, { pacing }, options), {
      kind: "run_after",
      ...next,
    });
    assertEquals(decide({ ...running, again: next }, { pacing }, options), {
      kind: "run_after",
      ...next,
    });
    for (const status of ["complete", "failed", "canceled"] as const) {
      const ended = holder(status, { calls });
      assertEquals(decide(ended, { pacing }, options), {
        kind: "create",
        ...next,
      });
    }
  }
});

Deno.test("decideByKey() throttles: from the end of the window on a request is a first one again", () => {
  const pacing = { kind: "throttle", windowMs: WINDOW_MS } as const;
  const calls = { kind: "throttle", untilMs: NOW_MS } as const;
  for (const afterMs of [0, 7]) {
    const nowMs = NOW_MS + afterMs;
    const decision = decide(holder("complete", { calls }), { pacing }, {
      afterMs,
    });
    assertEquals(decision, {
      kind: "create",
      dateMs: nowMs,
      calls: { kind: "throttle", untilMs: nowMs + WINDOW_MS },
    });
  }
});

Deno.test("decideByKey() throttles: a run that never began leaves its date free", () => {
  const pacing = { kind: "throttle", windowMs: WINDOW_MS } as const;
  const canceled = holder("canceled", {
    startedAtMs: undefined,
    dateMs: NOW_MS + 100,
    calls: { kind: "throttle", untilMs: NOW_MS + 100 + WINDOW_MS },
  });
  const decision = decide(canceled, { pacing });
  assertEquals(decision.kind === "create" && decision.dateMs, NOW_MS + 100);
});

Deno.test("decideByKey() has an answer for each status and policy", () => {
  for (const status of TASK_STATUSES) {
    for (
      const onConflict of [
        "return",
        "reject",
        "replace",
        "keep_date",
        "run_after",
      ] as const
    ) {
      const { kind } = decide(holder(status), { onConflict });
      assertEquals(kind === "create", FREE.some((free) => free === status));
    }
  }
});
