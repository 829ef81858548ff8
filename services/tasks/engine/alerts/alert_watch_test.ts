import { assertEquals } from "@std/assert";
import type { Alert, WorkerDefinition } from "../../domain/records.ts";
import type { PushOutcome } from "../../delivery/push_answer.ts";
import type { PushRequest } from "../../delivery/push_call.ts";
import { createRing } from "../../secrets/testing/keys.ts";
import { TENANT_ID } from "../testing/test_engine.ts";
import { answered, openTestPush, type TestPush } from "../testing/test_push.ts";
import { AUTHORIZATION } from "../webhooks/webhook_call.ts";
import { alertBody } from "./alert_message.ts";
import { markAlerts } from "./alert_state.ts";
import { AlertWatch } from "./alert_watch.ts";

const MINUTE_MS = 60_000;

interface World extends TestPush {
  readonly watch: AlertWatch;
  pass(forMs: number): Promise<void>;
  alert(patch?: Partial<Alert>): Promise<Alert>;
  /** The types of what was sent. */
  sent(): readonly string[];
  /** Lets attempts of a worker fail. */
  failTasks(worker: WorkerDefinition, count: number): Promise<void>;
}

async function open(
  answer: (request: PushRequest) => PushOutcome = () => answered(200),
): Promise<World> {
  const world = await openTestPush({ answer, masterKeys: createRing("k") });
  const { parts, engine, clock, calls } = world;
  const watch = new AlertWatch({ parts, changes: engine.changes });
  await world.start();
  watch.start();
  return {
    ...world,
    watch,
    async pass(forMs) {
      for (let at = 0; at < forMs; at += 1_000) await clock.advance(1_000);
    },
    async alert(patch = {}) {
      const alert: Alert = {
        tenantId: TENANT_ID,
        id: parts.newId("alr"),
        version: 1,
        name: "",
        when: { count: "failed", over: 2, withinMs: 5 * MINUTE_MS },
        send: { url: "https://hooks.example/a", template: "standard" },
        quietMs: 0,
        isEnabled: true,
        signing: [],
        createdAtMs: clock.nowMs(),
        updatedAtMs: clock.nowMs(),
        ...patch,
      };
      await parts.store.commit([{
        writes: [
          parts.repositories.alerts.insert(alert),
          await markAlerts(parts.store, TENANT_ID),
        ],
      }]);
      return alert;
    },
    sent: () => calls.map(({ body }) => JSON.parse(body).type),
    async failTasks(worker, count) {
      for (let done = 0; done < count; done++) {
        await world.task(worker, { retry: null });
        const [grant] = await world.lease(worker);
        await world.fail(grant);
      }
    },
    async stop() {
      const stopping = watch.stop();
      await clock.advance(100);
      await stopping;
      await world.stop();
    },
  };
}

Deno.test("AlertWatch tells once that too much was counted, and once that it is over", async () => {
  const world = await open();
  await world.alert();
  const worker = await world.worker();
  await world.failTasks(worker, 2);
  await world.pass(MINUTE_MS);
  assertEquals(world.sent(), []);
  await world.failTasks(worker, 1);
  await world.pass(2 * MINUTE_MS);
  assertEquals(world.sent(), ["alert.raised"]);
  const { data } = JSON.parse(world.calls[0]?.body ?? "");
  assertEquals(
    [data.condition, data.counted],
    ["more than 2 attempts failed within 5 minutes", 3],
  );
  await world.pass(10 * MINUTE_MS);
  assertEquals(world.sent(), ["alert.raised", "alert.resolved"]);
  await world.stop();
});

Deno.test("AlertWatch counts only the tasks of the alert's worker and job", async () => {
  const world = await open();
  const [one, other] = [
    await world.worker({ name: "one" }),
    await world.worker({ name: "other" }),
  ];
  const when = { count: "created", over: 0, withinMs: MINUTE_MS } as const;
  await world.alert({ when: { ...when, workerId: one.id, job: "a" } });
  await world.task(one, { job: "b" });
  await world.task(other, { job: "a" });
  await world.pass(MINUTE_MS);
  assertEquals(world.sent(), []);
  await world.task(one, { job: "a" });
  await world.pass(30_000);
  assertEquals(world.sent(), ["alert.raised"]);
  await world.stop();
});

Deno.test("AlertWatch tells that nothing happened, once the alert is so old itself", async () => {
  const world = await open();
  await world.alert({ when: { count: "completed", withinMs: 10 * MINUTE_MS } });
  await world.pass(9 * MINUTE_MS);
  assertEquals(world.sent(), []);
  await world.pass(2 * MINUTE_MS);
  assertEquals(world.sent(), ["alert.raised"]);
  const worker = await world.worker();
  await world.task(worker);
  await world.complete((await world.lease(worker))[0]);
  await world.pass(MINUTE_MS);
  assertEquals(world.sent(), ["alert.raised", "alert.resolved"]);
  await world.stop();
});

Deno.test("AlertWatch raises an alert again only after its quiet time", async () => {
  const world = await open();
  const when = { count: "failed", over: 0, withinMs: MINUTE_MS } as const;
  await world.alert({ when, quietMs: 30 * MINUTE_MS });
  const worker = await world.worker();
  await world.failTasks(worker, 1);
  await world.pass(5 * MINUTE_MS);
  assertEquals(world.sent(), ["alert.raised", "alert.resolved"]);
  await world.failTasks(worker, 1);
  await world.pass(5 * MINUTE_MS);
  assertEquals(world.sent().length, 2);
  await world.pass(25 * MINUTE_MS);
  await world.failTasks(worker, 1);
  await world.pass(MINUTE_MS);
  assertEquals(world.sent().slice(2), ["alert.raised"]);
  await world.stop();
});

Deno.test("AlertWatch tells that it is over after that it was raised, also when the first is tried again", async () => {
  let refusals = 3;
  const world = await open(() => answered(refusals-- > 0 ? 503 : 200));
  const when = { count: "failed", over: 0, withinMs: MINUTE_MS } as const;
  await world.alert({ when });
  await world.failTasks(await world.worker(), 1);
  await world.pass(60 * MINUTE_MS);
  assertEquals(world.sent(), [
    ...["alert.raised", "alert.raised", "alert.raised", "alert.raised"],
    "alert.resolved",
  ]);
  assertEquals(new Set(world.calls.map(({ body }) => body)).size, 2);
  await world.stop();
});

Deno.test("AlertWatch tells once when two instances judge, and nothing of alerts that are disabled or gone", async () => {
  const world = await open();
  const { parts, engine } = world;
  const other = new AlertWatch({ parts, changes: engine.changes });
  other.start();
  const when = { count: "failed", over: 0, withinMs: MINUTE_MS } as const;
  await world.alert({ when });
  await world.alert({ when, isEnabled: false });
  const gone = await world.alert({ when });
  await parts.store.commit([{
    writes: [parts.repositories.alerts.remove(gone)],
  }]);
  await world.failTasks(await world.worker(), 1);
  await world.pass(30_000);
  assertEquals(world.sent(), ["alert.raised"]);
  const stopping = other.stop();
  await world.clock.advance(100);
  await stopping;
  await world.stop();
});

Deno.test("alerts send the header that their receiver is authorized by", async () => {
  const world = await open();
  const { key, writes } = await world.vault.keys.ticket(TENANT_ID);
  await world.parts.store.commit([{ writes }]);
  const id = world.parts.newId("alr");
  const authorization = world.vault.sealValue({ tenantId: TENANT_ID, id }, {
    ...{ key, name: AUTHORIZATION, text: "Bearer sesame" },
  });
  const when = { count: "created", over: 0, withinMs: MINUTE_MS } as const;
  const send = {
    url: "https://mail.example/send",
    template: "email",
    from: "a@example.com",
    to: "b@example.com",
    authorization,
  } as const;
  await world.alert({ id, when, send });
  await world.task(await world.worker());
  await world.pass(30_000);
  const [call] = world.calls;
  assertEquals(call?.headers["authorization"], "Bearer sesame");
  assertEquals(call?.body.includes("sesame"), false);
  await world.stop();
});

Deno.test("alertBody() writes each template as its receivers take it", () => {
  const alert: Alert = {
    tenantId: TENANT_ID,
    id: "alr_1",
    version: 1,
    name: "<!channel> & all",
    when: { count: "failed", over: 10, withinMs: 3_600_000, job: "mail" },
    send: { url: "https://hooks.example/", template: "slack" },
    quietMs: 0,
    isEnabled: true,
    signing: [],
    createdAtMs: 0,
    updatedAtMs: 0,
  };
  const facts = {
    news: "raised",
    id: "evt_1",
    counted: 14,
    atMs: 0,
    tenant: "acme",
    worker: "mailer",
  } as const;
  const told = "more than 10 attempts failed within an hour " +
    "(14; acme, worker mailer, job mail)";
  const body = (send: Partial<Alert["send"]>) =>
    JSON.parse(
      alertBody({ ...alert, send: { ...alert.send, ...send } }, facts),
    );
  assertEquals(body({}), {
    text: `Alert: &lt;!channel&gt; &amp; all: ${told}`,
  });
  assertEquals(body({ template: "discord" }), {
    content: `Alert: <!channel> & all: ${told}`,
    allowed_mentions: { parse: [] },
  });
  const [from, to] = ["a@example.com", "b@example.com"];
  const subject = `Alert: <!channel> & all: ${told}`;
  assertEquals(body({ template: "email", from, to }), {
    ...{ from, to, subject },
    text: `${subject}\n\n1970-01-01T00:00:00.000Z\n`,
  });
  assertEquals(body({ template: "standard" }).type, "alert.raised");
});
