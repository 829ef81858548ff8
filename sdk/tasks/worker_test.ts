import { assert, assertEquals, assertThrows } from "@std/assert";
import { pause } from "../memory/client_clock.ts";
import { silence } from "../memory/testing/scripted_fetch.ts";
import { TaskFailure, WorkEnded } from "./task_handler.ts";
import { ScriptedService } from "./testing/scripted_service.ts";

/** A handler's work that ends when its signal aborts. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) =>
    signal.addEventListener("abort", () => resolve())
  );
}

Deno.test("Worker refuses options that are not valid", () => {
  const service = new ScriptedService();
  for (
    const [options, message] of [
      [{ concurrency: 0 }, "concurrency is 0"],
      [{ concurrency: 1_001 }, "concurrency is 1001"],
      [{ concurrency: 2, connections: 3 }, "connections is 3"],
      [{ leaseMs: 4_999 }, "leaseMs is 4999"],
      [{ leaseMs: 3_600_001 }, "leaseMs is 3600001"],
      [{ waitMs: 30_001 }, "waitMs is 30001"],
      [{ refusedForMs: -1 }, "refusedForMs is -1"],
      [{ handlers: {} }, "handlers is empty"],
      [{ handlers: { "a\nb": () => {} } }, '"a\\nb" is not a name of a job'],
      [
        { handlers: { mail: () => {} }, jobs: ["mail", "report"] },
        'jobs has "report", of which there is no handler',
      ],
      [{ jobs: [] }, "jobs has 0 names, not 1 to 100"],
      [{ worker: "" }, "worker is empty"],
      [{ url: "x" }, 'url is "x"'],
    ] as const
  ) {
    assertThrows(
      () => service.worker({ handlers: () => {}, ...options }),
      TypeError,
      message,
    );
  }
});

Deno.test("Worker works on as many tasks as it may at once, and no more", async () => {
  const service = new ScriptedService();
  service.due.push(..."abcdefg");
  let most = 0;
  const ends: (() => void)[] = [];
  const worker = service.worker({
    concurrency: 3,
    handlers: async () => {
      most = Math.max(most, worker.busy);
      await new Promise<void>((resolve) => ends.push(resolve));
    },
  });
  worker.start();
  worker.start();
  await service.until(() => ends.length === 3);
  await service.clock.advanceAsync(500);
  assertEquals([ends.length, worker.busy], [3, 3]);
  while (service.words.length < 7) {
    ends.shift()?.();
    await service.clock.advanceAsync(50);
  }
  assertEquals(most, 3);
  await service.stop(worker);
  assertThrows(() => worker.start(), Error, "it was stopped");
});

Deno.test("Worker reports results and failures as handlers decide", async () => {
  const service = new ScriptedService();
  service.due.push("good", "bad", "final", "text", "cyclic", "long");
  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;
  const worker = service.worker({
    handlers: {
      good: () => ({ sent: true }),
      bad: () => {
        throw new RangeError("too far");
      },
      final: () => {
        throw new TaskFailure("gone", {
          ...{ code: "gone", detail: { at: 1 }, isFinal: true },
          retryAfterMs: 5_000,
        });
      },
      text: () => {
        throw "just text";
      },
      cyclic: () => cyclic,
      long: () => "x".repeat(2_000_000),
    },
  });
  worker.start();
  await service.until(() => service.words.length === 6);
  await service.stop(worker);
  const byId = new Map(service.words.map((word) => [word.id, word]));
  const getWord = (at: number): unknown => {
    const { id: _, token, ...word } = byId.get(`lse_${at}`)!;
    assertEquals(token, "lt");
    return word;
  };
  assertEquals(getWord(1), { action: "complete", result: { sent: true } });
  const error = { code: "RangeError", message: "too far" };
  assertEquals(getWord(2), { action: "fail", error });
  assertEquals(getWord(3), {
    action: "fail",
    error: { code: "gone", message: "gone", detail: { at: 1 } },
    ...{ retry: false, retry_after: { milliseconds: 5_000 } },
  });
  assertEquals(getWord(4), {
    action: "fail",
    error: { code: "Error", message: "just text" },
  });
  const notJson = getWord(5) as { error: { code: string }; retry: boolean };
  assertEquals([notJson.error.code, notJson.retry], ["result_not_json", false]);
  assertEquals(getWord(6), { action: "complete" });
  assertEquals(service.errors.length, 2);
});

Deno.test("Worker asks for the jobs that it has handlers of, unless it is told which", async () => {
  const mail = () => {};
  for (
    const [options, asked] of [
      [{ handlers: { mail, report: mail } }, ["mail", "report"]],
      [{ handlers: { mail, report: mail }, jobs: ["report"] }, ["report"]],
      [{ handlers: mail, jobs: ["mail", "mail"] }, ["mail"]],
      [{ handlers: mail }, undefined],
    ] as const
  ) {
    const service = new ScriptedService();
    const worker = service.worker(options);
    worker.start();
    await service.until(() => service.wishes.length === 1);
    assertEquals(service.wishes[0]?.jobs, asked);
    await service.stop(worker);
  }
});

Deno.test("Worker gives a task back for a while when it has no handler of its job", async () => {
  const service = new ScriptedService();
  service.due.push("job 100");
  const names = Array.from({ length: 101 }, (_, at) => `job ${at + 1_000}`);
  const worker = service.worker({
    handlers: Object.fromEntries(names.map((name) => [name, () => {}])),
  });
  worker.start();
  await service.until(() => service.words.length === 1);
  assertEquals(service.wishes[0]?.jobs, undefined);
  assertEquals(service.words as readonly unknown[], [{
    ...{ id: "lse_1", token: "lt", action: "release", delay: "10s" },
    reason: 'This process has no handler of job "job 100"',
  }]);
  await service.stop(worker);
});

Deno.test("Worker reports a failure without a detail that is too long", async () => {
  const service = new ScriptedService();
  service.due.push("long");
  const worker = service.worker({
    handlers: () => {
      const detail = "x".repeat(2_000_000);
      throw new TaskFailure("gone", { code: "gone", detail, isFinal: true });
    },
  });
  worker.start();
  await service.until(() => service.words.length === 1);
  await service.stop(worker);
  assertEquals(service.words as readonly unknown[], [{
    ...{ id: "lse_1", token: "lt", action: "fail", retry: false },
    error: { code: "gone", message: "gone" },
  }]);
  const [error] = service.errors;
  assert(error?.message.includes("its detail is too long"), error?.message);
});

Deno.test("Worker reports again while the service is away, until the lease ends", async () => {
  const service = new ScriptedService();
  service.due.push("kept", "late");
  const worker = service.worker({
    leaseMs: 9_000,
    handlers: ({ job }) => {
      service.isAway = true;
      return job;
    },
  });
  worker.start();
  await service.until(() => service.errors.length > 0);
  assertEquals(service.words, []);
  service.isAway = false;
  await service.until(() => service.words.length === 2);
  assertEquals(service.words.map(({ action }) => action), [
    "complete",
    "complete",
  ]);
  service.due.push("lost");
  service.errors.length = 0;
  const isDropped = (): boolean =>
    service.errors.some(({ message }) => message.includes("has ended"));
  await service.until(isDropped);
  assertEquals(service.words.length, 2);
  service.isAway = false;
  await service.stop(worker);
});

Deno.test("Worker shows that it lives, tells progress, and ends work whose lease is lost", async () => {
  const service = new ScriptedService();
  service.due.push("slow");
  const reasons: unknown[] = [];
  const progress: unknown[] = [];
  let isGone = false;
  service.answer = (word) => {
    if (word.action === "heartbeat" && "progress" in word) {
      progress.push(word.progress);
    }
    return isGone && word.action === "heartbeat"
      ? {
        status: 409,
        problem: { code: "lease_gone", title: "x", status: 409 },
      }
      : { status: 200 };
  };
  const worker = service.worker({
    leaseMs: 6_000,
    handlers: async (_, context) => {
      context.progress({ percent: 10 });
      await aborted(context.signal);
      reasons.push(context.signal.reason);
    },
  });
  worker.start();
  await service.until(() => service.beats === 4);
  assertEquals([progress, reasons], [[{ percent: 10 }], []]);
  isGone = true;
  await service.until(() => reasons.length === 1);
  const [reason] = reasons;
  assert(reason instanceof WorkEnded);
  assertEquals(reason.cause, "lost");
  await service.until(() => worker.busy === 0);
  assertEquals(service.words, [], "nothing is reported of a lost lease");
  await service.stop(worker);
});

Deno.test("Worker shows that it lives without progress that the service would not take", async () => {
  const service = new ScriptedService();
  service.due.push("cyclic", "long", "good");
  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;
  const told: Readonly<Record<string, unknown>> = {
    ...{ cyclic, long: "é".repeat(2_048), good: { percent: 10 } },
  };
  const progress: unknown[] = [];
  service.answer = (word) => {
    if ("progress" in word) progress.push(word.progress);
    return { status: 200 };
  };
  const reasons: unknown[] = [];
  const worker = service.worker({
    leaseMs: 6_000,
    handlers: async ({ job }, context) => {
      context.progress(told[job]);
      await aborted(context.signal);
      reasons.push((context.signal.reason as WorkEnded).cause);
    },
  });
  worker.start();
  await service.until(() => service.beats === 12);
  assertEquals([progress, reasons], [[{ percent: 10 }], []]);
  assertEquals(
    service.errors.map(({ message }) => message.slice(0, 47)),
    [
      "Cannot report progress: it is not JSON: TypeErr",
      "Cannot report progress: it is 4098 bytes long a",
    ],
  );
  await service.stop(worker);
});

Deno.test("Worker ends work that it could not show to go on in time", async () => {
  const service = new ScriptedService();
  service.due.push("slow");
  let reason: unknown;
  const worker = service.worker({
    leaseMs: 6_000,
    handlers: async (_, { signal }) => {
      service.isAway = true;
      await aborted(signal);
      reason = signal.reason;
    },
  });
  worker.start();
  await service.until(() => reason !== undefined);
  assert(reason instanceof WorkEnded && reason.cause === "lost");
  await service.stop(worker);
});

Deno.test("Worker ends the work when its lease ends, whenever the next heartbeat is", async () => {
  const service = new ScriptedService();
  service.due.push("slow");
  service.refuseReports = () => silence();
  let endedAtMs = 0;
  const worker = service.worker({
    leaseMs: 6_000,
    handlers: async (_, { signal }) => {
      await aborted(signal);
      endedAtMs = service.clock.nowMs();
    },
  });
  const startMs = service.clock.nowMs();
  worker.start();
  await service.until(() => endedAtMs > 0);
  const tookMs = endedAtMs - startMs;
  assert(tookMs >= 6_000 && tookMs <= 6_250, String(tookMs));
  await service.stop(worker);
});

Deno.test("Worker says which job blocked the event loop longer than its lease, and ends the work", async () => {
  const service = new ScriptedService();
  service.due.push("report");
  let reason: unknown;
  const worker = service.worker({
    leaseMs: 5_000,
    handlers: {
      report: async (_, { signal }) => {
        await pause(600, { clock: service.clock, signal });
        service.clock.block(7_000);
        reason = signal.reason;
        await pause(0, { clock: service.clock, signal }).catch(() => {});
        reason = signal.reason;
      },
    },
  });
  worker.start();
  await service.until(() => worker.busy === 0 && reason !== undefined);
  assert(reason instanceof WorkEnded && reason.cause === "lost");
  assertEquals(service.errors.map(({ message }) => message), [
    'Cannot extend leases: the event loop was blocked for 7 s during "report"; ' +
    "give this job a longer leaseMs or a Worker thread",
  ]);
  assertEquals(service.words, [], "the service would refuse a report");
  await service.stop(worker);
});

Deno.test("Worker says that the event loop was blocked when the handler has returned already", async () => {
  const service = new ScriptedService();
  service.due.push("report");
  const worker = service.worker({
    leaseMs: 5_000,
    handlers: {
      report: async (_, { signal }) => {
        await pause(600, { clock: service.clock, signal });
        service.clock.block(7_000);
      },
    },
  });
  worker.start();
  await service.until(() => service.errors.length > 0 && worker.busy === 0);
  const [error] = service.errors;
  assert(error?.message.includes("blocked for 7 s"), error?.message);
  assertEquals([service.errors.length, service.words], [1, []]);
  await service.stop(worker);
});

Deno.test("Worker asks again after a pause when the service is away, and says so", async () => {
  const service = new ScriptedService();
  service.due.push("a");
  const answers = [
    new Response("<html>", { status: 502 }),
    Response.json({ code: "overloaded", title: "Overloaded", status: 503 }, {
      status: 503,
      headers: { "retry-after": "9" },
    }),
  ];
  service.refuseLease = () => answers.shift();
  const worker = service.worker({ handlers: () => {} });
  const startMs = service.clock.nowMs();
  worker.start();
  await service.until(() => service.words.length === 1);
  const tookMs = service.clock.nowMs() - startMs;
  assert(tookMs >= 9_250 && tookMs < 10_500, String(tookMs));
  assertEquals(service.errors.length, 2);
  await service.stop(worker);
});

Deno.test("Worker gives tasks back that do not end when it stops, also those that do not listen", async () => {
  const service = new ScriptedService();
  service.due.push("listens", "deaf", "logs");
  const never = new Promise<void>(() => {});
  const worker = service.worker({
    handlers: async ({ job }, { signal, log }) => {
      if (job === "deaf") await never;
      await aborted(signal);
      if (job === "logs") log("stopped half way");
      signal.throwIfAborted();
    },
  });
  worker.start();
  await service.until(() => worker.busy === 3);
  await service.stop(worker);
  const actions = service.words.map(({ id, action }) => `${id} ${action}`);
  assertEquals(actions.sort(), [
    "lse_1 release",
    "lse_2 release",
    "lse_3 log",
    "lse_3 release",
  ]);
  await worker.ended;
});
