import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { readWhole, type Schema } from "../../shared/schema/schema.ts";
import { NEW_TASK } from "../routes/tasks/task_schema.ts";
import { WORKER } from "../routes/workers/worker_fields.ts";

function readDetail(schema: Schema<unknown>, body: unknown): string {
  const outcome = readWhole(schema, body);
  assert(outcome.kind === "invalid", JSON.stringify(body));
  assertEquals(outcome.faults.length, 1, JSON.stringify(outcome.faults));
  return outcome.faults[0]?.detail ?? "";
}

const TASK_CASES: readonly (readonly [Record<string, unknown>, string])[] = [
  [{ retries: 3 }, '"retry": {"limit": 3}'],
  [{ max_retries: 3 }, '"retry": {"limit": 3}'],
  [{ retryLimit: 3 }, '"retry": {"limit": 3}'],
  [{ attempts: 3 }, '"retry": {"limit": 2} for three attempts'],
  [{ maxAttempts: 3 }, '"retry": {"limit": 2} for three attempts'],
  [{ backoff: { type: "exponential" } }, '"backoff": "exponential"'],
  [{ retryDelay: 5 }, '"interval": "PT10S"'],
  [{ cron: "* * * * *" }, '"repeat": {"cron": "0 7 * * *"}'],
  [{ every: 1_000 }, '"repeat": {"interval": "PT1H"}'],
  [{ tz: "Europe/Vienna" }, '"timezone"'],
  [{ runAt: "2030-01-01" }, '"date": "2027-01-15T08:00:00Z"'],
  [{ startAfter: 5 }, '"date": "2027-01-15T08:00:00Z"'],
  [{ countdown: 5 }, '"delay": "PT30S"; a number counts seconds'],
  [{ delayMs: 5 }, '"delay": "PT30S"; a number counts seconds'],
  [{ expireInSeconds: 5 }, '"timeout": "PT30S", which bounds an attempt'],
  [{ ttl: 5 }, '"expires"'],
  [{ removeOnComplete: true }, '"retain": {"succeeded": "P1D"'],
  [{ name: "mail" }, '"job"'],
  [{ args: [] }, '"data"'],
  [{ queue: "mail" }, '"worker"'],
  [{ jobId: "7" }, '"key": a worker has one live task with it'],
  [{ singletonKey: "7" }, '"key"'],
  [{ id: "7" }, 'the service sets it; write "key"'],
  [{ concurrency_key: "7" }, '"group"'],
  [{ dependsOn: [] }, '"dependencies"'],
  [{ priority: 10 }, "the higher goes first, other than in BullMQ"],
  [{ date: 1_800_000_000_000 }, '"2027-01-15T08:00:00.000Z"'],
  [{ date: 1_800_000_000 }, '"2027-01-15T08:00:00.000Z"'],
  [{ date: 1e300 }, '"2027-01-15T08:00:00Z"'],
  [{ retry: 3 }, 'not an object; write {"limit": 3}'],
  [{ retry: true }, '{"limit": 3, "interval": "PT10S"}'],
  [{ retry: false }, "write null for no retries"],
  [{ retry: { attempts: 3 } }, '"limit", which counts the tries after'],
  [{ retry: { limit: 3, delay: 5 } }, '"interval": "PT10S"'],
  [{ retry: { limit: 3, backoff: { type: "fixed" } } }, '"interval": "PT1S"'],
  [{ repeat: "0 7 * * *" }, '{"cron": "0 7 * * *"}'],
  [{ repeat: 60 }, '{"interval": "PT1H"}'],
  [{ repeat: { pattern: "0 7 * * *" } }, '"cron"'],
  [{ repeat: { every: 5_000 } }, "a number counts seconds"],
  [{ repeat: { cron: "0 7 * * *", tz: "UTC" } }, '"timezone" beside'],
];

Deno.test("NEW_TASK leads from the words of other systems to its own", () => {
  for (const [fields, wanted] of TASK_CASES) {
    const detail = readDetail(NEW_TASK, { worker: "mailer", ...fields });
    assertStringIncludes(detail, wanted, JSON.stringify(fields));
  }
});

Deno.test("WORKER leads from the words of other systems to its own", () => {
  const cases: readonly (readonly [Record<string, unknown>, string])[] = [
    [{ maxConcurrency: 3 }, '"concurrency"'],
    [{ limiter: { max: 1, duration: 2 } }, '"limits": {"rate": 10'],
    [{ limits: { max: 1 } }, '"rate"'],
    [{ attempts: 3 }, '"retry": {"limit": 2}'],
    [{ endpoint: "https://a.example" }, '"url"'],
  ];
  for (const [fields, wanted] of cases) {
    const detail = readDetail(WORKER, { name: "mailer", ...fields });
    assertStringIncludes(detail, wanted, JSON.stringify(fields));
  }
});

Deno.test("NEW_TASK still tells the nearest field of a slip", () => {
  assertStringIncludes(
    readDetail(NEW_TASK, { worker: "mailer", priorty: 1 }),
    'did you mean "priority"?',
  );
});
