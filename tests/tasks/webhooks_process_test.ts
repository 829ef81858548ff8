import { assert, assertEquals } from "@std/assert";
import { sharedPostgres } from "../support/postgres_server.ts";
import { serviceTest } from "../support/services.ts";
import { startTasks, type TasksProcess } from "../support/tasks_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { DataFolder } from "./data_folder.ts";
import { EventReceiver } from "./event_receiver.ts";
import { TasksClient } from "./tasks_client.ts";
import {
  createOwnerKey,
  getTarget,
  makeTenant,
  SERVICE_HOST,
} from "./tenant_client.ts";

const SERVER = sharedPostgres({ settings: { fsync: "off" } });
const HOST = `acme.${SERVICE_HOST}`;
const KILLS = 2;
/** How many tasks are made between two kills. */
const BETWEEN_KILLS = 40;
const SENDERS = 4;
const WAIT_MS = 60_000;
/** The most tasks whose events may still wait for a later retry. */
const MAX_WAITING = 10;

interface MadeWebhook {
  readonly id: string;
  readonly signing_secret: string;
}

interface DeliveryList {
  readonly data: readonly {
    readonly id: string;
    readonly event: string;
    readonly status: string;
    readonly attempts: number;
  }[];
}

Deno.test("a webhook is sent events that standardwebhooks verifies, also while its secret is replaced", async () => {
  await using folder = await DataFolder.make();
  await using receiver = new EventReceiver();
  await receiver.start();
  const service = await startTasks({ dataDir: folder.path });
  using client = await makeTenant(service);
  await client.expect(201, ["POST", "/api/v1/workers", { name: "mailer" }]);
  const { id, signing_secret: first } = await client.expect<MadeWebhook>(201, [
    "POST",
    "/api/v1/webhooks",
    { url: receiver.url, types: ["task.created"] },
  ]);
  receiver.secrets.push(first);
  const makeTask = () =>
    client.expect<{ readonly id: string }>(201, [
      "POST",
      "/api/v1/tasks",
      { worker: "mailer", data: { secret: "sesame" } },
    ]);
  const task = await makeTask();
  await waitUntil(() => receiver.events.length === 1, { what: "an event" });
  const [sent] = receiver.events;
  assert(sent !== undefined);
  assertEquals(sent.event.data.task, task.id);
  assertEquals(sent.event.id, sent.id);
  assertEquals(sent.signedBy, [0]);
  assert(!JSON.stringify(sent).includes("sesame"));

  const rotated = await client.expect<MadeWebhook>(200, [
    "POST",
    `/api/v1/webhooks/${id}/rotate`,
  ]);
  receiver.secrets.push(rotated.signing_secret);
  await makeTask();
  await waitUntil(() => receiver.events.length === 2, { what: "an event" });
  assertEquals(receiver.events[1]?.signedBy, [0, 1]);

  const tested = await client.expect<{ readonly outcome: string }>(200, [
    "POST",
    `/api/v1/webhooks/${id}/test`,
  ]);
  assertEquals(tested.outcome, "delivered");
  assertEquals(receiver.events[2]?.event.type, "webhook.test");
  assertEquals(receiver.events[2]?.signedBy, [0, 1]);

  const { data: [delivery] } = await client.expect<DeliveryList>(200, [
    "GET",
    `/api/v1/deliveries?task=${task.id}&status=delivered&type=task.created`,
  ]);
  assertEquals([delivery?.event, delivery?.attempts], [sent.id, 1]);
  await client.expect(200, [
    "POST",
    `/api/v1/deliveries/${delivery?.id}/redeliver`,
  ]);
  await waitUntil(() => receiver.events.length === 4, { what: "an event" });
  assertEquals(receiver.events[3]?.id, sent.id);
  assertEquals(receiver.events[3]?.event, sent.event);
  await service.stop();
});

Deno.test("a webhook is sent each acknowledged change, in order, over kills of service and receiver", async () => {
  await using folder = await DataFolder.make();
  let service = await startTasks({ dataDir: folder.path });
  await deliverOverKills({
    service: () => service,
    async kill() {
      await service.kill();
      service = await startTasks({ dataDir: folder.path });
    },
  });
  await service.stop();
});

serviceTest(["postgres"], {
  name:
    "a webhook is sent each acknowledged change, in order, over kills of instances on PostgreSQL and of the receiver",
  async fn() {
    await using folder = await DataFolder.make();
    const env = {
      STORE: "postgres",
      DATABASE_URL: SERVER.url,
      DATABASE_SCHEMA: SERVER.nextSchema(),
    };
    const start = () => startTasks({ dataDir: folder.path, env });
    const running = [await start(), await start()];
    let turn = 0;
    await deliverOverKills({
      service: () => running[turn++ % running.length]!,
      async kill() {
        await running.shift()!.kill();
        running.push(await start());
      },
    });
    for (const service of running) await service.stop();
  },
});

/** Makes and cancels tasks while processes are killed, and checks the calls. */
async function deliverOverKills(
  { service, kill }: {
    readonly service: () => TasksProcess;
    readonly kill: () => Promise<void>;
  },
): Promise<void> {
  await using receiver = new EventReceiver();
  await receiver.start();
  const token = await createOwnerKey(service(), "acme");
  const open = (): TasksClient => {
    const target = getTarget(service());
    return new TasksClient({ target: () => target, host: HOST, token });
  };
  using client = open();
  await client.expect(201, ["POST", "/api/v1/workers", { name: "mailer" }]);
  const { signing_secret: secret } = await client.expect<MadeWebhook>(201, [
    "POST",
    "/api/v1/webhooks",
    { url: receiver.url },
  ]);
  receiver.secrets.push(secret);
  const made: string[] = [];
  const canceled: string[] = [];
  let isOver = false;
  const sending = Array.from({ length: SENDERS }, async () => {
    while (!isOver) {
      using sender = open();
      try {
        while (!isOver) {
          const { id } = await sender.expect<{ readonly id: string }>(201, [
            "POST",
            "/api/v1/tasks",
            { worker: "mailer" },
          ]);
          made.push(id);
          await sender.expect(200, ["POST", `/api/v1/tasks/${id}/cancel`, {}]);
          canceled.push(id);
        }
      } catch {
        // The service was killed; what it did not answer for may be or not.
      }
    }
  });
  for (let kills = 1; kills <= KILLS; kills++) {
    await waitUntil(() => made.length >= kills * BETWEEN_KILLS, {
      what: "tasks",
      timeoutMs: WAIT_MS,
    });
    await receiver.kill();
    await kill();
    await receiver.start();
  }
  isOver = true;
  await Promise.all(sending);
  const told = (type: string): ReadonlySet<string> =>
    new Set(
      receiver.events.flatMap(({ event }) =>
        event.type === type ? event.data.task ?? [] : []
      ),
    );
  // A delivery whose outage was short and met it twice waits for minutes.
  const waits = async (task: string): Promise<boolean> => {
    using asking = open();
    const { data } = await asking.expect<
      { readonly data: readonly { readonly status: string }[] }
    >(200, ["GET", `/api/v1/deliveries?status=retrying&task=${task}`]);
    return data.length > 0;
  };
  await waitUntil(async () => {
    const [one, other] = [told("task.created"), told("task.canceled")];
    const missing = [
      ...made.filter((id) => !one.has(id)),
      ...canceled.filter((id) => !other.has(id)),
    ];
    if (missing.length > MAX_WAITING) return false;
    const waiting = await Promise.all(missing.map(waits));
    return waiting.every((is) => is);
  }, { what: "all events", timeoutMs: WAIT_MS, intervalMs: 250 });
  for (const id of made) {
    const types = receiver.typesOf(id);
    assert(
      ["", "task.created", "task.created,task.canceled"].includes(
        String(types),
      ),
      `${id}: ${types}`,
    );
  }
  // The same event has the same id, so that doubles can be told.
  const texts = new Map<string, string>();
  for (const { id, event, signedBy } of receiver.events) {
    const text = JSON.stringify(event);
    assertEquals(texts.get(id) ?? text, text);
    texts.set(id, text);
    assertEquals(signedBy, [0]);
  }
  const names = new Set([...texts.values()].map((text) => {
    const { data, type } = JSON.parse(text);
    return `${data.task} ${type}`;
  }));
  assertEquals(names.size, texts.size, "an event has two ids");
}
