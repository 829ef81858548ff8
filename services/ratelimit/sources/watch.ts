/**
 * Notices that files or directories change, also where links are swapped and
 * directories are removed and made again.
 *
 * It looks at intervals. The runtime's own watcher opens every path that it
 * reports: a named pipe among them stops it for good, and with it, at the next
 * watch that is opened or closed, the whole program. Looking opens nothing but
 * the directories.
 *
 * @module
 */

import { describeError } from "../../shared/settled.ts";
import { join } from "node:path";
import { type Clock, steadyClock, type Timer } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";

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
  /** Gets log lines about errors of `onChange`. */
  readonly logger: Logger;
  /**
   * Milliseconds between two looks. A directory of thousands of entries is
   * looked at less often: looking takes a twentieth of the time at most.
   *
   * @default {1000}
   */
  readonly pollMs?: number;
  /**
   * Milliseconds after which `onChange` is called although nothing seems to
   * have changed: the times of files don't show every change.
   *
   * @default {30000}
   */
  readonly maxQuietMs?: number;
}

/** Looking may take at most one part in so many of the time. */
const LOOK_SHARE = 20;

/**
 * Most entries of a directory that are looked at; changes of further ones are
 * found after `maxQuietMs`.
 */
const MAX_ENTRIES = 20_000;

/** Watches paths from its start to its stop. */
export class PathWatcher {
  readonly #options: PathWatcherOptions;
  readonly #clock: Clock;
  #state: "idle" | "started" | "stopped" = "idle";
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #seen = "";
  #toldMs = 0;

  /** Makes a watcher that is idle until `start()`. */
  constructor(options: PathWatcherOptions) {
    this.#options = options;
    this.#clock = steadyClock(options.clock);
  }

  /**
   * Begins to watch. A change after this has resolved is noticed; the caller
   * itself reads what is there before. A second start does nothing.
   */
  async start(): Promise<void> {
    if (this.#state !== "idle") return;
    this.#state = "started";
    this.#toldMs = this.#clock.nowMs();
    const look = this.#look();
    this.#running = look.then(() => {});
    const { seen, nextMs } = await look;
    this.#seen = seen;
    this.#lookIn(nextMs);
  }

  /**
   * Ends the watch and waits for a running `onChange`, so `onChange` must not
   * await it. It does no harm to stop twice, or before the start.
   */
  async stop(): Promise<void> {
    this.#state = "stopped";
    this.#timer?.cancel();
    await this.#running;
  }

  #lookIn(delayMs: number): void {
    if (this.#state !== "started") return;
    this.#timer = this.#clock.setTimer(() => {
      this.#running = this.#turn();
    }, delayMs);
  }

  async #turn(): Promise<void> {
    const { logger, onChange, maxQuietMs = 30_000 } = this.#options;
    const { seen, nextMs } = await this.#look();
    if (this.#state !== "started") return;
    const nowMs = this.#clock.nowMs();
    if (seen !== this.#seen || nowMs - this.#toldMs >= maxQuietMs) {
      this.#seen = seen;
      this.#toldMs = nowMs;
      try {
        await onChange();
      } catch (error) {
        logger.error("Cannot take up a change of files", {
          error: describeError(error),
        });
      }
    }
    this.#lookIn(nextMs);
  }

  /** Looks at all paths; never rejects. */
  async #look(): Promise<{ readonly seen: string; readonly nextMs: number }> {
    const { paths, pollMs = 1_000 } = this.#options;
    const startedMs = this.#clock.nowMs();
    const states: string[] = [];
    for (const path of paths()) states.push(`${path} ${await stateOf(path)}`);
    const tookMs = this.#clock.nowMs() - startedMs;
    return {
      seen: states.join("\n"),
      nextMs: Math.max(pollMs, LOOK_SHARE * tookMs),
    };
  }
}

/**
 * Returns a text that differs when a path leads elsewhere, or when the file
 * there or an entry of the directory there was changed.
 */
async function stateOf(path: string): Promise<string> {
  try {
    const itself = await Deno.lstat(path);
    if (!itself.isSymlink && !itself.isDirectory) return infoState(itself);
    const target = await Deno.stat(path);
    const entries = target.isDirectory ? await entriesOf(path) : [];
    return [infoState(itself), infoState(target), ...entries].join("/");
  } catch (error) {
    return stateOfFault(error);
  }
}

async function entriesOf(directory: string): Promise<readonly string[]> {
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
    return infoState(await Deno.stat(join(directory, name)));
  } catch (error) {
    return stateOfFault(error);
  }
}

function infoState(info: Deno.FileInfo): string {
  const { dev, ino, mode, size, mtime, ctime, birthtime } = info;
  // Inode numbers are reused at once; the time of birth tells files apart.
  const times = [mtime, ctime, birthtime].map((time) => time?.getTime());
  return [dev, ino, mode, size, ...times].join(" ");
}

function stateOfFault(error: unknown): string {
  return error instanceof Error ? error.name : String(error);
}
