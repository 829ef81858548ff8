import { assertEquals } from "@std/assert";
import { startTasks } from "../support/tasks_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { DataFolder } from "./data_folder.ts";
import { TasksConnection } from "./tasks_connection.ts";
import { getTarget, makeTenant } from "./tenant_client.ts";

/**
 * Incomplete requests, which end in the request line, in the head, and in the
 * body.
 */
const HALVES: readonly string[] = [
  "POST /api/v1/ta",
  "POST /api/v1/tasks HTTP/1.1\r\nhost: acme.tasks.test\r\ncontent-ty",
  "POST /api/v1/tasks HTTP/1.1\r\nhost: acme.tasks.test\r\n" +
  'content-type: application/json\r\ncontent-length: 100\r\n\r\n{"worker":',
];
const HELD = 1_000;

Deno.test("tasks answers others while 1,000 half-sent requests are held open", async () => {
  await using folder = await DataFolder.make();
  await using service = await startTasks({
    dataDir: folder.path,
    env: { HEADER_TIMEOUT: "5s", REQUEST_TIMEOUT: "5s" },
  });
  using client = await makeTenant(service);
  await client.expect(201, ["POST", "/api/v1/workers", { name: "mailer" }]);
  const held: Deno.Conn[] = [];
  let ended = 0;
  const endings: Promise<void>[] = [];
  try {
    const { port } = getTarget(service);
    const beganMs = performance.now();
    for (let index = 0; index < HELD; index++) {
      const connection = await Deno.connect({ hostname: "127.0.0.1", port });
      held.push(connection);
      const half = HALVES[index % HALVES.length] ?? "";
      await connection.write(new TextEncoder().encode(half));
      endings.push(waitForEnd(connection).then(() => void ended++));
    }
    for (let index = 0; index < 200; index++) {
      await client.expect(201, ["POST", "/api/v1/tasks", { worker: "mailer" }]);
    }
    // No incomplete request was cut off before its timeout to make room for
    // others.
    if (performance.now() - beganMs < 4_500) assertEquals(ended, 0);
    await waitUntil(() => ended === HELD, {
      what: "the end of the half-sent requests",
    });
    await client.expect(200, ["GET", "/api/v1/tasks"]);
  } finally {
    for (const connection of held) connection.close();
    await Promise.all(endings);
  }
  assertEquals(await service.stop(), 0);
});

Deno.test("tasks serves others when clients take no answers", async () => {
  await using folder = await DataFolder.make();
  await using service = await startTasks({ dataDir: folder.path });
  using client = await makeTenant(service);
  const lazy: TasksConnection[] = [];
  try {
    for (let index = 0; index < 50; index++) {
      const connection = await TasksConnection.open(getTarget(service));
      lazy.push(connection);
      // Sends pipelined requests for the largest response, and reads none of
      // the responses.
      const request = "GET /openapi.json HTTP/1.1\r\nhost: tasks.test\r\n\r\n";
      await connection.send(request.repeat(20));
    }
    for (let index = 0; index < 50; index++) {
      await client.expect(200, ["GET", "/api/v1/tasks"]);
    }
  } finally {
    for (const connection of lazy) connection.close();
  }
  assertEquals(await service.stop(), 0);
});

async function waitForEnd(connection: Deno.Conn): Promise<void> {
  const bytes = new Uint8Array(4_096);
  try {
    while (await connection.read(bytes) !== null);
  } catch {
    // The connection was cut by the other side or closed by the test.
  }
}
