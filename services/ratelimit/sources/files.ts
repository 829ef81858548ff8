/**
 * Configuration from the files of one directory. A file that is a link to
 * somewhere outside is read like any other.
 *
 * @module
 */

import { join, resolve } from "node:path";
import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { quote } from "../../shared/quote.ts";
import { waitAtMost } from "../../shared/settled.ts";
import { NEVER_PAUSING, type Pausing } from "../../shared/slices.ts";
import type { ChangeReports } from "../../shared/watch/change_reports.ts";
import {
  readSettled,
  type SettledRead,
} from "../../shared/watch/file_reads.ts";
import { PathWatcher } from "../../shared/watch/path_watcher.ts";
import {
  CONFIG_BOUNDS,
  type DirectoryRead,
  type IgnoredFile,
  readConfigDirectory,
} from "./config_directory.ts";
import { type ConfigFilesOutcome, decodeFiles } from "./config_loader.ts";

/** The files to deliver, and when they are read again. */
interface FileSourceOptions {
  /**
   * The root directory, usually a link that is swapped to publish a new
   * version.
   */
  readonly root: string;
  /** A path below the root; may be empty. */
  readonly subdirectory: string;
  /** A path below that, which holds the files; may be empty. */
  readonly appDirectory: string;
  /** True to skip files whose name begins with a dot. */
  readonly ignoreDotFiles: boolean;
  /**
   * True when only a swap of the root leads to a reload; false when every
   * change in the directory does so, too. While the last delivery is not in
   * force, every change counts, so that it can be corrected.
   */
  readonly watchRoot: boolean;
  /** Gives the time. */
  readonly clock: Clock;
  /** Gets warnings about the files; deliveries are not logged. */
  readonly logger: Logger;
  /**
   * Takes what was found: at the start, when it differs, and on a reload; the
   * next look waits for it. Returns whether it has come into force.
   */
  readonly onFiles: (
    outcome: ConfigFilesOutcome,
  ) => boolean | Promise<boolean>;
  /**
   * Lets other work run while files are decoded.
   * @default NEVER_PAUSING
   */
  readonly pausing?: Pausing;
  /**
   * Reports changes, so that they are found at once.
   * @default none
   */
  readonly reports?: ChangeReports | undefined;
  /**
   * Milliseconds that files must stay unchanged to count as written.
   * @default 100
   */
  readonly settleMs?: number;
  /**
   * Milliseconds between two looks for changes that are not reported.
   * @default 1000
   */
  readonly pollMs?: number;
  /**
   * Milliseconds after which the files are read although nothing seems to have
   * changed.
   * @default 30000
   */
  readonly maxQuietMs?: number;
  /**
   * Most milliseconds that one read of the directory may take.
   * @default 10000
   */
  readonly maxReadMs?: number;
  /**
   * Reads the directory once.
   * @default readConfigDirectory
   */
  readonly readDirectory?: typeof readConfigDirectory;
  /** What an operator can do when the directory does not exist. */
  readonly whenMissing?: string;
}

/** Most reads of a directory that keeps changing; then the last read counts. */
const MAX_READS = 10;

/** Most ignored files that are remembered, so that each is warned of once. */
const MAX_WARNED = 1000;

/** Milliseconds that a stop waits for a delivery under way. */
const STOP_MS = 2_000;

type Occasion = "start" | "change" | "reload";

/**
 * Delivers `root/subdirectory/appDirectory/*.yaml`, at its start and at each
 * change.
 */
export class FileSource {
  readonly #options: FileSourceOptions;
  readonly #root: string;
  readonly #directory: string;
  readonly #watcher: PathWatcher;
  readonly #stop = new AbortController();
  readonly #stopped = Promise.withResolvers<DirectoryRead>();
  readonly #warned = new Set<string>();
  /** The last look for changes; looks run one after the other. */
  #looking: Promise<void> = Promise.resolve();
  #waitingReload: Promise<void> | undefined;
  /** A read of the directory that has not ended. */
  #reading: Promise<DirectoryRead> | undefined;
  #started = false;
  /** State of the root at the last look whose reads settled. */
  #rootSeen: string | undefined;
  #deliveredKey: string | undefined;
  /** True when the receiver put the last delivery into force. */
  #taken = false;
  /** True when edits since the last delivery were warned of. */
  #editsTold = false;

  /** Makes a source that is idle until `start()`. */
  constructor(options: FileSourceOptions) {
    this.#options = options;
    this.#root = resolve(options.root);
    this.#directory = join(
      this.#root,
      options.subdirectory,
      options.appDirectory,
    );
    this.#watcher = new PathWatcher({
      paths: () =>
        this.#onlyRootCounts() ? [this.#root] : [this.#root, this.#directory],
      onChange: () => this.#enqueue("change"),
      reports: options.reports,
      clock: options.clock,
      logger: options.logger,
      pollMs: options.pollMs ?? 1_000,
      maxQuietMs: options.maxQuietMs ?? 30_000,
    });
  }

  /**
   * Delivers the current configuration, then each change; a second start does
   * nothing.
   */
  async start(): Promise<void> {
    if (this.#started) return;
    this.#started = true;
    await this.#watcher.start();
    await this.#enqueue("start");
  }

  /** Looks now, and delivers the files even when they have not changed. */
  reload(): Promise<void> {
    // A reload that waits to begin will see what the second one is about.
    this.#waitingReload ??= this.#enqueue("reload");
    return this.#waitingReload;
  }

  /**
   * Ends all deliveries. It does no harm to stop twice, or before the start.
   */
  async stop(): Promise<void> {
    this.#started = true;
    this.#stop.abort();
    this.#stopped.resolve({ kind: "changing", reason: "the source stops" });
    // The look does not wait for its read any longer, so the stop does. A file
    // system that does not answer holds neither of them up for longer.
    // A read's own error concerns the look that asked for it.
    const readEnd = this.#reading?.then(() => {}, () => {});
    await waitAtMost(
      Promise.all([this.#watcher.stop(), this.#looking, readEnd]),
      { clock: this.#options.clock, timeoutMs: STOP_MS },
    );
  }

  #onlyRootCounts(): boolean {
    return this.#options.watchRoot && this.#taken;
  }

  #enqueue(occasion: Occasion): Promise<void> {
    const look = this.#looking.then(() => {
      if (occasion === "reload") this.#waitingReload = undefined;
      return this.#look(occasion);
    });
    // An error belongs to the caller who asked for this look, not to the next
    // look.
    this.#looking = look.catch(() => {});
    return look;
  }

  async #look(occasion: Occasion): Promise<void> {
    if (this.#stop.signal.aborted) return;
    const root = await describeRoot(this.#root);
    const swapped = root !== this.#rootSeen;
    if (occasion === "change" && this.#onlyRootCounts() && !swapped) {
      return await this.#warnOfEdits(root);
    }

    const { value: read, settled } = await this.#read(occasion);
    if (this.#stop.signal.aborted) return;
    if (settled) this.#rootSeen = root;
    if (read.kind === "read") this.#warnAbout(read.ignored);
    const key = toDeliveryKey(read);
    if (occasion === "change" && key === this.#deliveredKey) return;

    const outcome: ConfigFilesOutcome = read.kind === "read"
      ? await decodeFiles(read.files, {
        fingerprint: read.fingerprint,
        pausing: this.#options.pausing ?? NEVER_PAUSING,
      })
      : { kind: "unreadable", reason: read.reason };
    this.#deliveredKey = key;
    this.#editsTold = false;
    this.#taken = await this.#options.onFiles(outcome);
  }

  async #read(occasion: Occasion): Promise<SettledRead<DirectoryRead>> {
    const { clock, settleMs = 100 } = this.#options;
    const read = () => this.#readOnce();
    const first = occasion === "start" ? await read() : undefined;
    if (first !== undefined && isOld(first, clock.nowMs() - settleMs)) {
      return { value: first, settled: true };
    }
    return await readSettled({
      read,
      toKey,
      knownKey: occasion === "change" ? this.#deliveredKey : undefined,
      settleMs,
      maxReads: MAX_READS,
      clock,
      signal: this.#stop.signal,
    });
  }

  /**
   * Reads the directory once, for a bounded time. A read that hangs (a pipe
   * took a file's place, a file system does not answer) keeps a thread of the
   * runtime, so no other read is begun beside it.
   */
  async #readOnce(): Promise<DirectoryRead> {
    const {
      clock,
      ignoreDotFiles,
      maxReadMs = 10_000,
      readDirectory = readConfigDirectory,
      whenMissing,
    } = this.#options;
    // A read that began now would outlast the stop.
    if (this.#stop.signal.aborted) return await this.#stopped.promise;
    this.#reading ??= readDirectory(this.#directory, {
      ...CONFIG_BOUNDS,
      ignoreDotFiles,
      whenMissing,
    }).finally(() => {
      this.#reading = undefined;
    });
    const read = await waitAtMost(
      Promise.race([this.#reading, this.#stopped.promise]),
      { clock, timeoutMs: maxReadMs },
    );
    if (read !== "late") return read;
    const reason =
      `Cannot read configuration directory ${
        quote(this.#directory)
      }: a read has not ended within ${maxReadMs} ms; is one of its files a ` +
      "pipe or on a file system that hangs?";
    return { kind: "unreadable", reason };
  }

  /** Warns once of files that differ from what was delivered. */
  async #warnOfEdits(root: string): Promise<void> {
    if (this.#editsTold) return;
    const read = await this.#readOnce();
    if (read.kind === "changing" || this.#stop.signal.aborted) return;
    if (toDeliveryKey(read) === this.#deliveredKey) return;
    // A root that was swapped meanwhile is found by the next look.
    if (await describeRoot(this.#root) !== root) return;
    this.#editsTold = true;
    this.#options.logger.warn(
      "Files have changed and are not loaded: RUNTIME_WATCH_ROOT is true, so " +
        "that only a swap of the root, a symbolic link, loads them; set " +
        "RUNTIME_WATCH_ROOT=false, or send SIGHUP",
      { directory: this.#directory, root: this.#root },
    );
  }

  #warnAbout(files: readonly IgnoredFile[]): void {
    for (const { name, why } of files) {
      if (this.#warned.has(name) || this.#warned.size >= MAX_WARNED) continue;
      this.#warned.add(name);
      this.#options.logger.warn(`Ignored file ${quote(name)}: ${why}`, {
        directory: this.#directory,
      });
    }
  }
}

/**
 * True when a read needs no second one to count as whole: at the start, files
 * that have not changed lately are complete.
 */
function isOld(read: DirectoryRead, beforeMs: number): boolean {
  if (read.kind === "read") return read.changedMs < beforeMs;
  return read.kind === "unreadable";
}

/**
 * Returns the key that two reads must share for the directory to count as
 * settled.
 */
function toKey(read: DirectoryRead): string | undefined {
  return read.kind === "changing" ? undefined : toDeliveryKey(read);
}

/**
 * Returns the key that must differ from the last one for a read to be
 * delivered.
 */
function toDeliveryKey(read: DirectoryRead): string {
  return read.kind === "read"
    ? `files ${read.fingerprint}`
    : `unreadable ${read.reason}`;
}

/**
 * Describes where `root` leads and which link or directory is there. Two
 * answers differ when the root, or a link on the way to it, was swapped or
 * made again, also with the same target; edits below it change nothing.
 */
async function describeRoot(root: string): Promise<string> {
  try {
    const { dev, ino, birthtime } = await Deno.lstat(root);
    const real = await Deno.realPath(root);
    return JSON.stringify([real, dev, ino, birthtime?.getTime() ?? 0]);
  } catch (error) {
    return error instanceof Deno.errors.NotFound ? "missing" : String(error);
  }
}
