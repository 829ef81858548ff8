import { assert, assertEquals } from "@std/assert";
import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import {
  type ScriptedClient,
  startScriptedServer,
} from "../../../../tests/support/scripted_server.ts";
import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { waitUntil } from "../../../../tests/support/wait_until.ts";
import type { CounterAnswer } from "../counter_store.ts";
import type { AltcacheTally } from "../store_telemetry.ts";
import { AltcacheStore } from "./altcache_store.ts";

function storeOn(
  port: number,
  options: {
    readonly maxIdleConnections?: number;
    readonly onIncrementError?: (lost: number) => void;
    readonly tally?: AltcacheTally;
  } = {},
): AltcacheStore {
  return new AltcacheStore({
    source: { kind: "list", addresses: [{ host: "127.0.0.1", port }] },
    // No time passes, however long a test lets the store wait.
    clock: new FakeClock(),
    logger: new RecordingLogger(),
    ...options,
  });
}

async function hit(store: AltcacheStore, hits: number): Promise<CounterAnswer> {
  return await store.apply({
    keys: new TextEncoder().encode("a_"),
    nowSeconds: 1_795_219_200,
    operations: [{
      algorithm: "fixed_window",
      keyStart: 0,
      keyEnd: 2,
      hits,
      limit: 100,
      windowSeconds: 60,
    }],
  });
}

/** Returns the commands in what a client sent. */
function commandsIn(sent: string): readonly string[] {
  return sent.split("\r\n").slice(0, -1);
}

Deno.test("AltcacheStore opens further connections when many replies are missing, and keeps a few", async () => {
  const held = new Map<ScriptedClient, number>();
  const server = await startScriptedServer((client, sent) => {
    if (sent === "version\r\n") return client.send("VERSION 1\r\n");
    held.set(client, (held.get(client) ?? 0) + commandsIn(sent).length);
  });
  const store = storeOn(server.port, { maxIdleConnections: 2 });
  await store.start();
  await waitUntil(() => store.connections === 1, { what: "a connection" });
  const answers: Promise<CounterAnswer>[] = [];
  for (let connections = 2; connections <= 4; connections++) {
    for (let i = 0; i <= 2_048; i++) answers.push(hit(store, 0));
    await waitUntil(() => store.connections === connections, {
      what: `${connections} connections`,
    });
  }
  await waitUntil(
    () => [...held.values()].reduce((a, b) => a + b, 0) === answers.length,
    { what: "all commands" },
  );
  for (const [client, count] of held) client.send("END\r\n".repeat(count));
  for (const answer of await Promise.all(answers)) {
    assertEquals(answer, { kind: "counted", results: [0] });
  }
  assertEquals(store.connections, 2);
  await waitUntil(() => server.open === 2, { what: "two to be closed" });
  await store.stop();
  await server.stop();
});

Deno.test("AltcacheStore sends together what is decided while an increment is on its way", async () => {
  const seen: string[] = [];
  let client: ScriptedClient | undefined;
  const server = await startScriptedServer((from, sent) => {
    client = from;
    for (const command of commandsIn(sent)) {
      if (command === "version") from.send("VERSION 1\r\n");
      else if (command.startsWith("get ")) from.send("END\r\n");
      else seen.push(command);
    }
  });
  const commands: string[] = [];
  const keys = { requested: 0, found: 0 };
  const store = storeOn(server.port, {
    tally: {
      command: (name, kind) => commands.push(`${name} ${kind}`),
      read({ requested, found }) {
        keys.requested += requested;
        keys.found += found;
      },
    },
  });
  await store.start();
  const answers = [1, 1, 1, 1, 1, -2].map((hits) => hit(store, hits));
  for (const [i, count] of [1, 2, 3, 4, 5, 3].entries()) {
    assertEquals(await answers[i], { kind: "counted", results: [count] });
  }
  assertEquals(store.pendingIncrements, 6);
  await waitUntil(() => seen.length === 2, { what: "the first increment" });
  assertEquals(seen.splice(0).map((line) => line.split(" ")[0]), ["add", "1"]);
  // Another process created the counter first, and it expires before the
  // increment.
  client?.send("NOT_STORED\r\n");
  await waitUntil(() => seen.length === 1, { what: "a second try" });
  assertEquals(seen.splice(0), ["incr a_1795219200 1"]);
  client?.send("NOT_FOUND\r\n");
  await waitUntil(() => seen.length === 2, { what: "a third try" });
  assertEquals(seen.splice(0)[1], "1");
  client?.send("STORED\r\n");
  await waitUntil(() => seen.length === 1, { what: "the others" });
  assertEquals(seen.splice(0), ["incr a_1795219200 2"]);
  assertEquals(store.pendingIncrements, 5);
  client?.send("3\r\n");
  await waitUntil(() => store.pendingIncrements === 0, { what: "the end" });
  assertEquals(store.countersInUse, 0);
  assertEquals(commands, [
    ...new Array(6).fill("multiget values"),
    "add not_stored",
    "increment not_found",
    "add stored",
    "increment number",
  ]);
  assertEquals(keys, { requested: 6, found: 0 });
  await store.stop();
  await server.stop();
});

Deno.test("AltcacheStore gives up an increment whose counter is made and lost again and again", async () => {
  let tries = 0;
  const server = await startScriptedServer((client, sent) => {
    for (const command of commandsIn(sent)) {
      const [verb] = command.split(" ");
      if (verb === "version") client.send("VERSION 1\r\n");
      if (verb === "get") client.send("END\r\n");
      if (verb === "add") client.send("NOT_STORED\r\n");
      if (verb === "incr") client.send("NOT_FOUND\r\n");
      if (verb === "add" || verb === "incr") tries++;
    }
  });
  const lost: number[] = [];
  const store = storeOn(server.port, {
    onIncrementError: (count) => lost.push(count),
  });
  await store.start();
  assertEquals((await hit(store, 1)).kind, "counted");
  await waitUntil(() => store.pendingIncrements === 0, { what: "the end" });
  assertEquals(lost, [1]);
  assert(tries <= 6, `${tries} tries`);
  // The lost hit is not counted.
  assertEquals(await hit(store, 0), { kind: "counted", results: [0] });
  await store.stop();
  await server.stop();
});

Deno.test("AltcacheStore counts a lost increment in no longer, even for a call under way", async () => {
  const seen: string[] = [];
  const server = await startScriptedServer((client, sent) => {
    if (sent === "version\r\n") return client.send("VERSION 1\r\n");
    seen.push(...commandsIn(sent).map((command) => command.split(" ")[0]!));
    const verbs = seen.join(" ");
    if (verbs === "get") client.send("END\r\n");
    // The increment is refused while the second call waits for its count.
    if (verbs === "get add 7 get") client.send("SERVER_ERROR full\r\nEND\r\n");
  });
  const store = storeOn(server.port);
  await store.start();
  assertEquals(await hit(store, 7), { kind: "counted", results: [7] });
  assertEquals(await hit(store, 0), { kind: "counted", results: [0] });
  assertEquals(store.countersInUse, 0);
  await store.stop();
  await server.stop();
});

Deno.test("AltcacheStore.start() returns at once and apply() is unavailable without it", async () => {
  const store = storeOn(1);
  assertEquals(await hit(store, 1), {
    kind: "unavailable",
    reason: "not started",
  });
  await store.stop();
  await store.start();
  assertEquals((await hit(store, 1)).kind, "unavailable");
  await store.stop();
  assertEquals(await hit(store, 1), { kind: "unavailable", reason: "stopped" });
});
