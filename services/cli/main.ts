/**
 * The program `tercet`: all services and commands, each of which is loaded only
 * when it is called. By a link with the name of a service it is that service:
 * manifests made for envoyproxy/ratelimit call `/bin/ratelimit`.
 *
 * @module
 */

import { basename } from "node:path";
import process from "node:process";
import { processIo } from "../shared/command_line.ts";
import { type Command, type ProgramIo, runProgram } from "../shared/program.ts";
import { taskCommands } from "./tasks/commands.ts";
import {
  type CliIo,
  readStandardInput,
  writeSecretFile,
} from "./tasks/connection.ts";

/** A service, as a command of `tercet`. */
interface Service {
  /** The name of the command. */
  readonly name: string;
  /** What the service does, for the help. */
  readonly about: string;
  /** Loads the service's program. */
  readonly load: () => Promise<{
    run(args: readonly string[], io: ProgramIo): Promise<number>;
  }>;
  /**
   * Commands for users of the service, in addition to the service's own
   * commands for its operators.
   *
   * @default no commands
   */
  readonly commands?: (io: CliIo) => readonly Command[];
}

const SERVICES: readonly Service[] = [{
  name: "ratelimit",
  about: "decide whether requests are within their limits",
  load: () => import("../ratelimit/main.ts"),
}, {
  name: "tasks",
  about: "schedule tasks for many tenants",
  load: () => import("../tasks/main.ts"),
  commands: taskCommands,
}, {
  name: "relayer",
  about: "remember text for accounts, and find it again",
  load: () => import("../relayer/main.ts"),
}, {
  name: "keyserver",
  about: "keep one share of the keys to owners' memories",
  load: () => import("../keyserver/main.ts"),
}];

/**
 * Runs the service or command that the arguments name, with this process's
 * environment, files and standard input.
 *
 * @returns The exit code.
 */
export function run(args: readonly string[], io: ProgramIo): Promise<number> {
  return runTercet(args, {
    ...io,
    readVariable: (name) => Deno.env.get(name),
    readText: Deno.readTextFile,
    readInput: readStandardInput,
    writeSecret: writeSecretFile,
    path: process.argv0,
  });
}

/** What the program gets from the process it runs in. */
interface TercetIo extends CliIo {
  /**
   * The path by which it was called, such as that of a link.
   *
   * @default its own name
   */
  readonly path?: string | undefined;
}

/** Does the same with a given environment; returns the exit code. */
export async function runTercet(
  args: readonly string[],
  { path = "tercet", ...io }: TercetIo,
): Promise<number> {
  const name = basename(path);
  const linked = SERVICES.find((service) => service.name === name);
  if (linked !== undefined) {
    return await serviceCommand(linked, { ...io, calledAs: name }).run(args);
  }
  return await runProgram({
    name: "tercet",
    about: "rate limits, tasks and memories in one program",
    commands: [
      ...SERVICES.map((service) => serviceCommand(service, io)),
      {
        name: "memory",
        about: "remember texts at a relayer, and find them again",
        async run(rest) {
          const { runMemory } = await import("./memory/commands.ts");
          return await runMemory(rest, io);
        },
      },
      {
        name: "mcp",
        about: "memories for agents (token)",
        async run(rest) {
          const { runMcp } = await import("./memory/commands.ts");
          return await runMcp(rest, io);
        },
      },
      {
        name: "key",
        about: "create a key pair for a delegate (new)",
        async run(rest) {
          const { runKey } = await import("./key.ts");
          return await runKey(rest, io);
        },
      },
      {
        name: "health",
        about: "check the health of a service on this machine",
        async run(rest) {
          const { runHealth } = await import("./health.ts");
          return await runHealth(rest, io);
        },
      },
      {
        name: "completion",
        about: "print a completion script (bash, zsh)",
        async run(rest) {
          const { runCompletion } = await import("./completion.ts");
          return runCompletion(rest, io);
        },
      },
    ],
    examples: [
      "tercet ratelimit check -config_dir /etc/ratelimit/config",
      'tercet tasks preview "30 2 * * *"',
      'tercet tasks create --worker mailer --data \'{"to": "Ada"}\' --wait',
      "DATA_DIR=/var/lib/relayer tercet relayer",
      'tercet memory recall "What does Ada drink?"',
      "tercet key new --json",
      "tercet health tasks",
    ],
  }, { args, io });
}

function serviceCommand(
  { name, about, load, commands }: Service,
  io: CliIo,
): Command {
  return {
    name,
    about,
    async run(args) {
      const { run } = await load();
      return await run(args, {
        ...io,
        calledAs: io.calledAs ?? `tercet ${name}`,
        moreCommands: commands?.(io),
      });
    },
  };
}

if (import.meta.main) Deno.exit(await run(Deno.args, processIo()));
