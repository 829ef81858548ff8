/**
 * `tercet tasks usage`: shows how much of its plan a tenant uses.
 *
 * @module
 */

import { type CommandShape, readCommand } from "../../shared/command_line.ts";
import { asking, type CliIo, connect, CONNECTION } from "./connection.ts";
import { formatTable } from "./table.ts";

const COMMAND: CommandShape = {
  usage: "tercet tasks usage",
  about:
    "Shows how much of its plan the tenant uses. Exit codes: 0 success, 1 " +
    "refused or no answer, 2 invalid arguments.",
};

/** Runs the command; returns the exit code. */
export async function runUsage(
  args: readonly string[],
  io: CliIo,
): Promise<number> {
  const read = readCommand(CONNECTION, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const connected = await connect(read.values, { io, command: COMMAND });
  if (connected.kind === "done") return connected.exitCode;
  return await asking(io, async () => {
    const usage = await connected.tasks.usage();
    if (read.values.json) {
      io.out(JSON.stringify(usage));
      return 0;
    }
    io.out(`plan ${usage.plan}, executions of ${usage.period}\n`);
    io.out(formatTable(
      ["WHAT", "USED", "LIMIT"],
      Object.entries(usage.use).map(([name, { used, limit, is_exact }]) => [
        name.replaceAll("_", " "),
        is_exact ? String(used) : `${used} or more`,
        limit === null ? "none" : String(limit),
      ]),
    ));
    return 0;
  });
}
