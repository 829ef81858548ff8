import { assert, assertEquals, assertRejects } from "@std/assert";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:tls";
import { startTasks } from "../support/tasks_process.ts";
import {
  createTestAuthority,
  type TestAuthority,
} from "../support/test_certificates.ts";
import { waitUntil } from "../support/wait_until.ts";
import { DataFolder } from "./data_folder.ts";
import { TasksClient } from "./tasks_client.ts";
import { getTarget } from "./tenant_client.ts";

const ACCOUNTS = "accounts.tasks.test";

Deno.test("tasks speaks https with its own certificate and takes a new one on SIGHUP", async () => {
  await using folder = await DataFolder.make();
  const files = {
    TLS_CERT_FILE: `${folder.path}/cert.pem`,
    TLS_KEY_FILE: `${folder.path}/key.pem`,
  };
  const write = async (authority: TestAuthority): Promise<void> => {
    const { certPem, keyPem } = authority.issue(ACCOUNTS);
    await Deno.writeTextFile(files.TLS_CERT_FILE, certPem);
    await Deno.writeTextFile(files.TLS_KEY_FILE, keyPem);
  };
  const [first, second] = [
    createTestAuthority("First authority"),
    createTestAuthority("Second authority"),
  ];
  await write(first);
  await using service = await startTasks({
    dataDir: `${folder.path}/data`,
    env: files,
  });
  const createClient = ({ caPem }: TestAuthority): TasksClient =>
    new TasksClient({
      target: () => ({
        port: getTarget(service).port,
        tls: { caPem, name: ACCOUNTS },
      }),
      host: `${ACCOUNTS}:${getTarget(service).port}`,
    });
  const signUp = (client: TasksClient, domain: string) =>
    client.call<{ readonly url: string }>("POST", "/", { body: { domain } });
  using early = createClient(first);
  const made = await signUp(early, "acme");
  assertEquals(made.status, 201);
  const { port } = getTarget(service);
  assertEquals(made.json.url, `https://acme.tasks.test:${port}`);
  assertEquals(new URL(made.headers.location ?? "").protocol, "https:");
  await assertRejects(() => signUp(createClient(second), "other"));

  await write(second);
  service.signal("SIGHUP");
  using late = createClient(second);
  await waitUntil(async () => (await late.call("GET", "/")).status === 405, {
    what: "the new certificate",
  });
  const told = await service.waitForLine("Reloaded certificate");
  const notAfter = /not_after="?([^" ]+)/.exec(told)?.[1] ?? "";
  assert(Date.parse(notAfter) > Date.now(), told);
  assertEquals((await signUp(late, "other")).status, 201);
  await assertRejects(() => signUp(createClient(first), "third"));
  // An open connection keeps working.
  assertEquals((await signUp(early, "fourth")).status, 201);

  // A broken certificate file changes nothing.
  await Deno.writeTextFile(files.TLS_CERT_FILE, "no certificate");
  const { length: from } = service.lines;
  service.signal("SIGHUP");
  await service.waitForLine("level=error", { from });
  using still = createClient(second);
  assertEquals((await signUp(still, "fifth")).status, 201);
  assertEquals(await service.stop(), 0);
});

Deno.test("tasks takes a certificate and plans whose files change, without a signal", async () => {
  await using folder = await DataFolder.make();
  const files = {
    TLS_CERT_FILE: `${folder.path}/cert.pem`,
    TLS_KEY_FILE: `${folder.path}/key.pem`,
    PLANS_FILE: `${folder.path}/plans.yaml`,
  };
  const authority = createTestAuthority();
  const write = async (plan: string): Promise<string> => {
    const { certPem, keyPem } = authority.issue(ACCOUNTS);
    await Deno.writeTextFile(files.TLS_CERT_FILE, certPem);
    await Deno.writeTextFile(files.TLS_KEY_FILE, keyPem);
    await Deno.writeTextFile(
      files.PLANS_FILE,
      `plans: [{id: ${plan}, name: A plan}]`,
    );
    return new X509Certificate(certPem).fingerprint256;
  };
  const first = await write("free");
  await using service = await startTasks({
    dataDir: `${folder.path}/data`,
    env: files,
  });
  const { port } = getTarget(service);
  const tls = { caPem: authority.caPem, name: ACCOUNTS };
  const seen = async (): Promise<readonly string[]> => {
    using client = new TasksClient({
      target: () => ({ port, tls }),
      host: `tasks.test:${port}`,
    });
    const plans = await client.call<{ readonly data: { id: string }[] }>(
      "GET",
      "/plans",
    );
    const socket = connect({
      host: "127.0.0.1",
      port,
      servername: ACCOUNTS,
      ca: tls.caPem,
    });
    await once(socket, "secureConnect");
    const { fingerprint256 } = socket.getPeerCertificate();
    socket.destroy();
    return [fingerprint256, ...plans.json.data.map(({ id }) => id)];
  };
  assertEquals(await seen(), [first, "free"]);
  const second = await write("team");
  await waitUntil(
    async () =>
      JSON.stringify(await seen()) === JSON.stringify([second, "team"]),
    { what: "the new certificate and plans" },
  );
  assertEquals(await service.stop(), 0);
});
