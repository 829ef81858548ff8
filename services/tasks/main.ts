/**
 * The program of the tasks service: `tasks` serves, and its subcommands manage
 * the data.
 *
 * @module
 */

import { readIfThere } from "../shared/missing_file.ts";
import { randomBytes } from "../shared/random_bytes.ts";
import { systemClock } from "../shared/clock.ts";
import { startFault } from "../shared/lifecycle.ts";
import { openDataFolder } from "../shared/data_folder.ts";
import { type CommandIo, processIo } from "../shared/command_line.ts";
import { type ProgramIo, runProgram } from "../shared/program.ts";
import {
  runService,
  type ServiceTools,
  thisProcess,
} from "../shared/run_service.ts";
import { readSettings } from "../shared/settings.ts";
import { WatchThread } from "../shared/watch/watch_thread.ts";
import type { TransferOptions } from "./cli/transfer_commands.ts";
import { configurationFaults, readConfiguration } from "./configuration.ts";
import { quietLogger } from "./quiet_logger.ts";
import { type OpenKeysOutcome, openMasterKeys } from "./secrets/master_keys.ts";
import {
  type DataSettings,
  dataSettings,
  type TasksSettings,
  tasksSettings,
} from "./settings.ts";

const SERVICE = {
  settings: tasksSettings,
  findFaults: configurationFaults,
  wrapLogger: quietLogger,
};

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
    serve: () => runService(SERVICE, thisProcess(io, Deno.env), addTasks),
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
        const { callService } = await import("./cli/service_call.ts");
        const { runTenant } = await import("./cli/tenant.ts");
        const readText = Deno.readTextFile;
        return await runTenant(rest, { io, call: callService, readText });
      },
    }, {
      name: "instances",
      about: "list the running instances of the service",
      async run(rest) {
        const { callService } = await import("./cli/service_call.ts");
        const { runInstances } = await import("./cli/instances.ts");
        const readText = Deno.readTextFile;
        return await runInstances(rest, { io, call: callService, readText });
      },
    }, {
      name: "backup",
      about: "copy the data while the service runs",
      async run(rest) {
        const { runBackup } = await import("./cli/data_commands.ts");
        return await onData(io, (of) => runBackup(rest, of));
      },
    }, {
      name: "restore",
      about: "restore such a copy",
      async run(rest) {
        const { runRestore } = await import("./cli/data_commands.ts");
        return await onData(io, (of) => runRestore(rest, of));
      },
    }, {
      name: "check",
      about: "verify the data",
      async run(rest) {
        const { runCheck } = await import("./cli/data_commands.ts");
        const clock = systemClock;
        return await onData(io, (of) => runCheck(rest, { ...of, clock }));
      },
    }, {
      name: "compact",
      about: "return the space of removed tasks",
      async run(rest) {
        const { runCompact } = await import("./cli/data_commands.ts");
        const clock = systemClock;
        return await onData(io, (of) => runCompact(rest, { ...of, clock }));
      },
    }, {
      name: "rewrap",
      about: "wrap the tenants' keys with a new master key",
      async run(rest) {
        const { runRewrap } = await import("./cli/rewrap.ts");
        return await onData(io, (of) => runRewrap(rest, { ...of, openKeys }));
      },
    }, {
      name: "migrate",
      about: "make the tables on PostgreSQL, or print how",
      async run(rest) {
        const { runMigrate } = await import(
          "../shared/postgres/migrate_command.ts"
        );
        const { migrationPlan: plan } = await import(
          "./store/postgres/schema_access.ts"
        );
        return await onData(
          io,
          (of) => runMigrate(rest, { ...of, service: "tasks", plan }),
        );
      },
    }, {
      name: "enqueue-role",
      about: "let a role of the database enqueue tasks",
      async run(rest) {
        const { runEnqueueRole } = await import("./cli/enqueue_role.ts");
        return await onData(io, (of) => runEnqueueRole(rest, of));
      },
    }, {
      name: "export",
      about: "write all data to a file, for another store",
      async run(rest) {
        const { runExport } = await import("./cli/transfer_commands.ts");
        return await runExport(rest, transferOptions(io));
      },
    }, {
      name: "import",
      about: "read such a file into an empty store",
      async run(rest) {
        const { runImport } = await import("./cli/transfer_commands.ts");
        return await runImport(rest, transferOptions(io));
      },
    }, {
      name: "move",
      about: "move the data to PostgreSQL while the service runs",
      async run(rest) {
        const { runMove } = await import("./cli/move.ts");
        return await runMove(rest, transferOptions(io));
      },
    }],
    examples: [
      "DATA_DIR=/var/lib/tasks SERVICE_HOST=tasks.example.com tasks",
      'tasks preview "30 2 * * *"',
      "tasks backup tasks.backup",
    ],
  }, { args, io });
}

/** Runs a command with the settings that tell where the data is. */
async function onData(
  io: CommandIo,
  use: (of: {
    readonly io: CommandIo;
    readonly settings: DataSettings;
  }) => Promise<number>,
): Promise<number> {
  const read = readSettings(dataSettings, (name) => Deno.env.get(name));
  if (read.kind === "ok") return await use({ io, settings: read.values });
  for (const problem of read.problems) io.err(problem);
  return 1;
}

/** What commands need that copy rows from one store to another. */
function transferOptions(io: ProgramIo): TransferOptions {
  return {
    io,
    settings: readSettings(tasksSettings, (name) => Deno.env.get(name)),
    clock: systemClock,
  };
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

/** Adds the parts of the service. */
async function addTasks(
  settings: TasksSettings,
  tools: ServiceTools,
): Promise<void> {
  const tracing = await tools.openTracing(settings);
  await openDataFolder(settings.dataDir, { service: "tasks" });
  const reports = new WatchThread(tools);
  const read = await readConfiguration(settings, { ...tools, reports });
  if (read.kind === "invalid") throw startFault(read.problems);
  const { addParts } = await import("./wiring.ts");
  await addParts(settings, {
    ...tools,
    ...read.configuration,
    reports,
    tracing,
  });
}

if (import.meta.main) Deno.exit(await run(Deno.args, processIo()));
