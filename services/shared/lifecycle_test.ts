import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import { Lifecycle, type SignalSource } from "./lifecycle.ts";
import { createLogger } from "./logger.ts";
import type { Part } from "./stopper.ts";

/**
 * Listens twice, ends the first listening after one signal, tells what it
 * hears.
 */
const PROGRAM = `
import { processSignals } from ${
  JSON.stringify(new URL("./lifecycle.ts", import.meta.url).href)
};
// Listening alone does not keep a process alive.
const alive = setInterval(() => {}, 1000);
const endFirst = processSignals.listen("SIGHUP", () => {
  console.log("first");
  endFirst();
  endFirst();
});
const endSecond = processSignals.listen("SIGHUP", () => console.log("second"));
const endTerm = processSignals.listen("SIGTERM", () => {
  console.log("end");
  endSecond();
  endTerm();
  clearInterval(alive);
});
console.log("ready");
`;

type Signal = Parameters<SignalSource["listen"]>[0];

Deno.test("processSignals hears signals until the listening ends", async () => {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-config", "--no-lock", "-"],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const input = child.stdin.getWriter();
  await input.write(new TextEncoder().encode(PROGRAM));
  await input.close();

  const heard: string[] = [];
  const lines = child.stdout.pipeThrough(new TextDecoderStream());
  let signals: Deno.Signal[] = ["SIGHUP", "SIGHUP", "SIGTERM"];
  for await (const chunk of lines) {
    heard.push(...chunk.trim().split("\n"));
    // One at a time: signals of one kind that wait are told once.
    const isDone = heard.at(-1) !== "first" && heard.at(-1) !== "end";
    const [next, ...rest] = signals;
    if (isDone && next !== undefined) {
      signals = rest;
      child.kill(next);
    }
  }
  assertEquals(heard, ["ready", "first", "second", "second", "end"]);
  assertEquals((await child.status).code, 0);
});

Deno.test("Lifecycle.reload() runs once more for all requests during a run", async () => {
  const life = new World().life([]);
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const second = Promise.withResolvers<void>();
  let runs = 0;
  life.onReload(async () => {
    const gate = gates[runs++];
    if (runs === 2) second.resolve();
    await gate?.promise;
  });
  await life.start();
  for (let index = 0; index < 4; index++) life.reload();
  assertEquals(runs, 1);
  gates[0]?.resolve();
  await second.promise;
  gates[1]?.resolve();
  await flush();
  assertEquals(runs, 2);
  await life.stop("test");
});

Deno.test("Lifecycle.reload() is kept until the service has started", async () => {
  const life = new World().life([]);
  let runs = 0;
  life.onReload(() => void runs++);
  life.reload();
  life.reload();
  await flush();
  assertEquals(runs, 0);
  await life.start();
  await flush();
  assertEquals(runs, 1);
  await life.stop("test");
});

Deno.test("Lifecycle.reload() does nothing once the service stops", async () => {
  const life = new World().life([]);
  let runs = 0;
  life.onReload(() => void runs++);
  await life.start();
  const stopped = life.stop("test");
  life.reload();
  await stopped;
  life.reload();
  await flush();
  assertEquals(runs, 0);
});

Deno.test("Lifecycle.reload() logs a fault and runs the other callbacks", async () => {
  const world = new World();
  const life = world.life([]);
  const runs: string[] = [];
  life.onReload(() => Promise.reject(new Error("no such file")));
  life.onReload(() => void runs.push("second"));
  await life.start();
  world.lines.length = 0;
  life.reload();
  await flush();
  assertEquals(runs, ["second"]);
  assertEquals(world.lines.map((line) => line.replace(/^\S+ /, "")), [
    'level=info msg="Reloading"',
    'level=error msg="Reload failed" error="no such file"',
  ]);
  await life.stop("test");
});

function flush(): Promise<void> {
  return new FakeClock().advanceAsync(0);
}

Deno.test("Lifecycle starts in order and stops in reverse order", async () => {
  const world = new World();
  const life = world.life(["store", "api"]);
  life.onStopping(() => void world.events.push("hook"));
  await life.start();
  const outcome = await life.stop("test");
  assertEquals(world.events, [
    "start store",
    "start api",
    "hook",
    "stop api 1000",
    "stop store 1000",
  ]);
  assertEquals(outcome, {
    kind: "clean",
    exitCode: 0,
    reason: "test",
    unfinished: [],
  });
  assertEquals(await life.done, outcome);
  assertEquals(world.clock.pendingTimers, 0);
});

Deno.test("Lifecycle stops what had started when a part fails to start", async () => {
  const world = new World();
  const life = world.life(["store", "api", "never"]);
  world.onStart.set("api", () => Promise.reject(new RangeError("port taken")));
  await assertRejects(() => life.start(), RangeError, "port taken");
  assertEquals(world.events, ["start store", "start api", "stop store 1000"]);
  const outcome = await life.done;
  assertEquals([outcome.kind, outcome.exitCode], ["failed", 1]);
  assertEquals(world.signals.listeners, 0);
});

Deno.test("Lifecycle gives each part what is left of the grace", async () => {
  const world = new World();
  const life = world.life(["store", "api"]);
  world.onStop.set("api", () => world.sleep(400));
  await life.start();
  const stopped = life.stop("test");
  await world.clock.advanceAsync(400);
  assertEquals((await stopped).kind, "clean");
  assertEquals(world.events.slice(2), ["stop api 1000", "stop store 600"]);
});

Deno.test("Lifecycle leaves a part that exceeds the bound and says so", async () => {
  const world = new World();
  const life = world.life(["store", "stuck", "api"]);
  world.onStop.set("stuck", () => new Promise(() => {}));
  await life.start();
  const stopped = life.stop("test");
  await world.clock.advanceAsync(2_999);
  assertEquals(world.events.at(-1), "stop stuck 1000");
  await world.clock.advanceAsync(1);
  assertEquals(await stopped, {
    kind: "forced",
    exitCode: 1,
    reason: "test",
    unfinished: ["stuck"],
  });
  assertEquals(world.events.at(-1), "stop store 0");
  assertEquals(world.logged("error"), [
    'msg="Part did not stop in time and is left" part=stuck',
  ]);
});

Deno.test("Lifecycle gives a part that names one a longer bound", async () => {
  const world = new World();
  const life = world.life([]);
  life.add({ ...world.part("store"), overrunMs: 5_000 });
  world.onStop.set("store", () => world.sleep(5_999));
  await life.start();
  const stopped = life.stop("test");
  await world.clock.advanceAsync(5_999);
  assertEquals((await stopped).kind, "clean");
});

Deno.test("Lifecycle does not leave a part that uses its grace to the full", async () => {
  const world = new World();
  const life = world.life(["api"]);
  world.onStop.set("api", () => world.sleep(1000));
  await life.start();
  const stopped = life.stop("test");
  await world.clock.advanceAsync(1000);
  assertEquals((await stopped).kind, "clean");
});

Deno.test("Lifecycle goes on when a part or a hook fails to stop", async () => {
  const world = new World();
  const life = world.life(["store", "api"]);
  life.onStopping(() => {
    throw new Error("hook fault");
  });
  world.onStop.set("api", () => Promise.reject(new Error("api fault")));
  await life.start();
  const outcome = await life.stop("test");
  assertEquals([outcome.kind, outcome.exitCode], ["failed", 1]);
  assertEquals(world.events.at(-1), "stop store 1000");
  assertEquals(world.logged("error"), [
    'msg="Part could not stop" part="stopping hook" error="hook fault"',
    'msg="Part could not stop" part=api error="api fault"',
  ]);
});

Deno.test("Lifecycle stops on SIGTERM and on SIGINT, and unlistens", async () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    const world = new World();
    const life = world.life(["api"]);
    await life.start();
    assertEquals(world.signals.listeners, 3);
    world.signals.send(signal);
    const outcome = await life.done;
    assertEquals([outcome.kind, outcome.reason], ["clean", signal]);
    assertEquals(world.signals.listeners, 0);
  }
});

Deno.test("Lifecycle ends the wait at once on the second signal", async () => {
  const world = new World();
  const life = world.life(["store", "stuck"]);
  world.onStop.set("stuck", () => new Promise(() => {}));
  await life.start();
  world.signals.send("SIGTERM");
  await world.clock.advanceAsync(1_000);
  world.signals.send("SIGINT");
  world.signals.send("SIGINT");
  assertEquals(await life.done, {
    kind: "forced",
    exitCode: 1,
    reason: "SIGTERM",
    unfinished: ["stuck", "store"],
  });
  assertEquals(world.clock.pendingTimers, 0);
  assertEquals(world.signals.listeners, 0);
});

Deno.test("Lifecycle waits the drain delay between hooks and parts", async () => {
  const world = new World();
  const life = world.life(["api"], { drainDelayMs: 300 });
  life.onStopping(() => void world.events.push("hook"));
  await life.start();
  const stopped = life.stop("test");
  await world.clock.advanceAsync(299);
  assertEquals(world.events.at(-1), "hook");
  await world.clock.advanceAsync(1);
  assertEquals((await stopped).kind, "clean");
  assertEquals(world.events.at(-1), "stop api 1000");
});

Deno.test("Lifecycle cuts the drain delay on the second signal", async () => {
  const world = new World();
  const life = world.life(["api"], { drainDelayMs: 60_000 });
  await life.start();
  world.signals.send("SIGINT");
  await world.clock.advanceAsync(1_000);
  world.signals.send("SIGINT");
  assertEquals((await life.done).unfinished, ["api"]);
});

Deno.test("Lifecycle takes a signal that comes twice within a second for one", async () => {
  const world = new World();
  const life = world.life(["api"], { drainDelayMs: 2_000 });
  await life.start();
  world.signals.send("SIGTERM");
  await world.clock.advanceAsync(999);
  world.signals.send("SIGTERM");
  await world.clock.advanceAsync(1_001);
  assertEquals((await life.done).kind, "clean");
});

Deno.test("Lifecycle ends the process when it has not ended some seconds after the grace", async () => {
  const world = new World();
  const exits: number[] = [];
  world.signals.exit = (code) => void exits.push(code);
  const life = world.life(["store", "stuck"]);
  world.onStop.set("stuck", () => new Promise(() => {}));
  await life.start();
  world.signals.send("SIGTERM");
  // The grace and what two parts may take beyond it, then five seconds.
  await world.clock.advanceAsync(1_000 + 2 * 2_000 + 5_000 - 1);
  assertEquals((await life.done).unfinished, ["stuck"]);
  assertEquals(exits, []);
  await world.clock.advanceAsync(1);
  assertEquals(exits, [1]);
  assertEquals(
    world.logged("error").at(-1),
    'msg="The process does not end; ending it" hangs=stuck',
  );
});

Deno.test("Lifecycle ends the process a second after the second signal", async () => {
  const world = new World();
  const exits: number[] = [];
  world.signals.exit = (code) => void exits.push(code);
  const life = world.life(["stuck"]);
  world.onStop.set("stuck", () => new Promise(() => {}));
  await life.start();
  world.signals.send("SIGTERM");
  await world.clock.advanceAsync(1_000);
  world.signals.send("SIGTERM");
  await life.done;
  await world.clock.advanceAsync(999);
  assertEquals(exits, []);
  await world.clock.advanceAsync(1);
  assertEquals(exits, [1]);
});

Deno.test("Lifecycle tolerates a double stop", async () => {
  const world = new World();
  const life = world.life(["api"]);
  await life.start();
  const [first, second] = await Promise.all([life.stop("a"), life.stop("b")]);
  assertEquals(first, second);
  assertEquals(first.reason, "a");
  assertEquals(await life.stop("c"), first);
  assertEquals(world.events, ["start api", "stop api 1000"]);
});

Deno.test("Lifecycle starts nothing after a stop", async () => {
  const world = new World();
  const life = world.life(["api"]);
  assertEquals((await life.stop("early")).kind, "clean");
  await life.start();
  assertEquals(world.events, []);
  assertEquals(world.signals.listeners, 0);
});

Deno.test("Lifecycle stops the part that is starting when told meanwhile", async () => {
  const world = new World();
  const life = world.life(["store", "source", "api"]);
  const starting = Promise.withResolvers<void>();
  world.onStart.set("source", () => starting.promise);
  world.onStop.set("source", () => {
    starting.reject(new Error("aborted"));
    return Promise.resolve();
  });
  const started = life.start();
  await world.clock.advanceAsync(0);
  world.signals.send("SIGTERM");
  await started;
  assertEquals(world.events, [
    "start store",
    "start source",
    "stop source 1000",
    "stop store 1000",
  ]);
  assertEquals((await life.done).kind, "clean");
});

Deno.test("Lifecycle ends in time when a part never ends starting", async () => {
  const world = new World();
  const life = world.life(["source"]);
  world.onStart.set("source", () => new Promise(() => {}));
  const started = life.start();
  await world.clock.advanceAsync(0);
  assertEquals((await life.stop("test")).kind, "clean");
  await started;
});

Deno.test("Lifecycle reloads on SIGHUP, once it runs and until it stops", async () => {
  const world = new World();
  const life = world.life(["api"]);
  let reloads = 0;
  life.onReload(() => void reloads++);
  const started = life.start();
  world.signals.send("SIGHUP");
  assertEquals(reloads, 0);
  await started;
  await world.clock.advanceAsync(0);
  assertEquals(reloads, 1);
  world.signals.send("SIGHUP");
  assertEquals(reloads, 2);
  const stopped = life.stop("test");
  world.signals.send("SIGHUP");
  await stopped;
  assertEquals(reloads, 2);
});

Deno.test("Lifecycle refuses a second start and late parts", async () => {
  const world = new World();
  const life = world.life(["api"]);
  await life.start();
  await assertRejects(() => life.start(), TypeError, "Cannot start");
  assertThrows(() => life.add(world.part("late")), TypeError, '"late"');
  await life.stop("test");
});

/** Parts that log their calls, with fake clock and signals to run them. */
class World {
  readonly clock = new FakeClock();
  readonly signals = new FakeSignals();
  readonly events: string[] = [];
  readonly lines: string[] = [];
  readonly onStart = new Map<string, () => Promise<void>>();
  readonly onStop = new Map<string, () => Promise<void>>();

  life(
    names: readonly string[],
    more: Partial<ConstructorParameters<typeof Lifecycle>[0]> = {},
  ): Lifecycle {
    const { clock, signals } = this;
    const logger = createLogger({
      format: "text",
      level: "debug",
      clock,
      write: (line) => this.lines.push(line),
    });
    const life = new Lifecycle({
      logger,
      clock,
      signals,
      graceMs: 1000,
      ...more,
    });
    for (const name of names) life.add(this.part(name));
    return life;
  }

  part(name: string): Part {
    return {
      name,
      start: () => {
        this.events.push(`start ${name}`);
        return this.onStart.get(name)?.() ?? Promise.resolve();
      },
      stop: (graceMs) => {
        this.events.push(`stop ${name} ${graceMs}`);
        return this.onStop.get(name)?.() ?? Promise.resolve();
      },
    };
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.clock.setTimer(resolve, ms));
  }

  logged(level: string): readonly string[] {
    return this.lines.filter((line) => line.includes(` level=${level} `))
      .map((line) => line.slice(line.indexOf("msg=")));
  }
}

class FakeSignals implements SignalSource {
  exit?: (code: number) => void;
  readonly #listeners = new Set<readonly [Signal, () => void]>();

  get listeners(): number {
    return this.#listeners.size;
  }

  listen(signal: Signal, callback: () => void): () => void {
    const listener = [signal, callback] as const;
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  send(signal: Signal): void {
    for (const [wanted, callback] of [...this.#listeners]) {
      if (wanted === signal) callback();
    }
  }
}
