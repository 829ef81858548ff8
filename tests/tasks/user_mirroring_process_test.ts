import { assertEquals } from "@std/assert";
import { startTasks } from "../support/tasks_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { DataFolder } from "./data_folder.ts";
import { makeTenant } from "./tenant_client.ts";

Deno.test("tasks mirrors a user at the identity provider after it was killed in the middle of that", async () => {
  await using folder = await DataFolder.make();
  const calls: { readonly path: string; readonly body: string }[] = [];
  const hanging = new Set<() => void>();
  let isHanging = true;
  await using provider = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    onListen: () => {},
  }, async (request) => {
    const body = await request.text();
    if (request.method === "GET") return Response.json([]);
    calls.push({
      path: `${request.method} ${new URL(request.url).pathname}`,
      body,
    });
    if (isHanging) await new Promise<void>((resolve) => hanging.add(resolve));
    return Response.json({ user_id: "auth0|1" }, { status: 201 });
  });
  const options = {
    dataDir: folder.path,
    env: {
      IDP_URL: `http://127.0.0.1:${provider.addr.port}`,
      IDP_ACCESS_TOKEN: "management-token",
      IDP_MIRROR_USERS: "true",
    },
  };
  {
    await using service = await startTasks(options);
    using client = await makeTenant(service);
    const body = { email: "ada@example.com" };
    // The process ends before it answers.
    const asked = client.call("POST", "/api/v1/users", { body })
      .catch(() => undefined);
    await waitUntil(() => calls.length === 1, { what: "the call" });
    await service.kill();
    assertEquals(await asked, undefined);
  }
  isHanging = false;
  await using _again = await startTasks(options);
  await waitUntil(() => calls.length === 2, { what: "the call again" });
  for (const end of hanging) end();
  const sent = calls.map(({ path, body }) => {
    const { email, app_metadata } = JSON.parse(body);
    return { path, email, user: app_metadata.user_id };
  });
  assertEquals(sent[1], sent[0]);
  assertEquals([sent[0]?.path, sent[0]?.email], [
    "POST /api/v2/users",
    "ada@example.com",
  ]);
});
