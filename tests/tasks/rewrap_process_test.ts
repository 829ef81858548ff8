import { assertEquals, assertStringIncludes } from "@std/assert";
import { randomBytes } from "../../services/shared/random_bytes.ts";
import { runRewrap } from "../../services/tasks/cli/rewrap.ts";
import { readDataSettings } from "../../services/tasks/cli/testing/data_settings.ts";
import { openMasterKeys } from "../../services/tasks/secrets/master_keys.ts";
import { runTasks, startTasks } from "../support/tasks_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { DataFolder } from "./data_folder.ts";
import { TasksClient } from "./tasks_client.ts";
import {
  createOwnerKey,
  getTarget,
  hostClient,
  SERVICE_HOST,
} from "./tenant_client.ts";

const OLD = `old:${btoa("0123456789abcdef0123456789abcdef")}`;
const NEW = `new:${btoa("fedcba9876543210fedcba9876543210")}`;
const VALUE = "correct-horse-battery";

interface ReadyJson {
  readonly status: string;
  readonly checks: Readonly<Record<string, { readonly ready: boolean }>>;
}

Deno.test("tasks goes over to a new master key, beside the service, and without the old one then", async () => {
  await using folder = await DataFolder.make();
  const dataDir = folder.path;
  let token = "";
  {
    await using service = await startTasks({
      dataDir,
      env: { MASTER_KEYS: `${OLD},${NEW}` },
    });
    token = await createOwnerKey(service, "acme");
    using client = createClient(service, token);
    await client.expect(201, ["POST", "/api/v1/workers", { name: "mailer" }]);
    await client.expect(201, [
      "POST",
      "/api/v1/workers/mailer/secrets",
      { name: "KEY", value: VALUE },
    ]);
    const { code, stdout } = await runTasks({
      dataDir,
      env: { MASTER_KEYS: `${NEW},${OLD}` },
      args: ["rewrap", "--json"],
    });
    assertEquals(code, 0);
    assertEquals(JSON.parse(stdout), {
      masterKey: "new",
      rewrapped: 1,
      current: 0,
      replaced: 0,
      lost: 0,
      inUse: { new: 1 },
      unused: ["old"],
    });
    // The running service still has the old keys in use, and can also write.
    await client.expect(201, [
      "POST",
      "/api/v1/workers/mailer/secrets",
      { name: "OTHER", value: "other" },
    ]);
    assertEquals(await fetchSecrets(client), { KEY: VALUE, OTHER: "other" });
    assertEquals(await service.stop(), 0);
  }
  {
    await using service = await startTasks({
      dataDir,
      env: { MASTER_KEYS: NEW },
    });
    using client = createClient(service, token);
    assertEquals(await fetchSecrets(client), { KEY: VALUE, OTHER: "other" });
    assertEquals(await service.stop(), 0);
  }
  // With the wrong key, secrets cannot be read, and everything else works.
  await using service = await startTasks({
    dataDir,
    env: { MASTER_KEYS: OLD },
  });
  using client = createClient(service, token);
  using host = hostClient(service, SERVICE_HOST);
  const ready = (): Promise<ReadyJson> =>
    host.expect<ReadyJson>(200, ["GET", "/readyz"]);
  await waitUntil(async () => (await ready()).checks.secrets !== undefined, {
    what: "the keys to be looked at",
  });
  const { status, checks } = await ready();
  assertEquals([status, checks.secrets?.ready], ["ready", true]);
  assertStringIncludes(service.stderr, "Cannot open the keys of tenants");
  const path = "/api/v1/workers/mailer/secrets";
  const value = { name: "KEY", value: "a new value" };
  await client.expect(503, ["POST", path, value]);
  const rewrapHere = (...args: readonly string[]): Promise<number> =>
    runRewrap(args, {
      io: { out: () => {}, err: () => {} },
      settings: readDataSettings({ DATA_DIR: dataDir }),
      openKeys: () =>
        openMasterKeys({
          ...{ keys: OLD, file: "", defaultFile: "", randomBytes },
          read: () => Promise.resolve(undefined),
        }),
    });
  assertEquals(await rewrapHere(), 1);
  assertEquals(await rewrapHere("--replace-lost"), 0);
  // The service notices the new key without a restart.
  await client.expect(201, ["POST", path, value]);
  assertEquals(await service.stop(), 0);
});

function createClient(
  service: Awaited<ReturnType<typeof startTasks>>,
  token: string,
): TasksClient {
  return new TasksClient({
    target: () => getTarget(service),
    host: `acme.${SERVICE_HOST}`,
    token,
  });
}

/** Returns the secrets that a worker gets with a task. */
async function fetchSecrets(client: TasksClient): Promise<unknown> {
  await client.expect(201, ["POST", "/api/v1/tasks", { worker: "mailer" }]);
  const { leases } = await client.expect<
    { readonly leases: readonly { readonly secrets: unknown }[] }
  >(200, ["POST", "/api/v1/workers/mailer/lease", { secrets: true }]);
  return leases.at(0)?.secrets;
}
