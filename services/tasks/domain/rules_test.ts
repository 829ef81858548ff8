import {
  assert,
  assertEquals,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import { DEFAULT_RETRY_POLICY, NO_RETRY_POLICY } from "./retry_schema.ts";
import {
  firstRetain,
  resolveRules,
  RuleCache,
  type RulingWorker,
} from "./rules.ts";
import type { TaskDefinition } from "./task.ts";
import { definitionWith, repeatWith } from "./testing/task_story.ts";

const PLAIN: RulingWorker = { timeoutMs: 30_000, maxLost: 3 };

function rules(
  fields: Partial<TaskDefinition>,
  worker: RulingWorker = PLAIN,
  cache: RuleCache = new RuleCache(10),
): ReturnType<typeof resolveRules> {
  return resolveRules(definitionWith(fields), worker, { cache });
}

Deno.test("resolveRules() takes the service's rules if neither task, job nor worker has any", () => {
  assertEquals(rules({}), {
    retry: DEFAULT_RETRY_POLICY,
    schedule: undefined,
    timeoutMs: 30_000,
    maxLost: 3,
    resumedAtMs: undefined,
    retain: undefined,
    retentionMs: undefined,
  });
});

Deno.test("resolveRules() asks the task, then its job, then the worker", () => {
  const worker: RulingWorker = {
    ...PLAIN,
    retry: { limit: 1, interval: "1s" },
    jobs: { mail: { timeoutMs: 2_000, retry: { limit: 2, interval: "1s" } } },
  };
  const limits = [
    rules({ job: "mail", retry: { limit: 3, interval: "1s" } }, worker),
    rules({ job: "mail" }, worker),
    rules({ job: "other" }, worker),
  ].map(({ retry }) => retry.limit);
  assertEquals(limits, [3, 2, 1]);
  const timeouts = [
    rules({ job: "mail", timeoutMs: 1_000 }, worker),
    rules({ job: "mail" }, worker),
    rules({ job: "other" }, worker),
  ].map(({ timeoutMs }) => timeoutMs);
  assertEquals(timeouts, [1_000, 2_000, 30_000]);
});

Deno.test("resolveRules() reads policies of earlier versions, whose durations are numbers of seconds", () => {
  const { retry } = rules({ retry: { limit: 3, interval: 60 } });
  assertEquals(retry.backoff, { kind: "fixed", intervalMs: 60_000 });
});

Deno.test("resolveRules() takes null for no retries, wherever it is", () => {
  const none = NO_RETRY_POLICY;
  assertEquals(rules({ retry: null }).retry, none);
  assertEquals(rules({}, { ...PLAIN, retry: null }).retry, none);
  const worker = {
    ...PLAIN,
    retry: { limit: 1 },
    jobs: { a: { retry: null } },
  };
  assertEquals(rules({ job: "a" }, worker).retry, none);
});

Deno.test("resolveRules() finds no job in what objects inherit", () => {
  const jobs = Object.create({ mail: { timeoutMs: 1_000 } });
  assertEquals(rules({ job: "mail" }, { ...PLAIN, jobs }).timeoutMs, 30_000);
});

Deno.test("resolveRules() reads the schedule with its bounds", () => {
  const { schedule } = rules({
    repeat: repeatWith({ cron: "0 2 * * *", limit: 4, untilMs: 9 }),
  });
  assertEquals(schedule?.timing.kind, "cron");
  assertEquals([schedule?.limit, schedule?.untilMs], [4, 9]);
  const endless = rules({ repeat: repeatWith() }).schedule;
  assert(endless !== undefined);
  assertEquals([endless.limit, endless.untilMs], [undefined, undefined]);
});

Deno.test("resolveRules() keeps how long tasks are kept", () => {
  const cache = new RuleCache(1);
  const options = { cache, retentionMs: 5 };
  assertEquals(resolveRules(definitionWith(), PLAIN, options).retentionMs, 5);
});

Deno.test("resolveRules() throws when what is stored can't be read", () => {
  assertThrows(() => rules({ retry: { limit: -1 } }), TypeError, "limit");
  assertThrows(
    () => rules({ repeat: repeatWith({ cron: "nonsense" }) }),
    TypeError,
    "nonsense",
  );
});

Deno.test("RuleCache gives the same value for the same text", () => {
  const cache = new RuleCache(10);
  const repeat = repeatWith({ cron: "0 2 * * *" });
  const retry = { limit: 1 };
  const first = rules({ repeat, retry }, PLAIN, cache);
  const again = rules(
    { repeat: { ...repeat }, retry: { limit: 1 } },
    PLAIN,
    cache,
  );
  assertStrictEquals(first.retry, again.retry);
  assertStrictEquals(first.schedule?.timing, again.schedule?.timing);
  const timezone = "Europe/Stockholm";
  const elsewhere = rules({ repeat, timezone }, PLAIN, cache);
  assert(elsewhere.schedule?.timing !== first.schedule?.timing);
});

Deno.test("RuleCache forgets what was not used for longest when it is full", () => {
  const cache = new RuleCache(2);
  let made = 0;
  const read = (text: string): void => {
    cache.retry(text, () => {
      made++;
      return NO_RETRY_POLICY;
    });
  };
  ["a", "b", "a", "c", "a", "c"].forEach(read);
  assertEquals(made, 3);
  read("b");
  assertEquals(made, 4);
});

Deno.test("firstRetain() takes for each outcome the first level that says something", () => {
  assertEquals(firstRetain(undefined, undefined, undefined), undefined);
  assertEquals(
    firstRetain({ succeededMs: 1 }, { succeededMs: 2, failedMs: 3 }, {
      failedMs: 4,
    }),
    { succeededMs: 1, failedMs: 3 },
  );
  assertEquals(firstRetain({}, undefined, { failedMs: 0 }), {
    succeededMs: undefined,
    failedMs: 0,
  });
});
