/**
 * The program of the tasks service: `tasks` serves, and its subcommands manage
 * the data.
 *
 * @module
 */

import { randomBytes } from "../shared/random_bytes.ts";
import { systemClock } from "../shared/clock.ts";
import { openDataFolder } from "../shared/data_folder.ts";
import { type CommandIo, processIo } from "../shared/command_line.ts";
import { type ProgramIo, runProgram } from "../shared/program.ts";
import { createLogger } from "../shared/logger.ts";
import { describeError } from "../shared/settled.ts";
import { processSignals } from "../shared/lifecycle.ts";
import { stderrWriter } from "../shared/stderr_writer.ts";
import { openTracing } from "../shared/telemetry/open_tracing.ts";
import { startSettings } from "../shared/telemetry/start_settings.ts";
import { WatchThread } from "../shared/watch/watch_thread.ts";
import {
  configurationFaults,
  readConfiguration,
  readIfThere,
} from "./configuration.ts";
import { quietLogger } from "./quiet_logger.ts";
import { type OpenKeysOutcome, openMasterKeys } from "./secrets/master_keys.ts";
import { type TasksSettings, tasksSettings } from "./settings.ts";

/**
 * Runs the service, or the command that the arguments name.
 *
 * @returns The exit code.
 */
export function run(args: readonly string[], io: ProgramIo): Promise<number> {
  return runProgram({
    name: "tasks",
    about: "multi-tenant task scheduling over REST",
    settings: tasksSettings,
    serve: () => runService(io),
    commands: [{
      name: "preview",
      about: "show the next times of a schedule",
      async run(rest) {
        const { runPreview } = await import("./cli/preview.ts");
        const nowMs = systemClock.nowMs();
        const readText = Deno.readTextFile;
        return await runPreview(rest, { io, nowMs, readText });
      },
    }, {
      name: "tenant",
      about: "create a tenant of a running service",
      async run(rest) {
        const { postJson, runTenant } = await import("./cli/tenant.ts");
        const readText = Deno.readTextFile;
        return await runTenant(rest, { io, post: postJson, readText });
      },
    }, {
      name: "backup",
      about: "copy the data while the service runs",
      async run(rest) {
        const { runBackup } = await import("./cli/data_commands.ts");
        return await runBackup(rest, { io, dataDir: dataDir() });
      },
    }, {
      name: "restore",
      about: "put such a copy back",
      async run(rest) {
        const { runRestore } = await import("./cli/data_commands.ts");
        return await runRestore(rest, { io, dataDir: dataDir() });
      },
    }, {
      name: "check",
      about: "look whether the data is whole",
      async run(rest) {
        const { runCheck } = await import("./cli/data_commands.ts");
        return await runCheck(rest, {
          io,
          dataDir: dataDir(),
          clock: systemClock,
        });
      },
    }, {
      name: "compact",
      about: "give the space of removed tasks back",
      async run(rest) {
        const { runCompact } = await import("./cli/data_commands.ts");
        return await runCompact(rest, {
          io,
          dataDir: dataDir(),
          clock: systemClock,
        });
      },
    }, {
      name: "rewrap",
      about: "wrap the tenants' keys by a new master key",
      async run(rest) {
        const { runRewrap } = await import("./cli/rewrap.ts");
        return await runRewrap(rest, { io, dataDir: dataDir(), openKeys });
      },
    }],
    examples: [
      "DATA_DIR=/var/lib/tasks SERVICE_HOST=tasks.example.com tasks",
      'tasks preview "30 2 * * *"',
      "tasks backup tasks.backup",
    ],
  }, { args, io });
}

/**
 * The data folder of the service, for commands without settings of their own.
 */
function dataDir(): string {
  return Deno.env.get("DATA_DIR") || "tasks-data";
}

/**
 * Opens the master keys of a data folder for a command; never makes new ones.
 */
function openKeys(dataFolder: string): Promise<OpenKeysOutcome> {
  return openMasterKeys({
    keys: Deno.env.get("MASTER_KEYS") ?? "",
    file: Deno.env.get("MASTER_KEYS_FILE") ?? "",
    defaultFile: `${dataFolder}/master.key`,
    read: readIfThere,
    randomBytes,
  });
}

async function runService(io: CommandIo): Promise<number> {
  const settings = await startSettings(tasksSettings, {
    readVariable: (name) => Deno.env.get(name),
    allVariables: () => Deno.env.toObject(),
    io,
    readText: Deno.readTextFile,
    faultsOf: configurationFaults,
  });
  if (settings === undefined) return 1;
  try {
    return await serveWith(settings, io);
  } catch (error) {
    io.err(describeError(error));
    return 1;
  }
}

async function serveWith(
  settings: TasksSettings,
  io: CommandIo,
): Promise<number> {
  const logger = quietLogger(
    createLogger({
      format: settings.logFormat,
      level: settings.logLevel,
      clock: systemClock,
      write: stderrWriter(),
    }),
    { clock: systemClock },
  );
  await openDataFolder(settings.dataDir, { service: "tasks" });
  const reports = new WatchThread({ clock: systemClock, logger });
  const read = await readConfiguration(settings, {
    reports,
    clock: systemClock,
    logger,
  });
  if (read.kind === "invalid") {
    for (const problem of read.problems) io.err(problem);
    return 1;
  }
  const tracing = await openTracing(settings, {
    defaultServiceName: tasksSettings.tracingServiceName.fallback,
    clock: systemClock,
    logger,
    readText: Deno.readTextFile,
  });
  if (tracing.kind === "invalid") {
    for (const problem of tracing.problems) io.err(problem);
    return 1;
  }
  const { serve } = await import("./wiring.ts");
  const outcome = await serve(settings, {
    ...read.configuration,
    reports,
    traces: tracing.kind === "on" ? tracing.open : undefined,
    clock: systemClock,
    logger,
    signals: processSignals,
  });
  return outcome.exitCode;
}

if (import.meta.main) Deno.exit(await run(Deno.args, processIo()));
