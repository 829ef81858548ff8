import { assert, assertEquals } from "@std/assert";
import { sharedPostgres } from "../support/postgres_server.ts";
import { serviceTest } from "../support/services.ts";
import { startTasks, type TasksProcess } from "../support/tasks_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { DataFolder } from "./data_folder.ts";
import { EventClient, type ReadEvent } from "./event_client.ts";
import { TasksClient } from "./tasks_client.ts";
import { createOwnerKey, getTarget, SERVICE_HOST } from "./tenant_client.ts";

const SERVER = sharedPostgres({ settings: { fsync: "off" } });
const HOST = `acme.${SERVICE_HOST}`;
const KILLS = 2;
/** How many tasks are made between two kills. */
const BETWEEN_KILLS = 150;
const SENDERS = 8;

interface Places {
  /** A client of the first instance that runs. */
  readonly client: TasksClient;
  readonly token: string;
}

async function open(service: () => TasksProcess): Promise<Places> {
  const token = await createOwnerKey(service(), "acme");
  const target = () => getTarget(service());
  const client = new TasksClient({ target, host: HOST, token });
  await client.expect(201, ["POST", "/api/v1/workers", { name: "mailer" }]);
  return { client, token };
}

const portOf = (service: TasksProcess): number => getTarget(service).port;

Deno.test("GET /v1/events tells what happens to tasks, and goes on after a restart", async () => {
  await using folder = await DataFolder.make();
  let service = await startTasks({ dataDir: folder.path });
  const { client, token } = await open(() => service);
  using reader = new EventClient({ port: () => portOf(service), token });
  assertEquals(await reader.connect(), 200);
  const task = { worker: "mailer", job: "j", data: { secret: "sesame" } };
  const { id } = await client.expect<{ id: string }>(201, [
    "POST",
    "/api/v1/tasks",
    task,
  ]);
  await waitUntil(() => reader.events.length > 0, { what: "an event" });
  const [created] = reader.events;
  assert(created?.event === "task.created");
  assertEquals(created.data.id, created.id);
  assertEquals(created.data.data.task, id);
  assertEquals(created.data.data["job"], "j");
  assertEquals(created.data.data["status"], "waiting");
  assert(!JSON.stringify(created).includes("sesame"));

  await service.stop();
  await waitUntil(() => !reader.isOpen, { what: "the end of the stream" });
  service = await startTasks({ dataDir: folder.path });
  client[Symbol.dispose]();
  const target = getTarget(service);
  using later = new TasksClient({ target: () => target, host: HOST, token });
  await later.expect(200, ["POST", `/api/v1/tasks/${id}/cancel`, {}]);
  assertEquals(await reader.connect(), 200);
  await waitUntil(() => reader.events.length > 1, { what: "another event" });
  assertEquals(reader.events.map(({ event }) => event), [
    "task.created",
    "task.canceled",
  ]);
  await service.stop();
});

Deno.test("GET /v1/events tells each acknowledged change once, in order, over kills", async () => {
  await using folder = await DataFolder.make();
  let service = await startTasks({ dataDir: folder.path });
  await readOverKills({
    service: () => service,
    port: () => portOf(service),
    async kill() {
      await service.kill();
      service = await startTasks({ dataDir: folder.path });
    },
  });
  await service.stop();
});

serviceTest(["postgres"], {
  name:
    "GET /v1/events tells each acknowledged change once, in order, over kills of instances on PostgreSQL",
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
    await readOverKills({
      service: () => running[turn++ % running.length]!,
      port: () => portOf(running[turn++ % running.length]!),
      async kill() {
        await running.shift()!.kill();
        running.push(await start());
      },
    });
    for (const service of running) await service.stop();
  },
});

/** Makes and cancels tasks while services are killed, and checks the events. */
async function readOverKills(
  { service, port, kill }: {
    readonly service: () => TasksProcess;
    readonly port: () => number;
    readonly kill: () => Promise<void>;
  },
): Promise<void> {
  const { client, token } = await open(service);
  client[Symbol.dispose]();
  using reader = new EventClient({ port, token, query: "type=task.*" });
  assertEquals(await reader.connect(), 200);
  const following = reader.follow();
  const made: string[] = [];
  const canceled: string[] = [];
  let isOver = false;
  const sending = Array.from({ length: SENDERS }, async () => {
    while (!isOver) {
      const target = getTarget(service());
      using sender = new TasksClient({
        target: () => target,
        host: HOST,
        token,
      });
      try {
        while (!isOver) {
          const { id } = await sender.expect<{ id: string }>(201, [
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
    });
    await kill();
  }
  await waitUntil(() => made.length >= (KILLS + 1) * BETWEEN_KILLS, {
    what: "tasks",
  });
  isOver = true;
  await Promise.all(sending);
  const told = (event: string): string[] =>
    reader.events.filter((one) => one.event === event)
      .map(({ data }) => data.data.task ?? "");
  await waitUntil(() => {
    const [one, other] = [new Set(told("task.created")), told("task.canceled")];
    return made.every((id) => one.has(id)) &&
      canceled.every((id) => other.includes(id));
  }, { what: "all events" });
  reader[Symbol.dispose]();
  await following;
  assertEquals(reader.events.filter(({ event }) => event === "reset"), []);
  assert(reader.statuses.length > KILLS, "the reader was never cut off");
  const ids = reader.events.map(({ id }) => id);
  assertEquals(new Set(ids).size, ids.length, "an event was told twice");
  for (const [task, events] of Map.groupBy(reader.events, toTask)) {
    const types = events.map(({ event }) => event);
    assert(
      ["task.created", "task.created,task.canceled"].includes(String(types)),
      `${task}: ${types}`,
    );
  }
}

function toTask({ data }: ReadEvent): string {
  return data.data.task ?? "";
}
