/**
 * `tercet mcp`: memories for agents over the Model Context Protocol, and the
 * commands that set it up.
 *
 * @module
 */

import { resolve } from "node:path";
import type { CliIo } from "../tasks/connection.ts";
import type { Command } from "../../shared/program.ts";

/** The command, with those below it. */
export function mcpCommand(io: CliIo): Command {
  const user = { os: Deno.build.os, readVariable: io.readVariable };
  const installIo = () => ({
    ...io,
    user,
    // A file that unpacks itself runs in the Deno that it contains.
    execPath: resolve(
      io.readVariable("TERCET_EXECUTABLE") || Deno.execPath(),
    ),
    ask: io.ask ?? (() => Promise.resolve(undefined)),
  });
  return {
    name: "mcp",
    about: "serve memories to an agent over standard input and output; " +
      "install, uninstall, token",
    async run([word, ...rest]) {
      switch (word) {
        case "install": {
          const { runInstall } = await import("./install/install.ts");
          return await runInstall(rest, installIo());
        }
        case "uninstall": {
          const { runUninstall } = await import("./install/install.ts");
          return await runUninstall(rest, installIo());
        }
        case "token": {
          const { runToken } = await import("./token.ts");
          return await runToken(rest, io);
        }
        // The completion of shells asks for them.
        case "--commands":
          io.out("install\nuninstall\ntoken");
          return 0;
        default: {
          const { runMcp } = await import("./run.ts");
          const args = word === undefined ? [] : [word, ...rest];
          return await runMcp(args, { ...io, user });
        }
      }
    },
  };
}
