import { assertEquals } from "@std/assert";
import { Supervisor } from "./supervisor.ts";

/** Creates a supervisor that runs `code` in Deno. */
function supervise(code: string, write: (line: string) => void): Supervisor {
  return new Supervisor({
    command: () =>
      new Deno.Command(Deno.execPath(), {
        args: ["eval", "--no-config", code],
        stdin: "null",
        stdout: "piped",
        stderr: "piped",
      }),
    watched: [],
    write,
    tell: () => {},
  });
}

/**
 * A program for a process of its own, since a signal to this process would
 * reach all of its tests.
 */
const STOPPED_BY_SIGNAL = `
import { Supervisor } from "${new URL("supervisor.ts", import.meta.url).href}";
const supervisor = new Supervisor({
  command: () =>
    new Deno.Command(Deno.execPath(), {
      args: ["eval", "--no-config", "console.log('runs'); setInterval(() => {}, 1000)"],
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }),
  watched: [],
  write: (line) => line === "runs" && Deno.kill(Deno.pid, "SIGHUP"),
  tell: () => {},
});
await supervisor.run();
console.log(supervisor.isStopped);
`;

Deno.test("Supervisor.run() gives the exit code, and was not stopped, when the first process ends", async () => {
  const supervisor = supervise("console.error('why'); Deno.exit(3)", () => {});
  assertEquals(await supervisor.run(), 3);
  assertEquals([supervisor.isStopped, supervisor.lastLine], [false, "why"]);
});

Deno.test("Supervisor.run() was stopped when a signal ends it", async () => {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-config", STOPPED_BY_SIGNAL],
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const { stdout, stderr } = await child.output();
  const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
  assertEquals([text(stdout), text(stderr)], ["true\n", ""]);
});
