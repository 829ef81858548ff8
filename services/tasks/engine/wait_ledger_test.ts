import { assertEquals } from "@std/assert";
import { BLANK_TASK, type Task } from "../domain/task.ts";
import type { KeptEvent, TaskWait } from "../domain/wait.ts";
import { WaitLedger } from "./testing/wait_ledger.ts";

const EVENT: KeptEvent = {
  name: "go",
  dataJson: "1",
  atMs: 0,
  by: { type: "user", id: "usr_1" },
};
const RESUMED: TaskWait = { resumed: { kind: "event", ...EVENT } };

function taskWith(wait: TaskWait | undefined, over: Partial<Task> = {}): Task {
  return { ...BLANK_TASK, id: "it", isDue: false, wait, ...over };
}

function told(...tasks: readonly Task[]): readonly string[] {
  const violations: string[] = [];
  const ledger = new WaitLedger((what) => void violations.push(what));
  tasks.forEach((task, index) => ledger.check(tasks[index - 1], task));
  return violations;
}

Deno.test("WaitLedger has nothing against events that resume or are kept", () => {
  const kept = taskWith({ events: [EVENT] });
  assertEquals(told(kept, kept, taskWith(RESUMED)), []);
  const ended = taskWith(undefined, { status: "complete" });
  assertEquals(told(kept, ended), []);
});

Deno.test("WaitLedger notices what cannot be", () => {
  const awaited = {
    kind: "event",
    event: "go",
    sinceMs: 0,
    onTimeout: "fail",
  } as const;
  assertEquals(told(taskWith({ for: awaited }, { status: "running" })), [
    "it waits and is running",
  ]);
  assertEquals(told(taskWith({ events: [EVENT] }), taskWith(undefined)), [
    "it has lost the event 1",
  ]);
  assertEquals(
    told(taskWith(RESUMED), taskWith({ for: awaited }), taskWith(RESUMED)),
    ["it was resumed twice by the event 1"],
  );
  assertEquals(told(taskWith(RESUMED, { status: "failed" })), [
    "it is failed and has a wait",
  ]);
});
