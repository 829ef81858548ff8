/**
 * The commands `tasks backup`, `tasks restore`, `tasks check` and `tasks
 * compact`, which work on the data folder itself. They need no running service;
 * backup and check may run beside one.
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
import { switchOption, textOption } from "../../shared/options.ts";
import { describeError } from "../../shared/settled.ts";
import type { OpenKeysOutcome } from "../secrets/master_keys.ts";
import {
  backupDatabase,
  type Quarantined,
  restoreDatabase,
} from "../store/sqlite/backup.ts";
import { compactDatabase, type CopiedRows } from "../store/sqlite/compact.ts";
import { integrityCheck } from "../store/sqlite/database_file.ts";
import {
  type CheckedHistories,
  historyCheck,
  type HistoryCheckOutcome,
} from "../store/sqlite/history_check.ts";

/** The time between two messages about progress, in milliseconds. */
const PROGRESS_MS = 5_000;

/** The flags that all commands about the data folder have. */
export const DATA_FLAGS = {
  "data-dir": textOption({
    default: "",
    help: "The data folder. Default: DATA_DIR.",
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
  about: "Reads every page of the database, then follows the hashes of every " +
    "task's history and of the audit logs to their ends, compares each task " +
    "with its last record, counts the tasks of each tenant, and verifies " +
    "these ends and counts by the master keys (MASTER_KEYS, " +
    "MASTER_KEYS_FILE). Tells what is wrong, at most 20 faults. It cannot " +
    "see changes by someone who has a master key, who put an older copy of " +
    "the whole database in its place, or who dropped the tables of a later " +
    "version and so had the service make them again from what was left; nor, " +
    "in a task that is there, a last record that was rewritten together with " +
    "the task, which an earlier proof=true shows. The service may run. Exit " +
    "codes: 0 no faults, 1 faults or failure, 2 invalid arguments.",
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
interface DataCommandOptions {
  /** Where the command writes to. */
  readonly io: CommandIo;
  /** The data folder, unless the arguments name another one. */
  readonly dataDir: string;
}

/** Options of commands that take the master keys. */
export interface KeyedCommandOptions extends DataCommandOptions {
  /**
   * Opens the master keys of the service with this data folder; never makes new
   * ones.
   */
  readonly openKeys: (dataFolder: string) => Promise<OpenKeysOutcome>;
}

/** Options of commands that tell how far they are. */
interface LongCommandOptions extends DataCommandOptions {
  /** Times the messages about progress. */
  readonly clock: Pick<Clock, "nowMs">;
}

/** Options of {@linkcode runCheck}. */
interface RunCheckOptions extends KeyedCommandOptions, LongCommandOptions {}

/** Runs `tasks backup`; returns the exit code. */
export async function runBackup(
  args: readonly string[],
  { io, dataDir }: DataCommandOptions,
): Promise<number> {
  const read = readCommand(DATA_FLAGS, { args, io, command: BACKUP });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [to = ""] } = read;
  if (to === "") {
    const problem = 'Cannot back up to "": the file needs a name';
    return wrongArguments(problem, { io, command: BACKUP }).exitCode;
  }
  const dataFolder = values["data-dir"] || dataDir;
  return await attempt(io, async () => {
    await backupDatabase({ dataFolder, to });
    io.out(values.json ? JSON.stringify({ file: to }) : `Wrote "${to}"`);
    return 0;
  });
}

/** Runs `tasks restore`; returns the exit code. */
export async function runRestore(
  args: readonly string[],
  { io, dataDir }: DataCommandOptions,
): Promise<number> {
  const read = readCommand(DATA_FLAGS, { args, io, command: RESTORE });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [from = ""] } = read;
  const dataFolder = values["data-dir"] || dataDir;
  return await attempt(io, async () => {
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
  { io, dataDir, clock, openKeys }: RunCheckOptions,
): Promise<number> {
  const read = readCommand(DATA_FLAGS, { args, io, command: CHECK });
  if (read.kind === "done") return read.exitCode;
  const { values } = read;
  const dataFolder = values["data-dir"] || dataDir;
  return await attempt(io, async () => {
    const opened = await openKeys(dataFolder);
    const keys = opened.kind === "ok" ? opened.masterKeys.proofKeys() : [];
    const keyless = opened.kind === "invalid"
      ? opened.problem
      : "there is no master key";
    let faults: readonly string[] = integrityCheck(dataFolder);
    let notes: readonly string[] = [];
    // With broken pages, checking the histories would tell nothing more.
    if (faults.length === 0) {
      const checked = historyCheck(dataFolder, {
        keys,
        onProgress: values.json ? undefined : progressTeller(
          { io, clock },
          ({ tasks, records }: CheckedHistories) =>
            `Histories checked so far: ${tasks} (${records} records)`,
        ),
      });
      faults = checked.faults;
      notes = notesOf(
        checked,
        opened.kind === "ok" ? undefined : keyless,
      );
    }
    const code = faults.length === 0 ? 0 : 1;
    if (values.json) {
      io.out(JSON.stringify({ faults, notes }));
      return code;
    }
    io.out(code === 0 ? "The database is whole" : faults.join("\n"));
    for (const note of notes) io.out(note);
    return code;
  });
}

/** What the check could not verify, as messages. */
function notesOf(
  { unbound, unchained }: HistoryCheckOutcome,
  keyless: string | undefined,
): readonly string[] {
  return [
    ...unbound === 0 ? [] : [
      `Not bound to their history: ${unbound} tasks, as an earlier version ` +
      "changed them last; what they hold is bound by their next change",
    ],
    ...unchained === 0 ? [] : [
      `Without a hash: ${unchained} entries of the audit log, which an ` +
      "earlier version wrote",
    ],
    ...keyless === undefined ? [] : [
      "Not verified: whether the counts of tasks and the ends of audit logs " +
      `were changed, too (${keyless})`,
    ],
  ];
}

/** Runs `tasks compact`; returns the exit code. */
export async function runCompact(
  args: readonly string[],
  { io, dataDir, clock }: LongCommandOptions,
): Promise<number> {
  const read = readCommand(DATA_FLAGS, { args, io, command: COMPACT });
  if (read.kind === "done") return read.exitCode;
  const { values } = read;
  const dataFolder = values["data-dir"] || dataDir;
  return await attempt(io, async () => {
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

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Makes a listener that tells every few seconds how far the work is. */
function progressTeller<Progress>(
  { io, clock }: Pick<LongCommandOptions, "io" | "clock">,
  messageOf: (progress: Progress) => string,
): (progress: Progress) => void {
  let toldAtMs = clock.nowMs();
  return (progress) => {
    const nowMs = clock.nowMs();
    if (nowMs - toldAtMs < PROGRESS_MS) return;
    toldAtMs = nowMs;
    io.err(messageOf(progress));
  };
}

/**
 * Runs the work of a command. An error is printed and makes the exit code 1.
 */
export async function attempt(
  io: CommandIo,
  work: () => Promise<number>,
): Promise<number> {
  try {
    return await work();
  } catch (error) {
    io.err(describeError(error));
    return 1;
  }
}
