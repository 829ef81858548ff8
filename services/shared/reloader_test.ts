import { assertEquals } from "@std/assert";
import { FakeClock } from "../../tests/support/fake_clock.ts";
import { createLogger } from "./log_writer.ts";
import type { Logger } from "./logger.ts";
import { Reloader } from "./reloader.ts";

Deno.test("Reloader runs once more for all requests during a run", async () => {
  const reloader = new Reloader(collect().logger);
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const second = Promise.withResolvers<void>();
  let runs = 0;
  reloader.add(async () => {
    const gate = gates[runs++];
    if (runs === 2) second.resolve();
    await gate?.promise;
  });
  reloader.open();
  for (let index = 0; index < 4; index++) reloader.request();
  assertEquals(runs, 1);
  gates[0]?.resolve();
  await second.promise;
  gates[1]?.resolve();
  await flush();
  assertEquals(runs, 2);
});

Deno.test("Reloader keeps a request until it is open", async () => {
  const reloader = new Reloader(collect().logger);
  let runs = 0;
  reloader.add(() => void runs++);
  reloader.request();
  reloader.request();
  await flush();
  assertEquals(runs, 0);
  reloader.open();
  await flush();
  assertEquals(runs, 1);
});

Deno.test("Reloader does nothing once it is closed", async () => {
  const reloader = new Reloader(collect().logger);
  let runs = 0;
  reloader.add(() => void runs++);
  reloader.close();
  reloader.open();
  reloader.request();
  await flush();
  assertEquals(runs, 0);
});

Deno.test("Reloader logs a fault and runs the other callbacks", async () => {
  const { logger, lines } = collect();
  const reloader = new Reloader(logger);
  const runs: string[] = [];
  reloader.add(() => Promise.reject(new Error("no such file")));
  reloader.add(() => void runs.push("second"));
  reloader.open();
  reloader.request();
  await flush();
  assertEquals(runs, ["second"]);
  assertEquals(lines.map((line) => line.replace(/^\S+ /, "")), [
    'level=info msg="Reloading"',
    'level=error msg="Reload failed" error="no such file"',
  ]);
});

interface Collected {
  readonly logger: Logger;
  readonly lines: string[];
}

function collect(): Collected {
  const lines: string[] = [];
  const logger = createLogger({
    format: "text",
    level: "debug",
    clock: new FakeClock(),
    write: (line) => lines.push(line),
  });
  return { logger, lines };
}

function flush(): Promise<void> {
  return new FakeClock().advanceAsync(0);
}
