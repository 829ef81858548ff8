/**
 * The file of plans and prices: read at the start, and again when it changes.
 *
 * @module
 */

import { isUtf8 } from "node:buffer";
import type { Clock } from "../shared/clock.ts";
import type { Logger } from "../shared/logger.ts";
import { Periodic } from "../shared/periodic.ts";
import { quote } from "../shared/quote.ts";
import { describeError } from "../shared/settled.ts";
import type { Part } from "../shared/stopper.ts";
import type { ChangeReports } from "../shared/watch/change_reports.ts";
import {
  readBounded,
  readSettled,
  whyUnread,
} from "../shared/watch/file_reads.ts";
import { PathWatcher } from "../shared/watch/path_watcher.ts";
import { PlanBook } from "./engine/plan_book.ts";
import type { PlansOutcome } from "./routes/service/plans_file.ts";

/** What a {@linkcode PlansFile} is made of. */
interface PlansFileOptions {
  /** Where the file is. */
  readonly path: string;
  /** What was read at the start. */
  readonly read: PlansRead;
  /** Reports changes of the file. */
  readonly reports: ChangeReports;
  /** Gives the time. */
  readonly clock: Clock;
  /** Gets a line for each change, and for a file that can't be used. */
  readonly logger: Logger;
}

/** Plans that were read from a file. */
export interface PlansRead {
  /** The plans. */
  readonly plans: PlanBook;
  /** What they were read from. */
  readonly source: PlansText;
}

/** The plans of the file, or everything that is wrong with it. */
type PlansReadOutcome =
  | { readonly kind: "ok"; readonly read: PlansRead }
  | { readonly kind: "invalid"; readonly problems: readonly string[] };

/** The largest file that is read: 100 plans and 1,000 prices have 500 KB. */
const MAX_FILE_BYTES = 4_194_304;
/** Milliseconds that the file must stay unchanged to count as written. */
const SETTLE_MS = 100;
/** Most reads of a file that keeps changing; then the last one counts. */
const MAX_READS = 10;
/** Milliseconds after the start until the file is read once more. */
const REREAD_MS = 1_000;
/** Most faults of the file that one line of the log names. */
const MAX_FAULTS_TOLD = 5;

/**
 * Reads the plans of a file; without a file the unlimited plan is the only one.
 *
 * @param defaultPlanId The plan of new tenants; the first one when undefined.
 */
export async function readPlans(
  path: string | undefined,
  defaultPlanId: string | undefined,
): Promise<PlansReadOutcome> {
  const source: PlansText = path === undefined
    ? { kind: "none", problem: "there is no file" }
    : await readText(path);
  const parsed: PlansOutcome = path === undefined
    ? { kind: "ok", plans: [], prices: [] }
    : await parse(source, path);
  if (parsed.kind === "invalid") return parsed;
  const { prices } = parsed;
  try {
    const plans = new PlanBook(parsed.plans, { defaultPlanId, prices });
    return { kind: "ok", read: { plans, source } };
  } catch (error) {
    return { kind: "invalid", problems: [faultOfDefault(error)] };
  }
}

/**
 * Plans that follow their file. A file that can't be used changes nothing and
 * is logged once.
 */
export class PlansFile implements Part {
  /** Name in logs. */
  readonly name = "plans file";
  readonly #options: PlansFileOptions;
  readonly #watcher: PathWatcher;
  readonly #reads: Periodic;
  /** What was read last, whether it could be used or not. */
  #seen: PlansText;
  #onReplaced = (): void => {};

  /** Makes plans that follow their file from the start on. */
  constructor(options: PlansFileOptions) {
    const { path, reports, clock, logger } = options;
    this.#options = options;
    this.#seen = options.read.source;
    this.#reads = new Periodic({
      clock,
      run: (signal) => this.#look(signal),
      onError: (error) => this.#refuse([describeError(error)]),
    });
    this.#watcher = new PathWatcher({
      paths: () => [path],
      onChange: () => this.#reads.runOnce(),
      reports,
      clock,
      logger,
    });
  }

  /** Has `callback` called each time that other plans came into force. */
  onReplaced(callback: () => void): void {
    this.#onReplaced = callback;
  }

  /** Watches the file from now on. */
  async start(): Promise<void> {
    this.#reads.start();
    await this.#watcher.start();
    // It may have changed since it was opened.
    this.#reads.wakeIn(REREAD_MS);
  }

  /** Watches no longer. */
  async stop(): Promise<void> {
    await this.#reads.stop();
    await this.#watcher.stop();
  }

  /** Reads the file at once, as SIGHUP asks for. */
  async reload(): Promise<void> {
    await this.#take(await readText(this.#options.path));
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { value } = await readSettled({
      read: () => readText(this.#options.path),
      toKey,
      knownKey: toKey(this.#seen),
      settleMs: SETTLE_MS,
      maxReads: MAX_READS,
      clock: this.#options.clock,
      signal,
    });
    if (signal.aborted || toKey(value) === toKey(this.#seen)) return;
    await this.#take(value);
  }

  async #take(source: PlansText): Promise<void> {
    const { path, read, logger } = this.#options;
    this.#seen = source;
    const parsed = await parse(source, path);
    if (parsed.kind === "invalid") return this.#refuse(parsed.problems);
    const { plans, prices } = parsed;
    try {
      read.plans.replace(plans, prices);
    } catch (error) {
      return this.#refuse([faultOfDefault(error)]);
    }
    logger.info("Reloaded plans", {
      plans: plans.length,
      prices: prices.length,
    });
    this.#onReplaced();
  }

  #refuse(problems: readonly string[]): void {
    const told = problems.slice(0, MAX_FAULTS_TOLD);
    const more = problems.length - told.length;
    this.#options.logger.error(
      "Cannot use the new plans; the plans before them stay",
      { error: [...told, ...more > 0 ? [`${more} more`] : []].join("; ") },
    );
  }
}

/** The text of the file, or why there is none. */
type PlansText =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "none"; readonly problem: string };

async function readText(path: string): Promise<PlansText> {
  const read = await readBounded(path, MAX_FILE_BYTES);
  if (read.kind === "read") {
    return isUtf8(read.bytes)
      ? { kind: "text", text: new TextDecoder().decode(read.bytes) }
      : unreadable(path, "it is not valid UTF-8");
  }
  if (read.kind !== "missing") {
    return unreadable(path, whyUnread(read, MAX_FILE_BYTES));
  }
  const problem = `Cannot read plans: there is no file ${quote(path)}; ` +
    "PLANS_FILE names it";
  return { kind: "none", problem };
}

function unreadable(path: string, why: string): PlansText {
  const problem = `Cannot read plans: ${quote(path)} (PLANS_FILE): ${why}`;
  return { kind: "none", problem };
}

/** Tells what was read from what was read before. */
function toKey(read: PlansText): string {
  return read.kind === "text" ? `text ${read.text}` : read.problem;
}

async function parse(
  source: PlansText,
  path: string,
): Promise<PlansOutcome> {
  if (source.kind === "none") {
    return { kind: "invalid", problems: [source.problem] };
  }
  // Loaded here, as most services have no such file.
  const { parsePlansFile } = await import("./routes/service/plans_file.ts");
  const outcome = parsePlansFile(source.text);
  if (outcome.kind === "ok") return outcome;
  const problems = outcome.problems.map((problem) => `${problem} (${path})`);
  return { kind: "invalid", problems };
}

function faultOfDefault(error: unknown): string {
  if (!(error instanceof RangeError)) throw error;
  return `${error.message} (DEFAULT_PLAN)`;
}
