/**
 * The commands `tasks export` and `tasks import`, which write the rows of a
 * store to a file and read them from it, whichever engine the store has.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import {
  type CommandIo,
  type CommandShape,
  readCommand,
  wrongArguments,
} from "../../shared/command_line.ts";
import { attempt, progressTeller } from "../../shared/command_work.ts";
import { openDataFolder } from "../../shared/data_folder.ts";
import { createLogger, type Logger } from "../../shared/logger.ts";
import { switchOption, textOption } from "../../shared/options.ts";
import { quote } from "../../shared/quote.ts";
import type { SettingsOutcome } from "../../shared/settings.ts";
import { withRowSource, withStore } from "../open_store.ts";
import type { TasksSettings, tasksSettings } from "../settings.ts";
import { writeExport } from "../transfer/export_file.ts";
import { importFile, type ImportProgress } from "../transfer/import_rows.ts";
import { writeAll, writeNewFile } from "../../shared/transfer/output_file.ts";
import {
  scopeOfTenant,
  type TransferCounts,
} from "../transfer/transfer_rows.ts";
import { DATA_FLAGS } from "./data_commands.ts";

/** Stands for standard output. */
const STDOUT = "-";

const EXPORT_FLAGS = {
  ...DATA_FLAGS,
  tenant: textOption({
    default: "",
    help: "Id of the only tenant to export. Default: all.",
  }),
} as const;

const EXPORT: CommandShape = {
  usage: "tasks export FILE|-",
  about: "Writes all data as it stands at one moment to a new file of JSON " +
    'lines, or to standard output with "-", from the store that STORE names. ' +
    "The service may run. Only you may read the file. Secrets stay encrypted " +
    "in it; the master key is not in it. Requests from transactions that wait " +
    "are not in it either, and are counted. Exit codes: 0 success, 1 failure, " +
    "2 invalid arguments.",
  positionals: 1,
};

const IMPORT_FLAGS = {
  ...DATA_FLAGS,
  resume: switchOption({
    help: "Continue an import of the same file that was interrupted.",
  }),
} as const;

const IMPORT: CommandShape = {
  usage: "tasks import FILE",
  about: "Reads a file that tasks export wrote into the store that STORE " +
    "names, which must not have the tenants in it. No service may use the " +
    "store. Compares the store with the file afterwards, and prints at most " +
    "20 differences. No service starts on the store until they are equal. " +
    "Exit codes: 0 success, 1 differences or failure, 2 invalid arguments.",
  positionals: 1,
};

/** Options of commands that copy rows. */
export interface TransferOptions {
  /** Where the command writes to. */
  readonly io: CommandIo;
  /** The settings of the service. */
  readonly settings: SettingsOutcome<typeof tasksSettings>;
  /** The clock of the machine. */
  readonly clock: Clock;
}

/** Runs `tasks export`; returns the exit code. */
export async function runExport(
  args: readonly string[],
  options: TransferOptions,
): Promise<number> {
  const { io, clock } = options;
  const read = readCommand(EXPORT_FLAGS, { args, io, command: EXPORT });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [to = ""] } = read;
  if (to === "") {
    const problem = 'Cannot export to "": the file needs a name';
    return wrongArguments(problem, { io, command: EXPORT }).exitCode;
  }
  return await attempt(io, async () => {
    const settings = storeSettings(options, values["data-dir"]);
    const nowMs = clock.nowMs();
    const scope = values.tenant === ""
      ? { nowMs }
      : scopeOfTenant(values.tenant, nowMs);
    const tell = progressTeller<readonly [number, number]>(
      { io, clock },
      ([tasks, of]) => `Tasks exported so far: ${tasks} of ${of}`,
    );
    const exported = await withRowSource(
      settings,
      commandTools(options, settings),
      (source) =>
        source.snapshot(async (rows) => {
          const fill = (write: (bytes: Uint8Array) => Promise<void>) =>
            writeExport(rows, {
              ...scope,
              write,
              onProgress: (...of) => tell(of),
            });
          return to === STDOUT
            ? await fill((bytes) => writeAll(Deno.stdout, bytes))
            : await writeNewFile(to, fill);
        }),
    );
    const { counts, sha256, waiting } = exported;
    // Standard output has the lines themselves.
    const out = to === STDOUT ? io.err : io.out;
    out(
      values.json
        ? JSON.stringify({ file: to, counts, sha256, waiting })
        : `Wrote ${quote(to)}: ${tellCounts(counts)}`,
    );
    if (waiting > 0) {
      io.err(
        `${waiting} requests from transactions wait and are not in the file; ` +
          "an instance of the service makes tasks of them",
      );
    }
    return 0;
  });
}

/** Runs `tasks import`; returns the exit code. */
export async function runImport(
  args: readonly string[],
  options: TransferOptions,
): Promise<number> {
  const { io, clock } = options;
  const read = readCommand(IMPORT_FLAGS, { args, io, command: IMPORT });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [path = ""] } = read;
  if (path === "") {
    const problem = 'Cannot import "": the file needs a name';
    return wrongArguments(problem, { io, command: IMPORT }).exitCode;
  }
  return await attempt(io, async () => {
    const settings = storeSettings(options, values["data-dir"]);
    if (settings.store === "sqlite") {
      await openDataFolder(settings.dataDir, { service: "tasks" });
    }
    const tell = progressTeller(
      { io, clock },
      ({ step, tasks, of }: ImportProgress) =>
        step === "importing"
          ? `Tasks imported so far: ${tasks} of ${of}`
          : `Tasks compared so far: ${tasks} of ${of}`,
    );
    const { counts, written, differences } = await withStore(
      settings,
      commandTools(options, settings),
      (store) =>
        importFile(store, { path, resumes: values.resume, onProgress: tell }),
    );
    if (values.json) {
      io.out(JSON.stringify({ file: path, counts, written, differences }));
    } else if (differences.length === 0) {
      io.out(
        `Imported ${quote(path)}: ${tellCounts(counts)}; the store has the ` +
          "same",
      );
    }
    if (differences.length === 0) return 0;
    io.err(
      `The store differs from ${quote(path)}:\n${differences.join("\n")}`,
    );
    return 1;
  });
}

/**
 * The settings of the store.
 *
 * @throws {Error} when a setting cannot be read
 */
export function storeSettings(
  { settings }: Pick<TransferOptions, "settings">,
  dataDir: string,
): TasksSettings {
  if (settings.kind === "invalid") {
    throw new Error(settings.problems.join("\n"));
  }
  return dataDir === "" ? settings.values : { ...settings.values, dataDir };
}

/** What opening a store needs. */
export function commandTools(
  { io, clock }: Pick<TransferOptions, "io" | "clock">,
  { logFormat }: Pick<TasksSettings, "logFormat">,
): { readonly clock: Clock; readonly logger: Logger } {
  const logger = createLogger({
    format: logFormat,
    level: "warning",
    clock,
    write: io.err,
  });
  return { clock, logger };
}

function tellCounts(counts: TransferCounts): string {
  const { tenant, task, history } = counts;
  return `${tenant} tenants, ${task} tasks, ${history} records of histories`;
}
