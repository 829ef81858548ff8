import { assert, assertEquals } from "@std/assert";
import type { Webhook } from "../../domain/records.ts";
import type { Task } from "../../domain/task.ts";
import type { PushOutcome } from "../../delivery/push_answer.ts";
import type { PushRequest } from "../../delivery/push_call.ts";
import { createRing } from "../../secrets/testing/keys.ts";
import { TENANT_ID } from "../testing/test_engine.ts";
import { answered, openTestPush, type TestPush } from "../testing/test_push.ts";
import { internalTenant } from "../workers.ts";
import { placeOfNow, WebhookFeed } from "./webhook_feed.ts";
import { MAX_FAILING_MS } from "./webhook_call.ts";
import {
  countOpen,
  healthWrite,
  loadState,
  placeWrite,
} from "./webhook_state.ts";

const HOUR_MS = 3_600_000;
/** The most deliveries of a webhook that are under way. */
const MAX_OPEN = 20;

interface World extends TestPush {
  readonly feed: WebhookFeed;
  /** Lets some time pass, in steps. */
  pass(forMs: number, stepMs?: number): Promise<void>;
  webhook(patch?: Partial<Webhook>): Promise<Webhook>;
  /** The types that were told of a task, in their order, without doubles. */
  told(task: Pick<Task, "id">): readonly string[];
}

interface Told {
  readonly id: string;
  readonly type: string;
  readonly data: { readonly task?: string; readonly target?: string };
}

const readBody = ({ body }: Pick<PushRequest, "body">): Told =>
  JSON.parse(body);

async function open(
  answer: (request: PushRequest) => PushOutcome,
): Promise<World> {
  const world = await openTestPush({ answer, masterKeys: createRing("k") });
  const { parts, engine, clock, vault, calls } = world;
  const feed = new WebhookFeed({
    parts,
    changes: engine.changes,
    maxOpen: MAX_OPEN,
  });
  await world.start();
  feed.start();
  return {
    ...world,
    feed,
    async pass(forMs, stepMs = 50) {
      for (let at = 0; at < forMs; at += stepMs) await clock.advance(stepMs);
    },
    async webhook(patch = {}) {
      const { key, writes } = await vault.keys.ticket(TENANT_ID);
      const id = parts.newId("whk");
      const name = { tenantId: TENANT_ID, id };
      const { stored } = vault.newSigning(name, { key, number: 1 });
      const webhook: Webhook = {
        ...name,
        version: 1,
        name: "",
        url: "https://hooks.example/a",
        types: ["task.*"],
        isEnabled: true,
        signing: [stored],
        createdAtMs: clock.nowMs(),
        updatedAtMs: clock.nowMs(),
        ...patch,
      };
      const place = await placeOfNow(parts, TENANT_ID);
      await parts.store.commit([{
        writes: [
          ...writes,
          parts.repositories.webhooks.insert(webhook),
          placeWrite(webhook, place, 0),
        ],
      }]);
      return webhook;
    },
    told({ id }) {
      const bodies = calls.map(readBody).filter(({ data }) => data.task === id);
      return [...new Map(bodies.map((body) => [body.id, body.type])).values()];
    },
    async stop() {
      const stopping = feed.stop();
      await clock.advance(100);
      await stopping;
      await world.stop();
    },
  };
}

Deno.test("WebhookFeed tells a webhook what happens to tasks, in order, signed and once", async () => {
  const world = await open(() => answered(204));
  await world.webhook();
  await world.pass(1_000);
  const worker = await world.worker();
  const task = await world.task(worker);
  await world.complete((await world.lease(worker))[0]);
  await world.pass(2_000);
  assertEquals(world.told(task), [
    "task.created",
    "task.started",
    "task.succeeded",
    "task.completed",
  ]);
  const [call] = world.calls;
  assert(call !== undefined);
  assertEquals(call.headers["webhook-id"], readBody(call).id);
  assert(call.headers["webhook-signature"]?.startsWith("v1,"));
  assertEquals(world.calls.length, 4);
  await world.stop();
});

Deno.test("WebhookFeed tells only what the webhook's filters let pass", async () => {
  const world = await open(() => answered(200));
  const worker = await world.worker();
  await world.webhook({
    types: ["task.created", "worker.*"],
    workerId: worker.id,
    job: "a",
    group: "g",
  });
  await world.pass(1_000);
  const wanted = await world.task(worker, { job: "a", group: "g" });
  await world.task(worker, { job: "b", group: "g" });
  await world.task(worker, { job: "a", group: "h" });
  await world.pass(2_000);
  assertEquals(world.calls.map((call) => readBody(call).data.task), [
    wanted.id,
  ]);
  await world.stop();
});

Deno.test("WebhookFeed gives a receiver that was down for an hour all in order", async () => {
  let isDown = true;
  const got: Told[] = [];
  const world = await open((request) => {
    if (isDown) return answered(503);
    got.push(readBody(request));
    return answered(200);
  });
  const webhook = await world.webhook();
  const worker = await world.worker();
  const tasks: Task[] = [];
  for (let count = 0; count < 5; count++) {
    const task = await world.task(worker);
    await world.apply(task, { kind: "cancel" });
    tasks.push(task);
    await world.pass(HOUR_MS / 5, 10_000);
  }
  assertEquals(got, []);
  const failing = await loadState(world.parts, webhook);
  assert(failing.health !== undefined);
  isDown = false;
  // The next try of the first one has all others tried at once.
  await world.pass(2 * HOUR_MS, 30_000);
  for (const task of tasks) {
    assertEquals(
      got.filter(({ data }) => data.task === task.id).map(({ type }) => type),
      ["task.created", "task.canceled"],
    );
  }
  assertEquals(new Set(got.map(({ id }) => id)).size, got.length);
  assertEquals(await loadState(world.parts, webhook), {
    ...failing,
    health: undefined,
    open: 0,
  });
  await world.stop();
});

Deno.test("WebhookFeed keeps an event back while an earlier one of its task is tried again", async () => {
  let refusals = 1;
  const world = await open(() => answered(refusals-- > 0 ? 500 : 200));
  await world.webhook();
  const worker = await world.worker();
  const task = await world.task(worker);
  await world.pass(500);
  await world.apply(task, { kind: "cancel" });
  await world.pass(1_000);
  assertEquals(world.told(task), ["task.created"]);
  await world.pass(10_000);
  assertEquals(world.calls.map((call) => readBody(call).type), [
    "task.created",
    "task.created",
    "task.canceled",
  ]);
  const [first, second] = world.calls;
  assertEquals(first?.headers["webhook-id"], second?.headers["webhook-id"]);
  assertEquals(first?.body, second?.body);
  await world.stop();
});

Deno.test("WebhookFeed disables a webhook that answers 410, and tells that", async () => {
  const world = await open(({ url }) =>
    answered(url.endsWith("/gone") ? 410 : 200)
  );
  const gone = await world.webhook({ url: "https://hooks.example/gone" });
  await world.webhook({ types: ["webhook.*"] });
  const worker = await world.worker();
  await world.task(worker);
  await world.pass(3_000);
  const now = await world.parts.repositories.webhooks.get(TENANT_ID, gone.id);
  assertEquals([now?.isEnabled, now?.disabledReason], [false, "gone"]);
  const told = world.calls.map(readBody)
    .filter(({ type }) => type === "webhook.disabled");
  assertEquals(told.map(({ data }) => data.target), [gone.id]);
  const calls = world.calls.length;
  await world.task(worker);
  await world.pass(3_000);
  assertEquals(world.calls.length, calls);
  await world.stop();
});

Deno.test("WebhookFeed disables a webhook after 5 days of nothing but failures", async () => {
  const world = await open(() => answered(500));
  const webhook = await world.webhook();
  const worker = await world.worker();
  const health = {
    failingSinceMs: world.clock.nowMs() - MAX_FAILING_MS + 10_000,
  };
  await world.parts.store.commit([{
    writes: [healthWrite(webhook, health, 0)],
  }]);
  await world.task(worker);
  await world.pass(2_000);
  const { webhooks } = world.parts.repositories;
  assertEquals((await webhooks.get(TENANT_ID, webhook.id))?.isEnabled, true);
  await world.pass(10_000);
  await world.task(worker);
  await world.pass(2_000);
  const now = await webhooks.get(TENANT_ID, webhook.id);
  assertEquals([now?.isEnabled, now?.disabledReason], [false, "failing"]);
  await world.stop();
});

Deno.test("WebhookFeed bounds the deliveries of a webhook that is down, and holds up no other", async () => {
  let isDown = true;
  const got = new Set<string>();
  const world = await open(({ url, body }) => {
    if (url.endsWith("/down") && isDown) return answered(503);
    if (url.endsWith("/down")) got.add(readBody({ body }).data.task ?? "");
    return answered(200);
  });
  const down = await world.webhook({
    url: "https://hooks.example/down",
    types: ["task.created"],
  });
  const up = await world.webhook({ types: ["task.created"] });
  const worker = await world.worker();
  const made: string[] = [];
  for (let count = 0; count < MAX_OPEN + 10; count++) {
    made.push((await world.task(worker)).id);
  }
  await world.pass(20_000);
  assertEquals(await countOpen(world.store, down), MAX_OPEN);
  assertEquals(await countOpen(world.store, up), 0);
  isDown = false;
  await world.pass(HOUR_MS, 10_000);
  assertEquals(await countOpen(world.store, down), 0);
  assertEquals(made.filter((id) => !got.has(id)), []);
  await world.stop();
});

Deno.test("WebhookFeed tells that events are gone that had no room in time", async () => {
  const world = await open(() => answered(200));
  const webhook = await world.webhook({ types: ["webhook.missed"] });
  const { value, version } = { value: { cursor: "other-1" }, version: 1 };
  await world.parts.store.commit([{
    writes: [placeWrite(webhook, value, version)],
  }]);
  await world.pass(20_000);
  assertEquals(world.calls.map((call) => readBody(call).data.target), [
    webhook.id,
  ]);
  const { place } = await loadState(world.parts, webhook);
  assert(place?.missedAtMs !== undefined);
  await world.stop();
});

Deno.test("WebhookFeed makes each delivery once when two instances do it", async () => {
  const world = await open(() => answered(200));
  await world.webhook();
  const { parts, engine } = world;
  const other = new WebhookFeed({ parts, changes: engine.changes });
  other.start();
  const worker = await world.worker();
  for (let count = 0; count < 20; count++) await world.task(worker);
  await world.pass(3_000);
  const ids = world.calls.map((call) => call.headers["webhook-id"]);
  assertEquals(ids.length, 20);
  assertEquals(new Set(ids).size, 20);
  const stopping = other.stop();
  await world.clock.advance(100);
  await stopping;
  await world.stop();
});

Deno.test("WebhookFeed's deliveries are no callbacks", async () => {
  const world = await open(() => answered(200));
  await world.webhook();
  await world.task(await world.worker());
  // The survey of callbacks looks at all ended ones once a minute.
  await world.pass(120_000, 1_000);
  const counts = await world.store.counts({
    tenantId: internalTenant(TENANT_ID),
  });
  assertEquals(counts.complete, 1);
  assertEquals(world.logger.listMessages("error"), []);
  await world.stop();
});
