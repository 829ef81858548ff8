import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { FakeClock } from "../../../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../../../tests/support/recording_logger.ts";
import {
  type Script,
  startScriptedServer,
} from "../../../../../tests/support/scripted_server.ts";
import { waitUntil } from "../../../../../tests/support/wait_until.ts";
import { systemClock } from "../../../../shared/clock.ts";
import type { MemcachedOutcome } from "./connection.ts";
import { MemcachedNode } from "./node.ts";
import {
  addCommand,
  getCommand,
  incrCommand,
  type MemcachedCommand,
} from "./protocol.ts";

const VERSION = "VERSION 1\r\n";

/**
 * Answers the first command and probes as a server does, all others by
 * `answer`.
 */
function answering(answer: (sent: string) => string | undefined): Script {
  return (client, sent) => {
    const isFirst = client.received === "version\r\n";
    const text = isFirst ? VERSION : answer(sent);
    const isProbe = sent.startsWith("add breaker_probe ");
    if (text !== undefined) client.send(isProbe ? "STORED\r\n" : text);
  };
}

async function withNode(
  script: Script,
  body: (
    node: MemcachedNode,
    context: {
      readonly logger: RecordingLogger;
      readonly server: Awaited<ReturnType<typeof startScriptedServer>>;
    },
  ) => Promise<void>,
  timeoutMs = 2_000,
): Promise<void> {
  const server = await startScriptedServer(script);
  const logger = new RecordingLogger();
  const node = new MemcachedNode({
    address: { host: "127.0.0.1", port: server.port },
    label: "cache",
    timeoutMs,
    clock: systemClock,
    random: () => 0.5,
    logger,
  });
  node.start();
  try {
    await body(node, { logger, server });
  } finally {
    node.stop();
    node.stop();
    await server.stop();
  }
}

function send(
  node: MemcachedNode,
  command: MemcachedCommand,
  withinMs = 2_000,
): Promise<MemcachedOutcome> {
  return new Promise((resolve) =>
    node.send(command, {
      deadlineMs: Date.now() + withinMs,
      done: resolve,
    })
  );
}

Deno.test("MemcachedNode.send() answers commands in their order, however the bytes come", async () => {
  const replies = "NOT_FOUND\r\nVALUE a 0 2\r\n\r\n\r\nEND\r\nSTORED\r\n";
  await withNode((client, sent) => {
    if (sent === "version\r\n") return client.send(VERSION);
    // On a busy machine the replies take so long that a probe comes.
    if (sent.startsWith("add breaker_probe ")) return;
    // The replies arrive byte by byte, each byte in its own turn of the event
    // loop.
    const sendFrom = (at: number): void => {
      client.send(replies.slice(at, at + 1));
      if (at + 1 < replies.length) setTimeout(() => sendFrom(at + 1), 0);
    };
    sendFrom(0);
  }, async (node) => {
    await waitUntil(() => node.isUp, { what: "a connection" });
    const outcomes = await Promise.all([
      send(node, incrCommand("b", 1)),
      send(node, getCommand(["a"])),
      send(node, addCommand("c", { value: "1", expiry: 1 })),
    ]);
    assertEquals(outcomes, [
      { kind: "not_found" },
      { kind: "values", values: ["\r\n"] },
      { kind: "stored" },
    ]);
  });
});

Deno.test("MemcachedNode sends the commands of one turn in one write", async () => {
  const writes: string[] = [];
  await withNode((client, sent) => {
    if (sent === "version\r\n") return client.send(VERSION);
    writes.push(sent);
    client.send("1\r\n".repeat(sent.split("\r\n").length - 1));
  }, async (node) => {
    await send(node, incrCommand("a", 1));
    await Promise.all(
      Array.from({ length: 100 }, () => send(node, incrCommand("a", 1))),
    );
    assertEquals(writes.length, 2);
  });
});

for (
  const [what, answer] of [
    ["an unknown reply", "what?\r\n"],
    ["a reply to another command", "STORED\r\n"],
    ["bytes that were not asked for", "1\r\n1\r\n"],
    ["a line without end", "x".repeat(3_000)],
  ] as const
) {
  Deno.test(`MemcachedNode gives up a connection after ${what}`, async () => {
    let count = 0;
    await withNode(
      answering(() => count++ === 0 ? answer : "5\r\n"),
      async (node, { logger, server }) => {
        await send(node, incrCommand("a", 1));
        await waitUntil(() => server.accepted === 2 && node.isUp, {
          what: "a second connection",
        });
        assertEquals(await send(node, incrCommand("a", 1)), {
          kind: "number",
          value: 5,
        });
        assertEquals(logger.messages, [
          "connected to cache",
          "cache is unavailable",
          "cache is available",
        ]);
      },
    );
  });
}

Deno.test("MemcachedNode is not up before the server has answered", async () => {
  await withNode(() => {}, async (node, { server }) => {
    const begun = performance.now();
    const outcome = await send(node, incrCommand("a", 1), 200);
    const tookMs = performance.now() - begun;
    assert(outcome.kind === "unavailable");
    assertStringIncludes(outcome.reason, "within 200 ms");
    assert(tookMs > 150, `${tookMs} ms`);
    assertEquals(node.isUp, false);
    assertEquals(server.accepted, 1);
  }, 200);
});

Deno.test("MemcachedNode tells why a server refuses the connection", async () => {
  await withNode(
    (client) => client.send("ERROR Too many open connections\r\n"),
    async (node) => {
      const outcome = await send(node, incrCommand("a", 1));
      assert(outcome.kind === "unavailable");
      assertStringIncludes(outcome.reason, "Too many open connections");
    },
  );
});

Deno.test("MemcachedNode destroys a connection that hangs, with all its calls", async () => {
  await withNode(answering(() => undefined), async (node, { server }) => {
    await waitUntil(() => node.isUp, { what: "a connection" });
    const begun = performance.now();
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, () => send(node, incrCommand("a", 1), 300)),
    );
    const tookMs = performance.now() - begun;
    assert(tookMs > 250, `${tookMs} ms`);
    assert(outcomes.every(({ kind }) => kind === "unavailable"));
    await waitUntil(() => server.accepted >= 2, { what: "a new dial" });
    assert(server.open <= 1);
  }, 300);
});

Deno.test("MemcachedNode keeps a slow connection when only a call's own deadline is over", async () => {
  let reply: (() => void) | undefined;
  const server = await startScriptedServer((client, sent) => {
    if (sent === "version\r\n") client.send(VERSION);
    else if (reply === undefined) reply = () => client.send("7\r\n");
    else client.send("8\r\n");
  });
  const clock = new FakeClock();
  const node = new MemcachedNode({
    address: { host: "127.0.0.1", port: server.port },
    label: "cache",
    timeoutMs: 2_000,
    clock,
    random: () => 0.5,
    logger: new RecordingLogger(),
  });
  node.start();
  await waitUntil(() => node.isUp, { what: "a connection" });
  const outcomes: MemcachedOutcome[] = [];
  const sendIncr = (): void =>
    node.send(incrCommand("a", 1), {
      deadlineMs: clock.nowMs() + 50,
      done: (outcome) => outcomes.push(outcome),
    });
  sendIncr();
  await waitUntil(() => reply !== undefined, { what: "the command" });
  clock.advance(50);
  assertEquals(outcomes.map(({ kind }) => kind), ["unavailable"]);
  assertEquals(node.isUp, true);
  // The late reply belongs to the call that gave up, not to the next one.
  reply?.();
  sendIncr();
  await waitUntil(() => outcomes.length === 2, { what: "the second reply" });
  assertEquals(outcomes[1], { kind: "number", value: 8 });
  assertEquals(server.accepted, 1);
  node.stop();
  await server.stop();
});

Deno.test("MemcachedNode dials at once after a loss, then ever more slowly", async () => {
  let close = (): void => {};
  let dials = 0;
  const server = await startScriptedServer((client) => {
    if (++dials > 1) return client.close();
    close = () => client.close();
    client.send(VERSION);
  });
  const clock = new FakeClock();
  const node = new MemcachedNode({
    address: { host: "127.0.0.1", port: server.port },
    label: "cache",
    timeoutMs: 60_000,
    clock,
    random: () => 0.999,
    logger: new RecordingLogger(),
  });
  // Once a dial has failed, the only timer left is the wait for the next dial.
  const failed = (count: number): Promise<void> =>
    waitUntil(() => dials === count && clock.pendingTimers === 1, {
      what: `dial ${count} to fail`,
    });
  node.start();
  await waitUntil(() => node.isUp, { what: "a connection" });
  clock.advance(1_000);
  close();
  await failed(2);
  for (const [i, delayMs] of [50, 100, 200, 400, 800, 1_600].entries()) {
    clock.advance(delayMs * 0.9);
    assertEquals((await send(node, incrCommand("a", 1))).kind, "unavailable");
    assertEquals(clock.pendingTimers, 1);
    clock.advance(delayMs * 0.1);
    await failed(3 + i);
  }
  node.stop();
  assertEquals(clock.pendingTimers, 0);
  await server.stop();
});

Deno.test("MemcachedNode answers everything when it is stopped", async () => {
  await withNode(answering(() => undefined), async (node) => {
    const waiting = [send(node, incrCommand("a", 1))];
    await waitUntil(() => node.isUp, { what: "a connection" });
    waiting.push(send(node, incrCommand("a", 1)));
    node.stop();
    for (const outcome of await Promise.all(waiting)) {
      assertEquals(outcome.kind, "unavailable");
    }
    assertEquals((await send(node, incrCommand("a", 1))).kind, "unavailable");
  });
});
