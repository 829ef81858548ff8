import { assert, assertEquals } from "@std/assert";
import { EVENT_TYPES, type EventType } from "../../domain/event_types.ts";
import {
  openTestEngine,
  TENANT_ID,
  type TestEngine,
} from "../testing/test_engine.ts";
import { SharedFilters, toFilter } from "./event_batch.ts";
import type { EventReader } from "./event_reader.ts";

interface Read {
  readonly event: string | undefined;
  readonly id: string | undefined;
  readonly json: {
    readonly id: string;
    readonly data: Readonly<Record<string, unknown>>;
  };
}

/** Opens a reader of the tenant of the tests. */
async function open(
  { parts, clock }: Pick<TestEngine, "parts" | "clock">,
  { types = EVENT_TYPES, ...options }: {
    readonly types?: readonly EventType[];
    readonly taskId?: string;
    readonly after?: string;
    readonly everyMs?: number;
  } = {},
): Promise<EventReader> {
  const { taskId, ...more } = options;
  const opening = parts.events.open({
    tenantId: TENANT_ID,
    filter: toFilter({ types: new Set(types), taskId }),
    ...more,
  });
  await clock.advance(0);
  const opened = await opening;
  assert(opened.kind === "ok");
  return opened.reader;
}

/** All that waits for a reader, after a moment. */
async function take(
  { clock }: Pick<TestEngine, "clock">,
  reader: EventReader,
): Promise<readonly Read[]> {
  await clock.advance(50);
  // Something always waits for `next()`, so that it does not wait for more.
  reader.put(new TextEncoder().encode(":\n\n"));
  const bytes = await reader.next();
  const text = new TextDecoder().decode(bytes);
  return text.split("\n\n").flatMap((block): Read[] => {
    const field = (name: string) =>
      new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1];
    const data = field("data");
    if (data === undefined) return [];
    return [{ event: field("event"), id: field("id"), json: JSON.parse(data) }];
  });
}

const names = (read: readonly Read[]) => read.map(({ event }) => event);

Deno.test("EventFeeds tells what happens to a task, with its error", async () => {
  for (const limit of [0, 1]) {
    const test = await openTestEngine();
    const worker = await test.worker({ retry: { limit, interval: "PT1S" } });
    const reader = await open(test);
    const task = await test.task(worker, { key: "k" });
    const [grant] = await test.lease(worker);
    await test.fail(grant);
    const read = await take(test, reader);
    const [status, end] = limit === 0
      ? ["failed", "task.failed"]
      : ["retry", "task.retrying"];
    assertEquals(names(read), ["task.created", "task.started", end]);
    const { id, json } = read[2]!;
    assertEquals(json.id, id);
    assertEquals(json.data["task"], task.id);
    assertEquals(json.data["status"], status);
    assertEquals(json.data["key"], "k");
    assertEquals(json.data["attempt"], grant?.task.attempt?.id);
    assertEquals(typeof Object(json.data["error"]).code, "string");
    await test.parts.events.stop();
  }
});

Deno.test("EventFeeds goes on after any event, and shows those of a filter", async () => {
  const test = await openTestEngine();
  const worker = await test.worker();
  const reader = await open(test);
  const tasks = [];
  for (let index = 0; index < 5; index++) tasks.push(await test.task(worker));
  const read = await take(test, reader);
  assertEquals(read.length, 5);
  const after = read[1]?.id;
  assert(after !== undefined);
  const later = await open(test, { after });
  const one = await open(test, { after, taskId: tasks[3]!.id });
  assertEquals(
    (await take(test, later)).map(({ id }) => id),
    read.slice(2).map(({ id }) => id),
  );
  await test.task(worker);
  assertEquals((await take(test, later)).length, 1);
  assertEquals(
    (await take(test, one)).map(({ json }) => json.data["task"]),
    [tasks[3]!.id],
  );
  await test.parts.events.stop();
});

Deno.test("EventFeeds tells of a reset where events are missing", async () => {
  const test = await openTestEngine();
  const reader = await open(test, { after: "unknown-1" });
  assertEquals(names(await take(test, reader)), ["reset"]);
  await test.parts.events.stop();
});

Deno.test("EventFeeds listens again, and tells of a reset once, when events are no longer kept", async () => {
  const test = await openTestEngine();
  const worker = await test.worker();
  const reader = await open(test);
  await test.task(worker);
  assertEquals(names(await take(test, reader)), ["task.created"]);
  await test.store.commit([{
    writes: [{ kind: "listen", tenantId: TENANT_ID, untilMs: 0 }],
  }]);
  await test.store.sweep(test.clock.nowMs(), 100);
  await test.clock.advance(3_000);
  assertEquals(names(await take(test, reader)), ["reset"]);
  await test.task(worker);
  assertEquals(names(await take(test, reader)), ["task.created"]);
  await test.parts.events.stop();
});

Deno.test("EventFeeds sends a digest at most once in its time", async () => {
  const test = await openTestEngine();
  const worker = await test.worker();
  const reader = await open(test, { everyMs: 1_000 });
  const same = await open(test, { everyMs: 1_000, after: "unknown-1" });
  assertEquals(names(await take(test, same)), ["reset"]);
  await test.task(worker);
  const first = await take(test, reader);
  assertEquals(first.map(({ json }) => json.data["counts"]), [
    { "task.created": 1 },
  ]);
  for (let index = 0; index < 3; index++) await test.task(worker);
  assertEquals(await take(test, reader), []);
  await test.clock.advance(1_000);
  const [digest, ...others] = await take(test, reader);
  assertEquals(others, []);
  assertEquals(digest?.json.data["counts"], { "task.created": 3 });
  assertEquals(names(await take(test, same)), ["digest", "digest"]);
  await test.parts.events.stop();
});

Deno.test("EventFeeds counts a part of very many events, says so, and goes on behind them", async () => {
  const test = await openTestEngine();
  const worker = await test.worker();
  const reader = await open(test, { everyMs: 1_000 });
  const failures = await open(test, { everyMs: 1_000, types: ["task.failed"] });
  for (let index = 0; index < 1_300; index++) await test.task(worker);
  const [digest] = await take(test, reader);
  assertEquals(digest?.json.data, {
    counts: { "task.created": 500 },
    more: true,
  });
  assertEquals(
    (await take(test, failures)).map(({ json }) => json.data),
    [{ counts: {}, more: true }],
  );
  await test.clock.advance(1_000);
  await test.task(worker);
  await test.clock.advance(1_000);
  const after = await take(test, reader);
  assertEquals(after.map(({ json }) => json.data), [
    { counts: { "task.created": 1 } },
  ]);
  // One that is told each event misses none that comes after it.
  const each = await open(test);
  for (let index = 0; index < 1_300; index++) await test.task(worker);
  const all = [];
  for (let round = 0; round < 5; round++) all.push(...await take(test, each));
  assertEquals(all.length, 1_300);
  await test.parts.events.stop();
});

Deno.test("EventFeeds cuts a reader that does not read, and keeps the others", async () => {
  const test = await openTestEngine();
  const worker = await test.worker();
  const [slow, fast] = [await open(test), await open(test)];
  for (let round = 0; round < 40 && !slow.isEnded; round++) {
    for (let index = 0; index < 100; index++) await test.task(worker);
    assertEquals((await take(test, fast)).length, 100);
  }
  assert(slow.isEnded);
  assertEquals(test.parts.events.counts.cut, 1);
  assertEquals(names(await take(test, slow)), ["cut"]);
  assertEquals(await slow.next(), undefined);
  assert(!fast.isEnded);
  await test.parts.events.stop();
});

Deno.test("EventFeeds gives a reader that comes again all it has missed, page by page", async () => {
  const test = await openTestEngine();
  const worker = await test.worker();
  const first = await open(test);
  await test.task(worker);
  const [begun] = await take(test, first);
  for (let index = 0; index < 1_300; index++) await test.task(worker);
  const again = await open(test, { after: begun!.id! });
  const ids: (string | undefined)[] = [];
  for (let round = 0; round < 20; round++) {
    ids.push(...(await take(test, again)).map(({ id }) => id));
  }
  assertEquals(ids.length, 1_300);
  assertEquals(new Set(ids).size, 1_300);
  await test.parts.events.stop();
});

Deno.test("EventFeeds opens no more readers than it may, and none when it stops", async () => {
  const test = await openTestEngine();
  const readers: EventReader[] = [];
  for (let count = 0; count < 2_000; count++) readers.push(await open(test));
  const filter = toFilter({ types: new Set(EVENT_TYPES) });
  const ask = { tenantId: TENANT_ID, filter };
  assertEquals(await test.parts.events.open(ask), {
    kind: "full",
    of: "tenant",
  });
  readers[7]?.cancel();
  assertEquals(test.parts.events.counts.readers, 1_999);
  assertEquals((await test.parts.events.open(ask)).kind, "ok");
  await test.parts.events.stop();
  assertEquals(test.parts.events.counts.readers, 0);
  await readers[0]?.next();
  assertEquals(await readers[0]?.next(), undefined);
  assertEquals((await test.parts.events.open(ask)).kind, "stopping");
});

Deno.test("SharedFilters gives one object for equal filters while it is used", () => {
  const filters = new SharedFilters();
  const make = (taskId: string) =>
    toFilter({ types: new Set(["task.created", "task.failed"]), taskId });
  const first = filters.take(make("a"));
  assertEquals(filters.take(make("a")) === first, true);
  assertEquals(filters.take(make("b")) === first, false);
  filters.give(first);
  assertEquals(filters.take(make("a")) === first, true);
  filters.give(first);
  filters.give(first);
  assertEquals(filters.take(make("a")) === first, false);
});
