import { assertEquals, assertThrows } from "@std/assert";
import { ScriptedService } from "./testing/scripted_service.ts";
import { type TaskWaitOptions, waitFor } from "./task_wait.ts";

const KEPT_KEYS = ["id", "token"];

Deno.test("waitFor() says it as the service takes it", () => {
  const { waitFor: event } = waitFor({ event: "paid", timeoutMs: 60_000 });
  assertEquals(JSON.parse(JSON.stringify(event)), {
    event: "paid",
    timeout: { milliseconds: 60_000 },
  });
  const { waitFor: approval } = waitFor({
    approval: { by: "admin", byAnother: true },
    onTimeout: "fail",
    message: "Send it?",
    state: { draft: 1 },
  });
  assertEquals(JSON.parse(JSON.stringify(approval)), {
    approval: { by: "admin", by_another: true },
    on_timeout: "fail",
    message: "Send it?",
    state: { draft: 1 },
  });
});

Deno.test("waitFor() throws when the service would not take the wait", () => {
  const wrong: readonly TaskWaitOptions[] = [
    { event: "two words" },
    { event: "" },
    { event: "a", timeoutMs: 999 },
    { event: "a", timeoutMs: NaN },
    { event: "a", timeoutMs: Infinity },
    { event: "a", state: () => 1 },
    { event: "a", state: "é".repeat(33_000) },
  ];
  for (const options of wrong) {
    assertThrows(() => waitFor(options), TypeError, "Cannot wait");
  }
});

Deno.test("Worker reports a wait that its handler returns, and hands over what ended it", async () => {
  const service = new ScriptedService();
  const resumed = {
    ...{ kind: "event", timed_out: false, event: "paid", data: 7 },
    at: "2027-01-15T08:00:00.000Z",
  };
  const seen: unknown[] = [];
  const worker = service.worker({
    // The next request for tasks comes after the handler has returned.
    concurrency: 1,
    handlers: (_task, { resumed: by, state }) => {
      seen.push([by, state]);
      service.more = { resumed, state: { step: 1 } };
      if (seen.length === 1) service.due.push("default");
      return waitFor({ event: "paid", state: { step: seen.length } });
    },
  });
  service.due.push("default");
  worker.start();
  await service.until(() => service.words.length === 2);
  await service.stop(worker);
  assertEquals(seen, [[undefined, undefined], [resumed, { step: 1 }]]);
  assertEquals(
    service.words.map((word) =>
      JSON.parse(JSON.stringify(
        word,
        (key, value) => KEPT_KEYS.includes(key) ? undefined : value,
      ))
    ),
    [1, 2].map((step) => ({
      action: "wait",
      wait_for: { event: "paid", state: { step } },
    })),
  );
  assertEquals(service.errors, []);
});
