/**
 * Notices that files or directories change, also where links are swapped and
 * directories are removed and made again.
 *
 * It looks when a change is reported, and at intervals besides, as no system
 * reports every change. Looking opens nothing but the directories: to open a
 * named pipe would wait for ever.
 *
 * @module
 */

import { join } from "node:path";
import { type Clock, steadyClock, type Timer } from "../clock.ts";
import type { Logger } from "../logger.ts";
import { Periodic } from "../periodic.ts";
import { describeError } from "../settled.ts";
import type { ChangeReports, ReportSubscription } from "./change_reports.ts";
import { formatIdentity, watchedDirectories } from "./watched_directories.ts";

/** What is watched, and who is notified. */
interface PathWatcherOptions {
  /**
   * Returns the files and directories to watch; of a directory its own entries,
   * not what is below them. Called at each look. None of them need exist.
   */
  readonly paths: () => readonly string[];
  /**
   * Called after a change, and now and then without one, never twice at once.
   * It means "look closer": the listener reads and compares.
   */
  readonly onChange: () => void | Promise<void>;
  /** Gives the time. */
  readonly clock: Clock;
  /** Gets log lines about errors of `onChange`, and looks that hang. */
  readonly logger: Logger;
  /**
   * Reports changes, so that they are found at once.
   *
   * @default none: they are found by looking alone
   */
  readonly reports?: ChangeReports | undefined;
  /**
   * Milliseconds between two looks while changes are not reported. A directory
   * of thousands of entries is looked at less often: looking takes a twentieth
   * of the time at most, and a quarter while changes are reported one after the
   * other.
   *
   * @default {1000}
   */
  readonly pollMs?: number;
  /**
   * Milliseconds between two looks while changes are reported.
   *
   * @default {2000}
   */
  readonly reportedPollMs?: number;
  /**
   * Milliseconds after which `onChange` is called although nothing seems to
   * have changed: the times of files don't show every change.
   *
   * @default {30000}
   */
  readonly maxQuietMs?: number;
  /**
   * Returns a text that differs when what a path leads to was changed.
   *
   * @default identity, size and times of the file, or of a directory's entries
   */
  readonly readState?: (path: string) => Promise<string>;
}

/** Looking may take at most one part in so many of the time. */
const LOOK_SHARE = 20;
/** The same for looks that reports ask for. */
const REPORTED_LOOK_SHARE = 4;

/**
 * Most entries of a directory that are looked at; changes of further ones are
 * found after `maxQuietMs`.
 */
const MAX_ENTRIES = 20_000;

/** Milliseconds after which a look that has not ended is logged. */
const HANG_MS = 10_000;
/** Milliseconds that a stop waits for a look. */
const STOP_MS = 500;

/** Watches paths from its start to its stop. */
export class PathWatcher {
  readonly #options: PathWatcherOptions;
  readonly #clock: Clock;
  readonly #looks: Periodic;
  #state: "idle" | "started" | "stopped" = "idle";
  /** What the last look saw; undefined before the first. */
  #seen: string | undefined;
  #toldMs = 0;
  #lookMs = 0;
  #subscription: ReportSubscription | undefined;
  /** Reports so far, and those before the last look. */
  #reports = 0;
  #reportsBefore = 0;
  /** The reports so far when a look found a change that none announced. */
  #unreportedAt: number | undefined;
  #isHangTold = false;

  /** Makes a watcher that is idle until `start()`. */
  constructor(options: PathWatcherOptions) {
    this.#options = options;
    this.#clock = steadyClock(options.clock);
    this.#looks = new Periodic({
      clock: options.clock,
      run: (signal) => this.#turn(signal),
      onError: (error) =>
        options.logger.error("Cannot check for changes of files", {
          error: describeError(error),
        }),
    });
  }

  /**
   * Begins to watch. A change after this has resolved is noticed; the caller
   * itself reads what is there before. A second start does nothing.
   */
  async start(): Promise<void> {
    if (this.#state !== "idle") return;
    this.#state = "started";
    this.#looks.start();
    await this.runOnce();
    if (this.#isStopped()) return;
    this.#subscription = this.#options.reports?.subscribe({
      directories: () => watchedDirectories(this.#options.paths()),
      onReport: () => this.#onReport(),
    });
  }

  /** Looks now, and waits for what follows from it. */
  async runOnce(): Promise<void> {
    await this.#looks.runOnce();
  }

  /**
   * Ends the watch and waits for a running `onChange`, so `onChange` must not
   * await it. It does no harm to stop twice, or before the start.
   */
  async stop(): Promise<void> {
    this.#state = "stopped";
    this.#subscription?.end();
    await this.#looks.stop();
  }

  /** A method, because the type checker would narrow the state too far. */
  #isStopped(): boolean {
    return this.#state === "stopped";
  }

  #onReport(): void {
    this.#reports++;
    // A look at thousands of entries is not repeated at every report.
    this.#looks.wakeIn((REPORTED_LOOK_SHARE - 1) * this.#lookMs);
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { maxQuietMs = 30_000 } = this.#options;
    const reports = this.#reports;
    const startedMs = this.#clock.nowMs();
    const seen = await this.#look(signal);
    if (seen === undefined || signal.aborted) return;
    const nowMs = this.#clock.nowMs();
    this.#lookMs = nowMs - startedMs;
    const isFirst = this.#seen === undefined;
    const isOther = !isFirst && seen !== this.#seen;
    this.#seen = seen;
    this.#judgeReports(reports, isOther);
    if (isFirst || isOther || nowMs - this.#toldMs >= maxQuietMs) {
      this.#toldMs = nowMs;
      if (!isFirst) await this.#tell();
      this.#subscription?.refresh();
    }
    this.#looks.wakeIn(Math.max(this.#pollMs(), LOOK_SHARE * this.#lookMs));
  }

  #pollMs(): number {
    const { reports, pollMs = 1_000, reportedPollMs = 2_000 } = this.#options;
    return reports?.isReporting === true ? reportedPollMs : pollMs;
  }

  /**
   * Finds out whether reports come. One may still be on its way when its change
   * is found, so the look after that decides.
   */
  #judgeReports(reports: number, isOther: boolean): void {
    if (this.#unreportedAt === reports) this.#subscription?.missed();
    const isMissing = isOther && reports === this.#reportsBefore &&
      this.#options.reports?.isReporting === true;
    this.#unreportedAt = isMissing ? reports : undefined;
    this.#reportsBefore = reports;
  }

  async #tell(): Promise<void> {
    const { logger, onChange } = this.#options;
    try {
      await onChange();
    } catch (error) {
      logger.error("Cannot apply a change of files", {
        error: describeError(error),
      });
    }
  }

  /** Looks at all paths; undefined when a stop came and it does not end. */
  async #look(signal: AbortSignal): Promise<string | undefined> {
    const { clock } = this.#options;
    const left = Promise.withResolvers<undefined>();
    let leaving: Timer | undefined;
    const onAbort = (): void => {
      leaving = clock.setTimer(() => left.resolve(undefined), STOP_MS);
    };
    const hanging = clock.setTimer(() => this.#tellOfHang(), HANG_MS);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await Promise.race([this.#stateOfAll(), left.promise]);
    } finally {
      signal.removeEventListener("abort", onAbort);
      hanging.cancel();
      leaving?.cancel();
    }
  }

  async #stateOfAll(): Promise<string> {
    const { paths, readState = stateOfPath } = this.#options;
    const states: string[] = [];
    for (const path of paths()) states.push(`${path} ${await readState(path)}`);
    return states.join("\n");
  }

  #tellOfHang(): void {
    if (this.#isHangTold) return;
    this.#isHangTold = true;
    this.#options.logger.error(
      "Cannot check for changes of files: a check does not end; does a file " +
        "system hang?",
      { paths: this.#options.paths().join(" "), afterMs: HANG_MS },
    );
  }
}

/**
 * Returns a text that differs when a path leads elsewhere, or when the file
 * there or an entry of the directory there was changed.
 */
async function stateOfPath(path: string): Promise<string> {
  try {
    const itself = await Deno.lstat(path);
    if (!itself.isSymlink && !itself.isDirectory) return infoState(itself);
    const target = await Deno.stat(path);
    const entries = target.isDirectory ? await listEntries(path) : [];
    return [infoState(itself), infoState(target), ...entries].join("/");
  } catch (error) {
    return stateOfFault(error);
  }
}

async function listEntries(directory: string): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const entry of Deno.readDir(directory)) {
    // A subdirectory counts by its existence, not by what is below it.
    names.push(entry.isDirectory ? `${entry.name}/` : entry.name);
    if (names.length === MAX_ENTRIES) break;
  }
  const states: string[] = [];
  for (const name of names.sort()) {
    const state = name.endsWith("/") ? "" : await entryState(directory, name);
    states.push(`${name} ${state}`);
  }
  return states;
}

async function entryState(directory: string, name: string): Promise<string> {
  try {
    const info = await Deno.stat(join(directory, name));
    // Files below a directory do not matter behind a link either.
    return info.isDirectory ? formatIdentity(info) : infoState(info);
  } catch (error) {
    return stateOfFault(error);
  }
}

function infoState(info: Deno.FileInfo): string {
  const { mode, size, mtime, ctime } = info;
  const times = [mtime, ctime].map((time) => time?.getTime());
  return [formatIdentity(info), mode, size, ...times].join(" ");
}

function stateOfFault(error: unknown): string {
  return error instanceof Error ? error.name : String(error);
}
