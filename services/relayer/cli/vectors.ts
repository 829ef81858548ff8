/**
 * The command `relayer vectors renew`: makes the outdated vectors and words of
 * the index again, after a change of the embedder or the program. When a
 * relayer runs on the data folder, the command only shows how far that one is.
 *
 * @module
 */

import { readCommand, wrongArguments } from "../../shared/command_line.ts";
import type { Logger } from "../../shared/logger.ts";
import { openDataFolder } from "../../shared/data_folder.ts";
import { switchOption } from "../../shared/options.ts";
import { quote } from "../../shared/quote.ts";
import { FolderTakenError } from "../../shared/sqlite/folder_lock.ts";
import { openData, type RelayerData } from "../open_data.ts";
import { openModels } from "../open_work.ts";
import { EntryRenewal, type RenewalProgress } from "../recall/entry_renewal.ts";
import { readRenewalReport } from "../recall/renewal_report.ts";
import type { RelayerSettings } from "../settings.ts";
import { type DataCommandOptions, untilSignalled } from "./vault.ts";

const FLAGS = {
  json: switchOption({
    help: "Write the outcome as JSON: checked, unchecked, renewed, failed " +
      "and waiting, each a number of memories.",
  }),
} as const;

const COMMAND = {
  usage: "relayer vectors renew",
  about:
    "renew makes vectors again that another embedder has made, and words that " +
    "an earlier program has, with the settings of the relayer. While the relayer " +
    "serves from DATA_DIR it does so by itself, as fast as RENEWALS_PER_SECOND; " +
    "then the command shows how far it is and waits for its end. Without it the " +
    "command does it, as fast as the embedder takes texts. It can be ended at any " +
    "time and goes on when it is run again. Vectors that clients brought stay, and " +
    "memories behind key servers wait until their owners recall. Exits with 0 when " +
    "nothing is left to be made again, 1 when some memories failed or have to wait, " +
    "2 for wrong arguments.",
  positionals: 1,
} as const;

const PROGRESS_EVERY_MS = 500;
/**
 * After so many reads of the report without a change, 10 seconds, the running
 * relayer may have stopped.
 */
const STALLED_LOOKS = 20;

/**
 * Runs the command.
 *
 * @returns 0 when no entry is outdated any longer, 1 when some are, 2 when the
 * arguments are wrong.
 */
export async function runVectors(
  args: readonly string[],
  options: DataCommandOptions,
): Promise<number> {
  const { io, signals } = options;
  const read = readCommand(FLAGS, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const { values: { json: isJson }, positionals: [verb = ""] } = read;
  if (verb !== "renew") {
    return wrongArguments(
      `Cannot run ${quote(verb)}: there is no such command`,
      { io, command: COMMAND },
    ).exitCode;
  }
  return await options.withSettings((settings) =>
    untilSignalled(signals, (signal) => {
      const logger = options.logger(settings);
      return renew(settings, { ...options, logger, isJson, signal });
    })
  );
}

interface RenewOptions extends Omit<DataCommandOptions, "logger"> {
  readonly logger: Logger;
  readonly isJson: boolean;
  readonly signal: AbortSignal;
}

async function renew(
  settings: RelayerSettings,
  options: RenewOptions,
): Promise<number> {
  const { io, isJson, signal } = options;
  await openDataFolder(settings.dataDir, { service: "relayer" });
  let seen: Seen = { kind: "stalled" };
  while (seen.kind === "stalled") {
    const here = await renewHere(settings, options);
    seen = here === undefined
      ? await follow(settings, options)
      : { kind: "ended", progress: here };
  }
  io.progress?.("");
  if (seen.kind === "off") {
    io.err(
      "Cannot renew: the running relayer does not (RENEWALS_PER_SECOND is 0); " +
        "set it, or stop the relayer and run this again",
    );
    return 1;
  }
  const { progress } = seen;
  io.out(isJson ? JSON.stringify(progress) : summaryOf(progress));
  if (signal.aborted) {
    io.err("Ended before all were looked at; run it again for the rest");
  }
  const { unchecked, failed, waiting } = progress;
  return unchecked + failed + waiting === 0 ? 0 : 1;
}

/**
 * Renews the entries in this process; undefined when a running relayer has the
 * data folder.
 */
async function renewHere(
  settings: RelayerSettings,
  { clock, logger, io, signal }: RenewOptions,
): Promise<RenewalProgress | undefined> {
  let data: RelayerData;
  try {
    data = await openData(settings, { clock, logger });
  } catch (error) {
    if (error instanceof FolderTakenError) return undefined;
    throw error;
  }
  const { embedder } = openModels(settings, { clock, tracing: undefined });
  const renewal = new EntryRenewal({
    ...{ ...data, embedder, clock, logger, perSecond: Infinity },
  });
  try {
    return await renewal.run({
      signal,
      everyMs: PROGRESS_EVERY_MS,
      onProgress: (progress) => io.progress?.(summaryOf(progress)),
    });
  } catch (error) {
    if (!signal.aborted) throw error;
    return renewal.progress;
  } finally {
    await data.close();
  }
}

/** What the running relayer's report says. */
type Seen =
  | { readonly kind: "ended"; readonly progress: RenewalProgress }
  /** The running relayer does not renew entries. */
  | { readonly kind: "off" }
  /** The report has not changed for a while: the relayer may have stopped. */
  | { readonly kind: "stalled" };

/** Shows how far the running relayer is, until it has been through all memories. */
async function follow(
  { dataDir }: RelayerSettings,
  { io, clock, signal }: RenewOptions,
): Promise<Seen> {
  let shown = "";
  for (let unchanged = 0; unchanged < STALLED_LOOKS; unchanged++) {
    const progress = await readRenewalReport(dataDir);
    if (progress === "off") return { kind: "off" };
    if (progress !== undefined) {
      if (progress.unchecked === 0 || signal.aborted) {
        return { kind: "ended", progress };
      }
      const summary = summaryOf(progress);
      if (summary !== shown) unchanged = 0;
      shown = summary;
      io.progress?.(summary);
    }
    const over = Promise.withResolvers<void>();
    const timer = clock.setTimer(over.resolve, PROGRESS_EVERY_MS);
    const end = (): void => over.resolve();
    signal.addEventListener("abort", end, { once: true });
    await over.promise;
    signal.removeEventListener("abort", end);
    timer.cancel();
  }
  return { kind: "stalled" };
}

function summaryOf(
  { checked, unchecked, renewed, failed, waiting }: RenewalProgress,
): string {
  const rest = unchecked === 0 ? "" : `, about ${unchecked} to be looked at`;
  const waits = waiting === 0
    ? ""
    : `, ${waiting} waiting for their owner's key, their blob or the embedder`;
  return `${checked} memories looked at: ${renewed} made again, ` +
    `${failed} failed${waits}${rest}`;
}
