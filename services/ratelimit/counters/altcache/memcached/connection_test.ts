import { assertEquals } from "@std/assert";
import { startScriptedServer } from "../../../../../tests/support/scripted_server.ts";
import { waitUntil } from "../../../../../tests/support/wait_until.ts";
import { LateClock } from "../../testing/late_clock.ts";
import { MemcachedConnection } from "./connection.ts";
import { incrCommand } from "./protocol.ts";

const TIMEOUT_MS = 1_000;

Deno.test("MemcachedConnection reads what came while its own process stood still", async () => {
  const clock = new LateClock();
  let answer = (): void => {};
  let asked = 0;
  const server = await startScriptedServer((client, sent) => {
    asked++;
    answer = () =>
      client.send(sent === "version\r\n" ? "VERSION 1\r\n" : "7\r\n");
  });
  const events: string[] = [];
  const connection = new MemcachedConnection({
    address: { host: "127.0.0.1", port: server.port },
    timeoutMs: TIMEOUT_MS,
    clock,
    onUp: () => events.push("up"),
    onDown: (reason) => events.push(reason),
    onIdle: () => {},
    onDoubt: () => {},
  });
  /** Timers fire before the socket is read. */
  const standStill = async (expected: readonly string[]): Promise<void> => {
    clock.standStill(2 * TIMEOUT_MS);
    clock.turn();
    answer();
    await waitUntil(() => events.length === expected.length, {
      what: "an answer",
    });
    for (let turn = 0; turn < 5; turn++) {
      clock.standStill(5);
      clock.turn();
    }
    assertEquals(events, expected);
  };
  try {
    connection.open();
    await waitUntil(() => asked === 1, { what: "the greeting" });
    await standStill(["up"]);
    connection.send(incrCommand("a", 1), {
      deadlineMs: clock.nowMs() + TIMEOUT_MS,
      done: ({ kind }) => events.push(kind),
    });
    await waitUntil(() => asked === 2, { what: "the command" });
    await standStill(["up", "number"]);
  } finally {
    connection.close("the test is over");
    await server.stop();
  }
});
