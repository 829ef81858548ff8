/**
 * Tests the key server's own settings on the real process.
 *
 * @module
 */

import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { KeyServerClient } from "../../sdk/vault/key_server_client.ts";
import {
  openSecret,
  type ServerKeys,
} from "../../services/keyserver/secret_file.ts";
import {
  buildApproval,
  buildIdentity,
  createSigner,
  keyRequest,
} from "../../services/keyserver/testing/key_requests.ts";
import {
  KeyServerGroup,
  makeKey,
  runKeyServer,
  startKeyServer,
} from "../support/keyserver_process.ts";
import {
  findSeries,
  metricsUrl,
  readMetrics,
} from "../support/read_metrics.ts";
import { RecordingLogger } from "../support/recording_logger.ts";
import { SeededRandom } from "../support/seeded_random.ts";
import { waitUntil } from "../support/wait_until.ts";
import { asked, OWNER } from "./asking.ts";
import { ScriptedLedger } from "./scripted_ledger.ts";

const MASTER_1 = masterKey("first", 1);
const MASTER_2 = masterKey("second", 2);

function masterKey(id: string, seed: number): string {
  return `${id}:${new SeededRandom(seed).bytes(32).toBase64()}`;
}

async function withFolder(
  test: (dataDir: string) => Promise<void>,
): Promise<void> {
  const dataDir = await Deno.makeTempDir({ prefix: "keyserver_test_" });
  try {
    await test(dataDir);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
}

/** Opens the secret as `keyserver key show` does. */
async function show(dataDir: string, masterKeys = ""): Promise<ServerKeys> {
  const logger = new RecordingLogger();
  return await openSecret({ dataDir, masterKeys, logger });
}

/** Sends a request that gets no key; returns the status of the response. */
async function fetchStatus(
  { url }: { readonly url: string },
  { headers = {}, body = "{}" }: {
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
  } = {},
): Promise<number> {
  const response = await fetch(`${url}/v1/fetch_key`, {
    method: "POST",
    headers,
    body,
  });
  await response.body?.cancel();
  return response.status;
}

Deno.test("MASTER_KEYS seals the secret, anew when the first one changes", async () => {
  await withFolder(async (dataDir) => {
    const run = (masterKeys: string, ...args: string[]) =>
      runKeyServer({ dataDir, env: { MASTER_KEYS: masterKeys }, args });
    const made = await run(MASTER_1, "key", "new", "--json");
    assertEquals(made.code, 0, made.stderr);
    const names = await Array.fromAsync(Deno.readDir(dataDir));
    assert(!names.some(({ name }) => name === "master.key"));
    await assertRejects(() => show(dataDir, MASTER_2));
    const { objectId } = await show(dataDir, MASTER_1);
    assertEquals(objectId, JSON.parse(made.stdout).objectId);
    {
      await using server = await startKeyServer({
        dataDir,
        env: { MASTER_KEYS: `${MASTER_2},${MASTER_1}` },
      });
      await server.waitForLine("sealed the secret under the new master key");
      assertEquals(await server.stop(), 0);
    }
    const shown = await run(MASTER_2, "key", "show", "--json");
    assertEquals(shown.stdout, made.stdout);
    const old = await run(MASTER_1, "key", "show");
    assertEquals(old.code, 1);
    assertStringIncludes(old.stderr, '"second"');
    assert(!old.stderr.includes(MASTER_1.split(":")[1] ?? ""));
  });
});

Deno.test("DATA_DIR belongs to one process at a time, and to the next one after a crash", async () => {
  await withFolder(async (dataDir) => {
    const { objectId } = await makeKey(dataDir);
    {
      await using server = await startKeyServer({ dataDir });
      const second = await runKeyServer({ dataDir });
      assertEquals(second.code, 1);
      assertStringIncludes(second.stderr, "another process has it");
      // A command that only reads may run beside the service.
      assertEquals((await show(dataDir)).objectId, objectId);
      await server.kill();
    }
    await using server = await startKeyServer({ dataDir });
    assertEquals(await server.stop(), 0);
  });
});

Deno.test("a key server obeys settings", { timeout: 240_000 }, async (t) => {
  await withFolder(async (dataDir) => {
    const { publicKey } = await makeKey(dataDir);
    await using ledger = new ScriptedLedger();
    const owner = createSigner(OWNER);
    ledger.add(owner.address, await owner.createAccount());
    const objectId = `0x${"ab".repeat(32)}`;
    await using server = await startKeyServer({
      dataDir,
      env: {
        KEY_SERVER_ID: objectId,
        LEDGER_RPC_URL: ledger.url,
        LEDGER_PACKAGE_ID: `0x${"cd".repeat(32)}`,
        MAX_BODIES_BYTES: "131072",
      },
    });
    const keyServers = [{ objectId, publicKey, url: server.url }];
    await t.step(
      "KEY_SERVER_ID is the object that a key server shows its secret for",
      async () => {
        const client = new KeyServerClient({ keyServers, threshold: 1 });
        assertEquals(await client.withoutPossession(), []);
        const health = await (await fetch(`${server.url}/health`)).json();
        assertEquals(health.service_id, objectId);
      },
    );
    await t.step("LEDGER_PACKAGE_ID says whose keys are given", async () => {
      // The session was signed for another package.
      assertStringIncludes(
        await asked({ keyServers }, { owner, seed: OWNER }),
        "InvalidSignature",
      );
    });
    await t.step(
      "MAX_BODIES_BYTES bounds what bodies hold while they arrive",
      async () => {
        // A large body, since small ones are accepted even when the limit is
        // reached.
        const large = { body: "x".repeat(100_000) };
        assertEquals(await fetchStatus(server, large), 400);
        const { hostname, port } = new URL(server.url);
        const slow = await Deno.connect({ hostname, port: Number(port) });
        const head = "POST /v1/fetch_key HTTP/1.1\r\nhost: a\r\n" +
          "content-length: 131072\r\n\r\n";
        const sent = new TextEncoder().encode(head + "x".repeat(131_071));
        for (let at = 0; at < sent.length;) {
          at += await slow.write(sent.subarray(at));
        }
        await waitUntil(async () => await fetchStatus(server, large) === 503, {
          what: "a body that is refused",
        });
        assertEquals(await fetchStatus(server), 400);
        slow.close();
        await waitUntil(async () => await fetchStatus(server, large) === 400, {
          what: "a body that is taken again",
        });
      },
    );
  });
});

Deno.test("RATE_PER_PEER_MINUTE counts clients, behind TRUSTED_PROXIES by X-Forwarded-For", async () => {
  await withFolder(async (dataDir) => {
    await makeKey(dataDir);
    const env = { RATE_PER_PEER_MINUTE: "1" };
    const forwarded = (client: string) => ({
      headers: { "x-forwarded-for": client },
    });
    {
      await using server = await startKeyServer({ dataDir, env });
      assertEquals(await fetchStatus(server, forwarded("192.0.2.1")), 400);
      assertEquals(await fetchStatus(server, forwarded("192.0.2.2")), 429);
    }
    await using server = await startKeyServer({
      dataDir,
      env: { ...env, TRUSTED_PROXIES: "127.0.0.0/8" },
    });
    assertEquals(await fetchStatus(server, forwarded("192.0.2.1")), 400);
    assertEquals(await fetchStatus(server, forwarded("192.0.2.2")), 400);
    assertEquals(await fetchStatus(server, forwarded("192.0.2.2")), 429);
  });
});

Deno.test("SHUTDOWN_GRACE is how long a request may go on that waits for the ledger", async () => {
  await withFolder(async (dataDir) => {
    await makeKey(dataDir);
    // A ledger that accepts connections and never answers.
    using ledger = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    await using server = await startKeyServer({
      dataDir,
      env: {
        LEDGER_RPC_URL: `http://127.0.0.1:${ledger.addr.port}/`,
        SHUTDOWN_GRACE: "0s",
      },
    });
    const owner = createSigner(OWNER);
    const body = JSON.stringify(
      await keyRequest({
        nowMs: Date.now(),
        seed: OWNER,
        kind: buildApproval(owner, [buildIdentity(owner)]),
      }),
    );
    const answer = fetch(`${server.url}/v1/fetch_key`, { method: "POST", body })
      .then((response) => response.body?.cancel(), () => {});
    using _connection = await ledger.accept();
    assertEquals(await server.stop(), 0);
    await server.waitForLine("Cut requests that outlived the grace period");
    await answer;
  });
});

Deno.test("METRICS_PORT tells of keys that were given and of requests that were not", async () => {
  await using ledger = new ScriptedLedger();
  const owner = createSigner(OWNER);
  ledger.add(owner.address, await owner.createAccount());
  await using group = await KeyServerGroup.start(1, {
    LEDGER_RPC_URL: ledger.url,
  });
  const [server] = group.processes;
  assert(server !== undefined);
  assertEquals(await asked(group, { owner, seed: OWNER }), "ok");
  await asked(group, { owner, seed: OWNER, id: buildIdentity(owner, 9n) });
  await asked(group, { owner });
  const families = await readMetrics(await metricsUrl(server));
  const requests = "keyserver_key_requests_total";
  assertEquals(findSeries(families, "keyserver_keys_given_total"), 1);
  assertEquals(findSeries(families, requests, { outcome: "given" }), 1);
  assertEquals(findSeries(families, requests, { outcome: "NoAccess" }), 2);
});

Deno.test("keyserver says which settings it cannot use", async () => {
  await withFolder(async (dataDir) => {
    const run = await runKeyServer({
      dataDir,
      env: {
        LEDGER_RPC_URL: "ftp://example.org",
        LEDGER_MODE: "fullnode",
        KEY_SERVER_ID: "0xAB",
        TRUSTED_PROXIES: "10.0.0.1/8",
      },
    });
    assertEquals(run.code, 1);
    for (
      const words of [
        "LEDGER_RPC_URL",
        "LEDGER_PACKAGE_ID is missing",
        "KEY_SERVER_ID",
        'did you mean "10.0.0.0/8"? (TRUSTED_PROXIES)',
      ]
    ) assertStringIncludes(run.stderr, words);
    await Deno.writeTextFile(`${dataDir}/secret.json`, "{}");
    const damaged = await runKeyServer({ dataDir });
    assertEquals(damaged.code, 1);
    assertStringIncludes(damaged.stderr, "is damaged");
  });
});

Deno.test("keyserver names itself, its address and the setting when a port is taken, once", async () => {
  using taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const port = String(taken.addr.port);
  await withFolder(async (dataDir) => {
    await makeKey(dataDir);
    for (
      const [name, what] of [
        ["PORT", "port"],
        ["METRICS_PORT", "metrics port"],
      ] as const
    ) {
      const { code, stderr } = await runKeyServer({
        dataDir,
        env: { [name]: port },
      });
      assertEquals(code, 1);
      const told = stderr.split("\n").filter((line) => line.includes("taken"));
      assertEquals(told, [
        `Cannot open the ${what} of keyserver, 127.0.0.1:${port}: it is taken; ` +
        `free it, or set ${name} to another one`,
      ], stderr);
    }
  });
});
