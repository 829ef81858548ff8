import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  BLANK_TASK,
  isFinal,
  type Task,
  TASK_STATUSES,
} from "../../domain/task.ts";
import { sampleIds, sampleTask } from "../testing/sample_tasks.ts";
import {
  decodeBody,
  decodeStatus,
  encodeBody,
  FIRST_FINAL_CODE,
  RUNNING_CODE,
  statusCode,
} from "../task_body.ts";
import { PayloadCache } from "./task_row.ts";

const task = sampleTask({ id: sampleIds().next() });

/** A task with a value in every field. */
const FULL: Task = {
  tenantId: "tnt_1",
  id: task.id,
  version: 2,
  createdBy: { type: "user", id: "usr_1" },
  createdAtMs: 31,
  parentId: "tsk_p",
  workerId: "wrk_1",
  job: "mail",
  dataJson: "{}",
  timezone: "Europe/Paris",
  repeat: {
    interval: "PT1H",
    catchUp: "one",
    catchUpWindowMs: 1,
    jitterMs: 2,
    mode: "same",
    onFailure: "stop",
  },
  retry: null,
  timeoutMs: 1,
  retain: { succeededMs: 1, failedMs: 2 },
  expiresAtMs: 2,
  dependencies: ["tsk_d"],
  onDependencyFailure: "run",
  priority: 3,
  group: "g",
  key: "k",
  callback: { url: "https://a.example", on: [] },
  tags: ["t"],
  metadata: { m: "1" },
  status: "paused",
  pausedFrom: "retry",
  dateMs: 4,
  firstDateMs: 5,
  slotMs: 6,
  isRepetition: true,
  held: { slotMs: 28, dateMs: 29 },
  scheduleSinceMs: 30,
  startWithinMs: 32,
  calls: { kind: "debounce", sinceMs: 33 },
  again: { dateMs: 34, calls: { kind: "throttle", untilMs: 35 } },
  isDue: false,
  run: 7,
  executions: 8,
  retries: 9,
  repetitions: 10,
  lost: 11,
  lostInRow: 12,
  missed: 13,
  lagMs: 14,
  durationMs: 15,
  lastOutcome: "failed",
  resultJson: "1",
  isResultTruncated: false,
  error: { code: "x", message: "x", atMs: 16 },
  attempt: {
    id: "lse_1",
    tokenHash: "hash",
    startedAtMs: 17,
    expiresAtMs: 18,
    deadlineMs: 19,
    leaseMs: 20,
  },
  settled: { id: "lse_0", tokenHash: "hash", outcome: "lost" },
  wait: {
    for: { kind: "event", event: "paid", sinceMs: 36, onTimeout: "fail" },
    stateJson: "{}",
  },
  fence: 21,
  firstTriedAtMs: 22,
  updatedAtMs: 23,
  startedAtMs: 24,
  finishedAtMs: 25,
  purgeAtMs: 26,
  historyCount: 27,
  historyHash: "h",
  historyFolded: { count: 9, hash: "g" },
};

Deno.test("encodeBody() leaves out what most tasks have in common", () => {
  const fields = Object.keys(JSON.parse(encodeBody(task)));
  for (
    const field of ["id", "tenantId", "version", "dataJson", "run", "tags"]
  ) {
    assert(!fields.includes(field), field);
  }
  assert(encodeBody(task).length < 300, encodeBody(task));
});

Deno.test("decodeBody() gives back what encodeBody() took", () => {
  const tasks = [
    task,
    FULL,
    { ...task, job: "", group: "g", timezone: "Europe/Paris", isDue: false },
    { ...task, priority: -3, run: 1, executions: 2, retries: 3, fence: 4 },
    { ...task, retry: null, tags: ["a"], metadata: { a: "" } },
    { ...task, dependencies: [task.id], lost: 1, lostInRow: 1, missed: 9 },
  ];
  for (const one of tasks) {
    assertEquals(decodeBody(encodeBody(one), one), one);
  }
});

Deno.test("encodeBody() writes every field but the columns", () => {
  const columns = ["tenantId", "id", "version", "dataJson", "resultJson"];
  assertEquals(
    [...Object.keys(JSON.parse(encodeBody(FULL))), ...columns].sort(),
    Object.keys(BLANK_TASK).sort(),
  );
});

Deno.test("statusCode() keeps the numbers that files hold", () => {
  assertEquals(
    Object.fromEntries(TASK_STATUSES.map((one) => [one, statusCode(one)])),
    {
      scheduled: 0,
      blocked: 1,
      waiting: 2,
      running: 3,
      retry: 4,
      done: 5,
      paused: 6,
      complete: 7,
      failed: 8,
      canceled: 9,
      expired: 10,
    },
  );
  assertEquals(statusCode("running"), RUNNING_CODE);
});

Deno.test("statusCode() numbers final statuses from 7 on, as the indexes say", () => {
  assertEquals(FIRST_FINAL_CODE, 7);
  for (const status of TASK_STATUSES) {
    assertEquals(
      statusCode(status) >= FIRST_FINAL_CODE,
      isFinal(status),
      status,
    );
    assertEquals(decodeStatus(statusCode(status)), status);
  }
  assertThrows(() => decodeStatus(11), TypeError);
});

Deno.test("PayloadCache keeps what was used last within its bound", () => {
  const cache = new PayloadCache(10);
  cache.set("data", "a", { version: 1, text: "aaaa" });
  cache.set("data", "b", { version: 1, text: "bbbb" });
  assertEquals(cache.get("data", "a")?.text, "aaaa");
  cache.set("result", "a", { version: 2, text: "cccc" });
  assertEquals(cache.get("data", "b"), undefined);
  assertEquals(cache.get("data", "a")?.text, "aaaa");
  assertEquals(cache.get("result", "a"), { version: 2, text: "cccc" });
});

Deno.test("PayloadCache counts what is replaced and deleted", () => {
  const cache = new PayloadCache(10);
  for (let at = 1; at < 100; at++) {
    cache.set("data", "a", { version: at, text: "x".repeat(at % 10) });
    cache.delete("data", "missing");
  }
  cache.delete("data", "a");
  assertEquals(cache.get("data", "a"), undefined);
  cache.set("data", "b", { version: 1, text: "bbbbb" });
  cache.set("data", "c", { version: 1, text: "ccccc" });
  assertEquals(cache.get("data", "b")?.text, "bbbbb");
  assertEquals(cache.get("data", "c")?.text, "ccccc");
});

Deno.test("PayloadCache leaves out what is larger than itself", () => {
  const cache = new PayloadCache(3);
  cache.set("data", "a", { version: 1, text: "aaa" });
  cache.set("data", "a", { version: 2, text: "aaaa" });
  assertEquals(cache.get("data", "a"), undefined);
});
