import { assert, assertEquals } from "@std/assert";
import { silence } from "../memory/testing/scripted_fetch.ts";
import { TaskFailure } from "./task_handler.ts";
import { TasksError } from "./tasks_error.ts";
import { ScriptedService } from "./testing/scripted_service.ts";

function problem(status: number, code: string): Response {
  return Response.json({ code, title: "No", status }, { status });
}

Deno.test("Worker keeps its leases when one heartbeat gets no answer", async () => {
  const service = new ScriptedService();
  service.due.push("slow");
  let isLost = false;
  let heartbeats = 0;
  let finish = (): void => {};
  service.refuseReports = ([word]) =>
    word?.action === "heartbeat" && ++heartbeats === 1 ? silence() : undefined;
  const worker = service.worker({
    leaseMs: 6_000,
    handlers: async (_, { signal }) => {
      await new Promise<void>((resolve) => finish = resolve);
      isLost = signal.aborted;
    },
  });
  worker.start();
  await service.until(() => service.beats === 3);
  finish();
  await service.until(() => service.words.length === 1);
  assertEquals(isLost, false);
  assertEquals(service.errors.map(({ message }) => message), [
    "Cannot extend leases: no answer within 2000 ms",
  ]);
  await service.stop(worker);
});

Deno.test("Worker extends its leases without progress when the service does not take the progress", async () => {
  const service = new ScriptedService();
  service.due.push("deep", "flat");
  service.refuseReports = (words) =>
    words.some((word) => "progress" in word && Array.isArray(word.progress))
      ? Response.json({ code: "invalid", title: "No", status: 400 }, {
        status: 400,
      })
      : undefined;
  const ends: (() => void)[] = [];
  const worker = service.worker({
    leaseMs: 6_000,
    handlers: async ({ job }, { progress }) => {
      progress(job === "deep" ? [[[]]] : { percent: 10 });
      await new Promise<void>((resolve) => ends.push(resolve));
    },
  });
  worker.start();
  await service.until(() => service.beats === 8);
  assertEquals(service.errors.length, 1);
  for (const finish of ends) finish();
  await service.until(() => service.words.length === 2);
  assertEquals(service.words.map(({ action }) => action), [
    "complete",
    "complete",
  ]);
  await service.stop(worker);
});

Deno.test("Worker.stop() ends when the service is away, and leaves the tasks to the end of their leases", async () => {
  const service = new ScriptedService();
  service.due.push("deaf");
  const worker = service.worker({
    leaseMs: 9_000,
    handlers: () => new Promise<void>(() => {}),
  });
  worker.start();
  await service.until(() => worker.busy === 1);
  service.isAway = true;
  await service.stop(worker);
  assertEquals(service.words, []);
  const last = service.errors.at(-1);
  assert(last?.message.includes("its lease has ended"), last?.message);
});

Deno.test("Worker.stop() does not wait for a heartbeat without answer", async () => {
  const service = new ScriptedService();
  service.due.push("slow");
  let isBeating = false;
  let finish = (): void => {};
  service.refuseReports = ([word]) => {
    if (word?.action !== "heartbeat") return undefined;
    isBeating = true;
    return silence();
  };
  const worker = service.worker({
    leaseMs: 60_000,
    handlers: () => new Promise<void>((resolve) => finish = resolve),
  });
  worker.start();
  await service.until(() => isBeating);
  finish();
  const sinceMs = service.clock.nowMs();
  await service.stop(worker);
  assertEquals(service.clock.nowMs() - sinceMs < 1_000, true);
  assertEquals(service.words.map(({ action }) => action), ["complete"]);
});

Deno.test("Worker asks again when something else than the service answers", async () => {
  const service = new ScriptedService();
  service.due.push("a");
  const answers = [
    Response.json({}),
    Response.json(null),
    new Response(""),
    Response.json({ leases: [{ id: "lse_1" }] }),
  ];
  service.refuseLease = () => answers.shift();
  const reports = [Response.json({}), new Response("")];
  service.refuseReports = () => reports.shift();
  const worker = service.worker({ handlers: () => {} });
  worker.start();
  await service.until(() => service.words.length === 1);
  assertEquals(service.errors.length, 6);
  await service.stop(worker);
  await worker.ended;
});

Deno.test("Worker asks and reports again when a proxy answers in the service's place", async () => {
  const statuses = [400, 401, 403, 404, 405, 409, 410, 422];
  const pages = () =>
    statuses.map((status) =>
      new Response("<html>default backend - 404</html>", { status })
    );
  const service = new ScriptedService();
  service.due.push("a");
  const [answers, reports] = [pages(), pages()];
  service.refuseLease = () => answers.shift();
  service.refuseReports = () => reports.shift();
  const worker = service.worker({ maxRetries: 0, handlers: () => "kept" });
  worker.start();
  await service.until(() => service.words.length === 1, 500);
  assertEquals(service.words as readonly unknown[], [
    { id: "lse_1", token: "lt", action: "complete", result: "kept" },
  ]);
  assertEquals(service.errors.length, 16);
  await service.stop(worker);
  await worker.ended;
});

Deno.test("Worker goes on when the service refuses it for less than a minute, and ends when it does so longer", async () => {
  const refusal = () => problem(401, "invalid_credentials");
  for (const [refusals, isRefused] of [[6, false], [Infinity, true]] as const) {
    const service = new ScriptedService();
    service.due.push("a");
    let left: number = refusals;
    service.refuseLease = () => left-- > 0 ? refusal() : undefined;
    const worker = service.worker({ handlers: () => {} });
    const startMs = service.clock.nowMs();
    worker.start();
    if (isRefused) {
      let error: unknown;
      worker.ended.catch((reason: unknown) => error = reason);
      await service.until(() => error !== undefined, 500);
      assert(error instanceof TasksError && error.status === 401);
      assertEquals(service.errors.at(-1), error);
      assert(service.clock.nowMs() - startMs >= 60_000);
    } else {
      await service.until(() => service.words.length === 1, 500);
      assertEquals(service.errors.length, 6);
    }
    await service.stop(worker);
  }
});

Deno.test("Worker.ended rejects once the work in progress has ended, and is not caught beforehand", async () => {
  const service = new ScriptedService();
  service.due.push("slow");
  let finish = (): void => {};
  const worker = service.worker({
    handlers: () => new Promise<void>((resolve) => finish = resolve),
  });
  const unhandled: unknown[] = [];
  const listener = (event: PromiseRejectionEvent): void => {
    event.preventDefault();
    unhandled.push(event.reason);
  };
  globalThis.addEventListener("unhandledrejection", listener);
  service.refuseLease = () =>
    service.wishes.length > 1 ? problem(422, "invalid") : undefined;
  try {
    worker.start();
    await service.until(() => service.errors.length === 1);
    assertEquals([worker.busy, unhandled], [1, []]);
    finish();
    await service.until(() => unhandled.length === 1);
    assertEquals(unhandled, service.errors);
    assertEquals(service.words.map(({ action }) => action), ["complete"]);
    await service.stop(worker);
  } finally {
    globalThis.removeEventListener("unhandledrejection", listener);
  }
});

Deno.test("Worker reports a failure whatever was thrown, and whenever the next attempt is to be", async () => {
  const service = new ScriptedService();
  const thrown: Readonly<Record<string, unknown>> = {
    bare: Object.create(null),
    odd: Object.assign(new Error(), { message: { text: "odd" } }),
    past: new TaskFailure("past", { retryAfterMs: -1 }),
    never: new TaskFailure("never", { retryAfterMs: Infinity }),
    unknown: new TaskFailure("unknown", { retryAfterMs: NaN }),
  };
  service.due.push(...Object.keys(thrown));
  const worker = service.worker({
    handlers: ({ job }) => {
      throw thrown[job];
    },
  });
  worker.start();
  await service.until(() => service.words.length === 5);
  await service.stop(worker);
  const said = service.words.map(({ id: _, token: __, action, ...word }) => {
    assertEquals(action, "fail");
    return word;
  });
  const code = "Error";
  assertEquals(said as readonly unknown[], [
    { error: { code, message: "no text" } },
    { error: { code, message: "[object Object]" } },
    { error: { message: "past" }, retry_after: { milliseconds: 0 } },
    {
      error: { message: "never" },
      retry_after: { milliseconds: 3_153_600_000_000 },
    },
    { error: { message: "unknown" } },
  ]);
});

Deno.test("Worker reports log lines in parts when they are too many for one report", async () => {
  const service = new ScriptedService();
  service.due.push("a");
  const worker = service.worker({
    handlers: (_, { log }) => {
      log();
      log(...Array.from({ length: 150 }, (_, at) => `line ${at}`));
      log("x".repeat(2_000_000));
    },
  });
  worker.start();
  await service.until(() => service.words.length === 4);
  await service.stop(worker);
  assertEquals(
    service.words.map((word) =>
      word.action === "log" ? word.lines.length : word.action
    ),
    [100, 50, 1, "complete"],
  );
  assertEquals(service.errors, []);
});
