import { assertEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import { startFault } from "./lifecycle.ts";
import { logSettings } from "./logger.ts";
import { durationOption, portOption } from "./options.ts";
import { runService, type ServiceTools } from "./run_service.ts";
import { tracingSettings } from "./telemetry/tracing_settings.ts";

const SETTINGS = {
  ...logSettings,
  ...tracingSettings({ serviceName: "example" }),
  port: portOption({ name: "PORT", default: 80, help: "Port." }),
  shutdownGraceMs: durationOption({
    name: "SHUTDOWN_GRACE",
    default: "1s",
    help: "Grace.",
  }),
} as const;

/** Runs a service in a process that only simulates its surroundings. */
function world(variables: Readonly<Record<string, string>> = {}) {
  const told: string[] = [];
  const stops: (() => void)[] = [];
  const ended = (
    addParts: (tools: ServiceTools, port: number) => void | Promise<void>,
  ): Promise<number> =>
    runService(
      {
        settings: SETTINGS,
        findFaults: ({ port }) => port === 1 ? ["Cannot use PORT 1"] : [],
      },
      {
        io: { out: () => {}, err: (text) => void told.push(text) },
        env: { get: (name) => variables[name], toObject: () => variables },
        clock: new FakeClock(0),
        signals: {
          listen(signal, callback) {
            if (signal === "SIGTERM") stops.push(callback);
            return () => {};
          },
        },
        writeLog: (line) => void told.push(line.replace(/^time=\S+ /, "")),
      },
      ({ port }, tools) => addParts(tools, port),
    );
  return { told, stops, ended };
}

Deno.test("runService() starts the parts with their settings, and stops them on SIGTERM", async () => {
  const { told, stops, ended } = world({ PORT: "8000" });
  const code = await ended((tools, port) => {
    tools.lifecycle.add({
      name: "listener",
      start() {
        tools.logger.info(`on ${port}`);
        queueMicrotask(() => stops[0]?.());
        return Promise.resolve();
      },
      stop: () => Promise.resolve(),
    });
  });
  assertEquals([code, told], [0, [
    'level=info msg="on 8000"',
    'level=info msg="Service stopping" reason=SIGTERM',
    'level=info msg="Service stopped" reason=SIGTERM outcome=clean',
  ]]);
});

Deno.test("runService() prints why nothing can be started, and gives 1", async () => {
  const wrong = world({ PORT: "1" });
  const code = await wrong.ended(() => {
    throw new Error("reached");
  });
  assertEquals([code, wrong.told], [1, ["Cannot use PORT 1"]]);
  const gone = world();
  const problems = ["Cannot read a", "Cannot read b"];
  assertEquals(
    await gone.ended(() => {
      throw startFault(problems);
    }),
    1,
  );
  assertEquals(gone.told, [problems.join("\n")]);
});

Deno.test("runService() prints the fault that stopped the service, and gives 1", async () => {
  const { told, ended } = world({ LOG_LEVEL: "error" });
  const code = await ended(({ lifecycle }) => {
    lifecycle.add({
      name: "listener",
      start() {
        lifecycle.fail(new Error("Cannot listen"), "no listener");
        return Promise.resolve();
      },
      stop: () => Promise.resolve(),
    });
  });
  assertEquals([code, told], [1, ["Cannot listen"]]);
});
