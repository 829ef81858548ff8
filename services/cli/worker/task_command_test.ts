import { assertEquals } from "@std/assert";
import type { LeasedTask, TaskAttemptContext } from "../../../sdk/tasks.ts";
import { runCommand } from "./task_command.ts";

/**
 * The program of a process that reads its input only once the other side of its
 * connection has ended its sending, and exits when the input is closed.
 */
function readerLedBy(port: number): string {
  return `
    const connection = await Deno.connect({ port: ${port} });
    await connection.read(new Uint8Array(1));
    for await (const _ of Deno.stdin.readable);
    Deno.exit(0);`;
}

Deno.test("runCommand() gives the result of a command that ended, though what it left behind holds an input that it did not read", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const left = readerLedBy(listener.addr.port);
  // Ends at once, and leaves a process that has its standard input.
  const script = `
    new Deno.Command(Deno.execPath(), {
      args: ["eval", "--no-config", ${JSON.stringify(left)}],
      stdin: "inherit",
      stdout: "null",
      stderr: "null",
    }).spawn();
    console.log("done");
    Deno.exit(0);`;
  // More than a pipe takes, so that writing it waits for a reader.
  const data = "x".repeat(300_000);
  const task = { id: "t", job: "j", metadata: {}, data } as LeasedTask;
  const attempt = { fence: 1, run: 1, attempt: 1, secrets: {} };
  const { signal } = new AbortController();
  const context = { ...attempt, signal } as TaskAttemptContext;
  const result = await runCommand(task, context, {
    program: Deno.execPath(),
    args: ["eval", "--no-config", script],
    onLine: () => {},
    killAfterMs: () => 10_000,
  });
  assertEquals(result, "done\n");
  using connection = await listener.accept();
  await connection.closeWrite();
  // The process exits when the rest of the input is written and closed, so no write
  // is left when the test ends.
  assertEquals(await connection.read(new Uint8Array(1)), null);
});
