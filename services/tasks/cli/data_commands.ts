/**
 * The commands `tasks backup`, `tasks restore`, `tasks check` and `tasks
 * compact`, which work on the data itself. They need no running service; backup
 * and check may run beside one.
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
import { switchOption, textOption } from "../../shared/options.ts";
import {
  backupDatabase,
  type Quarantined,
  restoreDatabase,
} from "../store/sqlite/backup.ts";
import { compactDatabase, type CopiedRows } from "../store/sqlite/compact.ts";
import type { CheckedHistories } from "../store/task_check.ts";
import type { DataSettings } from "../settings.ts";
import { storedData } from "../stored_data.ts";

/** The flags that all commands about the data have. */
export const DATA_FLAGS = {
  "data-dir": textOption({
    default: "",
    help: "A data folder. Default: the data that STORE, DATA_DIR and " +
      "DATABASE_URL name.",
  }),
  json: switchOption({ help: "Write one JSON object." }),
} as const;

const BACKUP: CommandShape = {
  usage: "tasks backup FILE",
  about: "Copies everything written so far to one new file, and verifies the " +
    "copy. The service may run. Only you may read the copy; the master key " +
    "is not in it. Exit codes: 0 success, 1 failure, 2 invalid arguments.",
  positionals: 1,
};

const RESTORE: CommandShape = {
  usage: "tasks restore FILE",
  about: "Verifies a backup and restores it to the data folder of a stopped " +
    "service. The replaced database is kept as tasks.db.replaced, " +
    "tasks.db.replaced.2 and so on. Exit codes: 0 success, 1 failure, 2 " +
    "invalid arguments.",
  positionals: 1,
};

const CHECK: CommandShape = {
  usage: "tasks check",
  about: "Follows the hashes of every task's history to their end, compares " +
    "the stored counts of tasks with the tasks, and finds rows that refer to " +
    "missing rows; in a data folder, reads every page of the database first. " +
    "Prints at most 20 faults. The service may run. Exit codes: 0 no faults, " +
    "1 faults or failure, 2 invalid arguments.",
  positionals: 0,
};

const COMPACT: CommandShape = {
  usage: "tasks compact",
  about:
    "Copies the database without the free space of removed tasks, while the " +
    "service is stopped. The copy replaces the file once it is verified and " +
    "on disk. A running service returns space itself, except in a file of an " +
    "earlier version that was never compacted. Exit codes: 0 success, 1 " +
    "failure, 2 invalid arguments.",
  positionals: 0,
};

/** Options of the commands. */
export interface DataCommandOptions {
  /** Where the command writes to. */
  readonly io: CommandIo;
  /** Where the data is; the arguments may name another data folder. */
  readonly settings: DataSettings;
}

/** Options of commands that tell how far they are. */
interface LongCommandOptions extends DataCommandOptions {
  /** Times the messages about progress. */
  readonly clock: Pick<Clock, "nowMs">;
}

/** Runs `tasks backup`; returns the exit code. */
export async function runBackup(
  args: readonly string[],
  { io, settings }: DataCommandOptions,
): Promise<number> {
  const read = readCommand(DATA_FLAGS, { args, io, command: BACKUP });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [to = ""] } = read;
  if (to === "") {
    const problem = 'Cannot back up to "": the file needs a name';
    return wrongArguments(problem, { io, command: BACKUP }).exitCode;
  }
  return await attempt(io, async () => {
    const dataFolder = demandFolder(settings, values, "back up");
    await backupDatabase({ dataFolder, to });
    io.out(values.json ? JSON.stringify({ file: to }) : `Wrote "${to}"`);
    return 0;
  });
}

/** Runs `tasks restore`; returns the exit code. */
export async function runRestore(
  args: readonly string[],
  { io, settings }: DataCommandOptions,
): Promise<number> {
  const read = readCommand(DATA_FLAGS, { args, io, command: RESTORE });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [from = ""] } = read;
  return await attempt(io, async () => {
    const dataFolder = demandFolder(settings, values, "restore");
    const kept = await restoreDatabase({ dataFolder, from });
    if (values.json) {
      io.out(JSON.stringify({ dataDir: dataFolder, kept: kept.files }));
      return 0;
    }
    io.out(`Restored "${from}" to "${dataFolder}"`);
    for (const line of tellKept(kept)) io.out(line);
    return 0;
  });
}

function* tellKept({ files, logReason }: Quarantined): Generator<string> {
  if (files.length === 0) return;
  const names = files.map((file) => `"${file}"`).join(" and ");
  yield `What was there is kept as ${names}`;
  if (logReason === undefined) return;
  yield "The one with -wal is the log, which holds the newest writes and " +
    `belongs to the other one; it could not be moved into it: ${logReason}`;
}

/** Runs `tasks check`; returns the exit code. */
export async function runCheck(
  args: readonly string[],
  { io, settings, clock }: LongCommandOptions,
): Promise<number> {
  const read = readCommand(DATA_FLAGS, { args, io, command: CHECK });
  if (read.kind === "done") return read.exitCode;
  const { values } = read;
  const data = storedData(whereOf(settings, values));
  return await attempt(io, async () => {
    const faults = await data.check(
      values.json ? undefined : progressTeller(
        { io, clock },
        ({ tasks, records }: CheckedHistories) =>
          `Histories checked so far: ${tasks} (${records} records)`,
      ),
    );
    const code = faults.length === 0 ? 0 : 1;
    if (values.json) io.out(JSON.stringify({ faults }));
    else io.out(code === 0 ? "The database is whole" : faults.join("\n"));
    return code;
  });
}

/** Runs `tasks compact`; returns the exit code. */
export async function runCompact(
  args: readonly string[],
  { io, settings, clock }: LongCommandOptions,
): Promise<number> {
  const read = readCommand(DATA_FLAGS, { args, io, command: COMPACT });
  if (read.kind === "done") return read.exitCode;
  const { values } = read;
  return await attempt(io, async () => {
    const dataFolder = demandFolder(settings, values, "compact");
    const { bytesBefore, bytesAfter } = await compactDatabase({
      dataFolder,
      onProgress: values.json ? undefined : progressTeller(
        { io, clock },
        ({ rows, of }: CopiedRows) => `Rows copied so far: ${rows} of ${of}`,
      ),
    });
    io.out(
      values.json
        ? JSON.stringify({ dataDir: dataFolder, bytesBefore, bytesAfter })
        : `Compacted "${dataFolder}": ${megabytes(bytesBefore)} before, ` +
          `${megabytes(bytesAfter)} after`,
    );
    return 0;
  });
}

/** Where the data is: in the folder of the arguments, if they name one. */
function whereOf(
  settings: DataSettings,
  { "data-dir": dataDir }: { readonly "data-dir": string },
): DataSettings {
  return dataDir === "" ? settings : { ...settings, store: "sqlite", dataDir };
}

/**
 * The data folder of a command that works on files.
 *
 * @throws {Error} when the data is not in files
 */
function demandFolder(
  settings: DataSettings,
  values: { readonly "data-dir": string },
  action: string,
): string {
  const { store, dataDir } = whereOf(settings, values);
  if (store === "sqlite") return dataDir;
  throw new Error(
    `Cannot ${action}: STORE is postgres; PostgreSQL's own programs do this ` +
      (action === "compact"
        ? "(VACUUM, which the server runs by itself)"
        : "(pg_dump, pg_restore), and `tasks check` verifies what they restore"),
  );
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
