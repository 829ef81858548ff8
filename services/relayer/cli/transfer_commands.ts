/**
 * The commands `relayer export` and `relayer import`, which write all that a
 * relayer keeps to a file and read it from there, whichever engine has it.
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
import { createLogger, type Logger } from "../../shared/logger.ts";
import { switchOption, textOption } from "../../shared/options.ts";
import { quote } from "../../shared/quote.ts";
import type { SettingsOutcome } from "../../shared/settings.ts";
import { fileSource } from "../../shared/transfer/line_file.ts";
import {
  writeAll,
  type WriteBytes,
  writeNewFile,
} from "../../shared/transfer/output_file.ts";
import type { RelayerSettings, relayerSettings } from "../settings.ts";
import {
  exportData,
  type MovedCounts,
  type MoveProgress,
} from "../transfer/export_data.ts";
import { importData } from "../transfer/import_data.ts";
import { LEDGER_ENTRIES } from "../transfer/moved_tables.ts";
import { readMasterKeys, withMovedData } from "../transfer/open_moved.ts";

/** Stands for standard output or standard input. */
const STDIO = "-";

const DATA_FLAGS = {
  "data-dir": textOption({
    default: "",
    help: "A data folder, with STORE=sqlite. Default: the data that STORE, " +
      "DATA_DIR, DATABASE_URL and BLOBS name.",
  }),
  json: switchOption({ help: "Write one JSON object." }),
} as const;

const EXPORT: CommandShape = {
  usage: "relayer export FILE|-",
  about: "Writes all memories, jobs, keys and blobs to a new file of JSON " +
    'lines, or to standard output with "-", from where STORE and BLOBS say. ' +
    "No relayer may run on them. Only you may read the file. Texts stay " +
    "sealed in it, and keys wrapped; the master key is not in it. Accounts of " +
    "the embedded ledger are in it, those of LEDGER_RPC_URL are not. Exit " +
    "codes: 0 success, 1 failure, 2 invalid arguments.",
  positionals: 1,
};

const IMPORT_FLAGS = {
  ...DATA_FLAGS,
  replace: switchOption({
    help: "Remove all memories, jobs, keys and accounts of the store first. " +
      "Blobs stay, and so do accounts if the file has none.",
  }),
} as const;

const IMPORT: CommandShape = {
  usage: "relayer import FILE|-",
  about: "Reads a file that relayer export wrote, or standard input with " +
    '"-", into the empty store that STORE and BLOBS name. MASTER_KEYS, or ' +
    "master.key in the data folder, has to open its keys. No relayer may run " +
    "on the store. Compares the store with the file afterwards; no relayer " +
    "starts on it until they are equal. Run an interrupted import again. Exit " +
    "codes: 0 success, 1 differences or failure, 2 invalid arguments.",
  positionals: 1,
};

/** Options of the commands. */
export interface TransferOptions {
  /** Where the command writes to. */
  readonly io: CommandIo;
  /** The settings of the relayer. */
  readonly settings: SettingsOutcome<typeof relayerSettings>;
  /** The clock of the machine. */
  readonly clock: Clock;
}

/** Runs `relayer export`; returns the exit code. */
export async function runExport(
  args: readonly string[],
  options: TransferOptions,
): Promise<number> {
  const { io, clock } = options;
  const read = readCommand(DATA_FLAGS, { args, io, command: EXPORT });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [to = ""] } = read;
  if (to === "") {
    const problem = 'Cannot export to "": the file needs a name';
    return wrongArguments(problem, { io, command: EXPORT }).exitCode;
  }
  return await attempt(io, async () => {
    const settings = dataSettings(options, values["data-dir"]);
    const tools = commandTools(options, settings);
    const onProgress = progressTeller({ io, clock }, tellProgress);
    const { counts, sha256, damagedBlobs } = await withMovedData(
      settings,
      { ...tools, mayCreate: false },
      (data) => {
        const fill = (write: WriteBytes) =>
          exportData(data, { write, nowMs: clock.nowMs(), onProgress });
        return to === STDIO
          ? fill((bytes) => writeAll(Deno.stdout, bytes))
          : writeNewFile(to, fill);
      },
    );
    // Standard output has the lines themselves.
    const out = to === STDIO ? io.err : io.out;
    out(
      values.json
        ? JSON.stringify({ file: to, counts, sha256, damagedBlobs })
        : `Wrote ${quote(to)}: ${tellCounts(counts)}`,
    );
    if (damagedBlobs.length > 0) {
      io.err(
        `Left out ${damagedBlobs.length} blobs that were changed and cannot ` +
          `be opened: ${damagedBlobs.slice(0, 20).join(", ")}`,
      );
    }
    return 0;
  });
}

/** Runs `relayer import`; returns the exit code. */
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
    const settings = dataSettings(options, values["data-dir"]);
    const tools = commandTools(options, settings);
    const masters = await readMasterKeys(settings, tools.logger);
    const source = path === STDIO
      ? { name: path, chunks: Deno.stdin.readable }
      : fileSource(path);
    const { counts, differences } = await withMovedData(
      settings,
      { ...tools, mayCreate: true },
      (data) =>
        importData(data, {
          ...{ source, masters, replaces: values.replace },
          onProgress: progressTeller({ io, clock }, tellProgress),
        }),
    );
    if (values.json) {
      io.out(JSON.stringify({ file: path, counts, differences }));
    } else if (differences.length === 0) {
      io.out(
        `Imported ${quote(path)}: ${tellCounts(counts)}; the store has the ` +
          "same",
      );
    }
    if (differences.length === 0) return 0;
    io.err(
      `The store differs from ${quote(path)}; import it again with ` +
        `--replace:\n${differences.join("\n")}`,
    );
    return 1;
  });
}

function dataSettings(
  { settings }: TransferOptions,
  dataDir: string,
): RelayerSettings {
  if (settings.kind === "invalid") {
    throw new Error(settings.problems.join("\n"));
  }
  return dataDir === "" ? settings.values : { ...settings.values, dataDir };
}

function commandTools(
  { io, clock }: Pick<TransferOptions, "io" | "clock">,
  { logFormat }: Pick<RelayerSettings, "logFormat">,
): { readonly clock: Clock; readonly logger: Logger } {
  const logger = createLogger({
    format: logFormat,
    level: "warning",
    clock,
    write: io.err,
  });
  return { clock, logger };
}

function tellProgress({ step, table, done, of }: MoveProgress): string {
  const verb = { exporting: "exported", importing: "imported" };
  const past = step === "comparing" ? "compared" : verb[step];
  return `Rows of ${table} ${past} so far: ${done}` +
    (of === undefined ? "" : ` of ${of}`);
}

function tellCounts(counts: MovedCounts): string {
  const { memories = 0, jobs = 0, data_keys: keys = 0, blobs = 0 } = counts;
  const entries = counts[LEDGER_ENTRIES.name];
  return `${memories} memories, ${jobs} jobs, ${keys} keys, ${blobs} blobs` +
    (entries === undefined ? "" : `, ${entries} entries of the ledger`);
}
