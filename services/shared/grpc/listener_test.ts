import { assertEquals } from "@std/assert";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import { watchListener } from "./listener.ts";

const HASTE = { intervalMs: 20, acceptTimeoutMs: 200 } as const;

Deno.test("watchListener() opens a listener again that takes nothing in", async () => {
  // The system answers for it, and nobody takes the connection.
  const deaf = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = deaf.addr;
  const logger = new RecordingLogger();
  let fails = 1;
  let reopened = 0;
  const stop = watchListener({
    ...HASTE,
    address: { kind: "tcp", host: "127.0.0.1", port },
    accepted: () => 0,
    reopen() {
      if (fails-- > 0) return Promise.reject(new Error("no file"));
      reopened++;
      return Promise.resolve();
    },
    logger,
  });
  await waitUntil(() => reopened > 0, { what: "the listener to be opened" });
  stop();
  deaf.close();
  const messages = logger.lines.map(({ message }) => message);
  assertEquals(messages.slice(0, 2), [
    "The listener no longer takes connections; opens it again",
    "Cannot open the listener again; tries later",
  ]);
});

Deno.test("watchListener() opens one again that is closed", async () => {
  const closed = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = closed.addr;
  closed.close();
  let reopened = 0;
  const stop = watchListener({
    ...HASTE,
    address: { kind: "tcp", host: "0.0.0.0", port },
    accepted: () => 0,
    reopen() {
      reopened++;
      return Promise.resolve();
    },
    logger: new RecordingLogger(),
  });
  await waitUntil(() => reopened > 0, { what: "the listener to be opened" });
  stop();
});

Deno.test("watchListener() leaves one alone that takes its calls", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  let accepted = 0;
  const taking = (async () => {
    for await (const connection of listener) {
      accepted++;
      connection.close();
    }
  })();
  const stop = watchListener({
    ...HASTE,
    address: { kind: "tcp", host: "127.0.0.1", port },
    accepted: () => accepted,
    reopen: () => Promise.reject(new Error("must not be asked")),
    logger: new RecordingLogger(),
  });
  await waitUntil(() => accepted >= 4, { what: "four calls" });
  stop();
  listener.close();
  await taking;
});
