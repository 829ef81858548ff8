/**
 * The tasks service: `tasks` serves, other commands look after its data.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import { systemClock } from "../shared/clock.ts";
import { type CommandIo, processIo } from "../shared/command_line.ts";
import { settingsHelp } from "../shared/option_help.ts";
import { readSettings } from "../shared/settings.ts";
import { createLogger } from "../shared/logger.ts";
import { describeError } from "../shared/settled.ts";
import { processSignals } from "../shared/lifecycle.ts";
import { stderrWriter } from "../shared/stderr_writer.ts";
import { openTracing } from "../shared/telemetry/open_tracing.ts";
import {
  foreignTracePrefixes,
  idleTracingNotices,
} from "../shared/telemetry/tracing_settings.ts";
import { readConfiguration, readIfThere } from "./configuration.ts";
import { runBackup, runCheck, runRestore } from "./cli/data_commands.ts";
import { postJson, runTenant } from "./cli/tenant.ts";
import { runPreview } from "./cli/preview.ts";
import { runRewrap } from "./cli/rewrap.ts";
import { quietLogger } from "./quiet_logger.ts";
import { type OpenKeysOutcome, openMasterKeys } from "./secrets/master_keys.ts";
import { serve } from "./wiring.ts";
import { type TasksSettings, tasksSettings } from "./settings.ts";

const HELP = `tasks: multi-tenant task scheduling over REST

usage: tasks             serve; settings come from the environment
       tasks preview …   show the next times of a schedule
       tasks tenant …    create a tenant of a running service
       tasks backup …    copy the data while the service runs
       tasks restore …   put such a copy back
       tasks check …     look whether the data is whole
       tasks rewrap …    wrap the tenants' keys by a new master key
       tasks --help      this text; commands have their own

Settings:

`;

async function main(args: readonly string[], io: CommandIo): Promise<number> {
  const [command, ...rest] = args;
  switch (command) {
    case undefined:
      return await runService(io);
    case "preview":
      return runPreview(rest, { io, nowMs: systemClock.nowMs() });
    case "backup":
      return await runBackup(rest, { io, dataDir: dataDir() });
    case "restore":
      return await runRestore(rest, { io, dataDir: dataDir() });
    case "check":
      return await runCheck(rest, {
        io,
        dataDir: dataDir(),
        clock: systemClock,
        openKeys,
      });
    case "rewrap":
      return await runRewrap(rest, {
        io,
        dataDir: dataDir(),
        openKeys,
      });
    case "tenant":
      return await runTenant(rest, {
        io,
        post: postJson,
        readText: Deno.readTextFile,
      });
    case "help":
    case "-h":
    case "--help":
      io.out(HELP + settingsHelp(tasksSettings));
      return 0;
    default:
      io.err(`Cannot run "${command}": no such command; see tasks --help`);
      return 2;
  }
}

/** The data folder of the service, for commands that take no other setting. */
function dataDir(): string {
  return Deno.env.get("DATA_DIR") || "tasks-data";
}

/** Opens the master keys of a data folder for a command, which makes none. */
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
  const read = readSettings(tasksSettings, (name) => Deno.env.get(name), {
    allVariables: () => Deno.env.toObject(),
    foreignPrefixes: foreignTracePrefixes((name) => Deno.env.get(name)),
  });
  if (read.kind === "invalid") {
    for (const problem of read.problems) io.err(problem);
    return 1;
  }
  for (const notice of read.notices) io.err(notice);
  const idle = idleTracingNotices(read.values, {
    table: tasksSettings,
    readVariable: (name) => Deno.env.get(name),
  });
  for (const notice of idle) io.err(notice);
  try {
    return await serveWith(read.values, io);
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
  await Deno.mkdir(settings.dataDir, { recursive: true, mode: 0o700 });
  const read = await readConfiguration(settings, {
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
  const outcome = await serve(settings, {
    ...read.configuration,
    traces: tracing.kind === "on" ? tracing.open : undefined,
    clock: systemClock,
    logger,
    signals: processSignals,
  });
  return outcome.exitCode;
}

if (import.meta.main) Deno.exit(await main(Deno.args, processIo()));
