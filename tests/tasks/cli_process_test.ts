import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { tasksSettings } from "../../services/tasks/settings.ts";
import { settingNames } from "../../services/shared/settings.ts";
import { runTasks, startTasks } from "../support/tasks_process.ts";
import { DataFolder } from "./data_folder.ts";

Deno.test("tasks --help tells the commands, and --help=settings every setting", async () => {
  await using folder = await DataFolder.make();
  const help = (word: string) =>
    runTasks({ dataDir: folder.path, args: [word] });
  const { code, stdout } = await help("--help");
  assertEquals(code, 0);
  for (
    const command of [
      "preview",
      "tenant",
      "backup",
      "restore",
      "check",
      "rewrap",
      "migrate",
    ]
  ) assertStringIncludes(stdout, `\n  tasks ${command} …`);
  const settings = await help("--help=settings");
  assertEquals(settings.code, 0);
  for (const name of settingNames(tasksSettings)) {
    assertStringIncludes(settings.stdout, name);
  }
});

Deno.test("tasks refuses a command that it does not have", async () => {
  await using folder = await DataFolder.make();
  const { code, stdout, stderr } = await runTasks({
    dataDir: folder.path,
    args: ["previw"],
  });
  assertEquals(code, 2);
  assertEquals(stdout, "");
  assertStringIncludes(stderr, 'Cannot run "previw"');
});

Deno.test("tasks tells everything that is wrong with its settings at once", async () => {
  await using folder = await DataFolder.make();
  const { code, stderr } = await runTasks({
    dataDir: `${folder.path}/none`,
    env: {
      PORT: "70000",
      ACCOUNTS_MODE: "opne",
      IDLE_TIMEOUT: "soon",
      MAX_QUEUED_WRITES: "-1",
    },
  });
  assertEquals(code, 1);
  for (
    const name of [
      "PORT",
      "ACCOUNTS_MODE",
      "IDLE_TIMEOUT",
      "MAX_QUEUED_WRITES",
    ]
  ) assertStringIncludes(stderr, name);
});

Deno.test("tasks tells everything that is wrong with what its settings name", async () => {
  await using folder = await DataFolder.make();
  const { code, stderr } = await runTasks({
    dataDir: folder.path,
    env: {
      SERVICE_HOST: "https://Tasks.test",
      TRUSTED_PROXIES: "10.0.0.0/99",
      PUSH_ALLOW: "not an address/",
      TLS_CERT_FILE: `${folder.path}/cert.pem`,
      IDP_ISSUER: "https://idp.test",
      PLANS_FILE: `${folder.path}/plans.yaml`,
    },
  });
  assertEquals(code, 1);
  for (
    const name of [
      "SERVICE_HOST",
      "TRUSTED_PROXIES",
      "PUSH_ALLOW",
      "TLS_KEY_FILE",
      "IDP_AUDIENCE",
      "plans.yaml",
    ]
  ) assertStringIncludes(stderr, name);
});

Deno.test("tasks starts no second time on a folder that is in use", async () => {
  await using folder = await DataFolder.make();
  await using first = await startTasks({ dataDir: folder.path });
  const { code, stderr } = await runTasks({ dataDir: folder.path });
  assertEquals(code, 1);
  assertStringIncludes(stderr, folder.path);
  assert(first.exitCode === undefined);
  assertEquals(await first.stop(), 0);
});

Deno.test("tasks tells which address it cannot listen on, and that nobody can create tenants", async () => {
  await using folder = await DataFolder.make();
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { code, stderr } = await runTasks({
    dataDir: folder.path,
    env: { PORT: String(taken.addr.port), ACCOUNTS_MODE: "token" },
  });
  assertEquals(code, 1);
  assertEquals(stderr.split("\n").filter((line) => line.includes("taken")), [
    `Cannot open the port of tasks, 127.0.0.1:${taken.addr.port}: it is ` +
    "taken; free it, or set PORT to another one",
  ]);
  assertStringIncludes(stderr, "No caller can create tenants: ");
});
