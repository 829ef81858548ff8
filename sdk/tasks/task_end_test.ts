import { assert, assertEquals, assertRejects } from "@std/assert";
import { silence } from "../memory/testing/scripted_fetch.ts";
import { taskEnd } from "./task_end.ts";
import { TasksError } from "./tasks_error.ts";
import {
  createScriptedCalls,
  problem,
  waitFor,
} from "./testing/scripted_calls.ts";

function task(status: string): Response {
  const isFinal = status === "complete";
  return Response.json({
    ...{ id: "tsk_1", status },
    finished_at: isFinal ? "2027-01-01T00:00:00.000Z" : null,
  });
}

Deno.test("taskEnd() asks again and again until the task has ended, and tells each state", async () => {
  const answers = ["waiting", "running", "complete"];
  const { calls, seen, clock } = createScriptedCalls(() =>
    task(answers.shift()!)
  );
  const told: string[] = [];
  const startMs = clock.nowMs();
  const ended = await waitFor(
    taskEnd(calls, "tsk_1", { onProgress: ({ status }) => told.push(status) }),
    clock,
  );
  assertEquals(ended.status, "complete");
  assertEquals(told, ["waiting", "running", "complete"]);
  assertEquals(
    seen.map(({ path }) => path),
    Array(3).fill("/api/v1/tasks/tsk_1?wait=PT30S"),
  );
  const tookMs = clock.nowMs() - startMs;
  assert(tookMs >= 2_000, "a service that answers at once is given a pause");
});

Deno.test("taskEnd() rejects when the time is over, and asks the service to wait no longer", async () => {
  const { calls, seen, clock } = createScriptedCalls(() => task("running"));
  const startMs = clock.nowMs();
  const error = await assertRejects(
    () => waitFor(taskEnd(calls, "tsk_1", { timeoutMs: 1_500 }), clock),
    TasksError,
    'Cannot wait any longer for the task "tsk_1": it has not ended within ' +
      "1500 ms",
  );
  assertEquals(error.code, "not_ended");
  assertEquals(
    seen.map(({ path }) => path.slice(path.indexOf("?"))),
    ["?wait=PT1.5S", "?wait=PT0.5S", "?wait=PT0S"],
  );
  assert(clock.nowMs() - startMs < 2_000);
});

Deno.test("taskEnd() puts up with a service that is away for less than a minute", async () => {
  for (const [awayMs, isEnded] of [[50_000, true], [90_000, false]] as const) {
    const { calls, clock } = createScriptedCalls(() => {
      const isAway = clock.nowMs() - startMs < awayMs;
      return isAway
        ? new Response("<html>", { status: 404 })
        : task("complete");
    });
    const startMs = clock.nowMs();
    const waiting = waitFor(taskEnd(calls, "tsk_1", {}), clock);
    if (isEnded) assertEquals((await waiting).status, "complete");
    else {
      const error = await assertRejects(() => waiting, TasksError);
      assertEquals(error.code, "unexpected_answer");
    }
  }
});

Deno.test("taskEnd() rejects at once when there is no such task, and when its signal aborts", async () => {
  const none = createScriptedCalls(() => problem(404, { code: "not_found" }));
  const error = await assertRejects(
    () => taskEnd(none.calls, "tsk_1", {}),
    TasksError,
  );
  assertEquals([error.code, none.seen.length], ["not_found", 1]);
  const { calls, clock } = createScriptedCalls(() => silence());
  const ending = new AbortController();
  const { signal } = ending;
  const waiting = assertRejects(() => taskEnd(calls, "tsk_1", { signal }));
  await clock.advanceAsync(10_000);
  ending.abort(new Error("enough"));
  assertEquals(await waiting, signal.reason);
  assertEquals(clock.pendingTimers, 0);
});
