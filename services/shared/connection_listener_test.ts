import { assertEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../tests/support/recording_logger.ts";
import { ConnectionListener } from "./connection_listener.ts";

/** Gives out what a test says, and ends like the runtime's listener. */
class ScriptedSource {
  #waiting: PromiseWithResolvers<Deno.TcpConn> | undefined;

  accept(): Promise<Deno.TcpConn> {
    this.#waiting = Promise.withResolvers();
    return this.#waiting.promise;
  }

  get isAsked(): boolean {
    return this.#waiting !== undefined;
  }

  fail(error: Error): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.reject(error);
  }

  close(): void {
    this.fail(new Deno.errors.BadResource("closed"));
  }
}

interface Scene {
  readonly source: ScriptedSource;
  readonly listener: ConnectionListener<Deno.TcpConn>;
  readonly clock: FakeClock;
  readonly logger: RecordingLogger;
  readonly exhausted: () => number;
}

function scene(): Scene {
  const source = new ScriptedSource();
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  let exhausted = 0;
  const listener = new ConnectionListener({
    source,
    clock,
    logger,
    onConnection: () => {},
    onExhausted: () => exhausted++,
  });
  return { source, listener, clock, logger, exhausted: () => exhausted };
}

Deno.test("ConnectionListener goes on when no file is left for a connection", async () => {
  const { source, listener, clock, logger, exhausted } = scene();
  for (let count = 1; count <= 3; count++) {
    source.fail(new Error("Too many open files (os error 24)"));
    await clock.advanceAsync(0);
    assertEquals([source.isAsked, exhausted()], [false, count]);
    await clock.advanceAsync(100);
    assertEquals(source.isAsked, true);
  }
  assertEquals(logger.messages, [
    "Cannot accept connections; retrying",
  ]);
  await listener.close();
});

Deno.test("ConnectionListener asks for room when the system lacks files or memory", async () => {
  const { source, listener, clock, exhausted } = scene();
  // As the runtime gives them; it has no code for the second.
  const errors = [
    withCode("EMFILE", "Too many open files (os error 24)"),
    new Error("Too many open files in system (os error 23)"),
    withCode("ENOBUFS", "No buffer space available (os error 105)"),
    withCode("ENOMEM", "Cannot allocate memory (os error 12)"),
  ];
  for (const [index, error] of errors.entries()) {
    source.fail(error);
    await clock.advanceAsync(100);
    assertEquals(exhausted(), index + 1);
  }
  await listener.close();
});

Deno.test("ConnectionListener goes on and asks for no room when files are not the trouble", async () => {
  const { source, listener, clock, logger, exhausted } = scene();
  const errors = [
    new Error("Protocol error (os error 71)"),
    withCode("EHOSTUNREACH", "No route to host (os error 113)"),
    new Deno.errors.PermissionDenied("Operation not permitted (os error 1)"),
  ];
  for (const error of errors) {
    source.fail(error);
    await clock.advanceAsync(0);
    assertEquals([source.isAsked, exhausted()], [false, 0]);
    await clock.advanceAsync(100);
    assertEquals(source.isAsked, true);
  }
  assertEquals(logger.messages, [
    "Cannot accept connections; retrying",
  ]);
  await listener.close();
});

function withCode(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

Deno.test("ConnectionListener doesn't pause for a client that gave up", async () => {
  const { source, listener, clock, logger } = scene();
  source.fail(new Deno.errors.ConnectionAborted("gone"));
  await clock.advanceAsync(0);
  assertEquals(source.isAsked, true);
  assertEquals(logger.messages, []);
  await listener.close();
});

Deno.test("ConnectionListener.close() ends a pause", async () => {
  const { source, listener, clock } = scene();
  source.fail(new Error("Too many open files (os error 24)"));
  await clock.advanceAsync(0);
  await listener.close();
  await listener.close();
  assertEquals(clock.pendingTimers, 0);
});
