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
import {
  CONFIG_BOUNDS,
  type DirectoryRead,
  type IgnoredFile,
  readConfigDirectory,
  readSettled,
  type SettledRead,
} from "./config_directory.ts";
import { type ConfigFilesOutcome, decodeFiles } from "./config_loader.ts";
import { PathWatcher } from "./watch.ts";

/** Where the files are, and when they are read again. */
interface FileSourceOptions {
  /** The root, usually a link that is swapped to bring in a new version. */
  readonly root: string;
  /** A path below the root; may be empty. */
  readonly subdirectory: string;
  /** A path below that, which holds the files; may be empty. */
  readonly appDirectory: string;
  /** Whether files whose name begins with a dot are passed over. */
  readonly ignoreDotFiles: boolean;
  /**
   * Whether only a swap of the root leads to a reload, or otherwise every
   * change in the directory as well. While what was delivered last is not in
   * force, every change counts, so that it can be mended.
   */
  readonly watchRoot: boolean;
  /** The time source. */
  readonly clock: Clock;
  /** Takes warnings about the files; what is delivered is not logged. */
  readonly logger: Logger;
  /**
   * Takes what was found: at the start, when it differs, and on a reload; the
   * next look waits for it. Answers whether it has come into force.
   */
  readonly onFiles: (
    outcome: ConfigFilesOutcome,
  ) => boolean | Promise<boolean>;
  /**
   * Gives way to other work while files are turned into text.
   * @default NEVER_PAUSING
   */
  readonly pausing?: Pausing;
  /**
   * How long files must hold still to count as written, in milliseconds.
   * @default 150
   */
  readonly settleMs?: number;
  /**
   * How often to look whether something has changed, in milliseconds.
   * @default 1000
   */
  readonly pollMs?: number;
  /**
   * How often to read although nothing seems to have changed, in milliseconds.
   * @default 30000
   */
  readonly maxQuietMs?: number;
  /**
   * How long one read of the directory may take, in milliseconds.
   * @default 10000
   */
  readonly maxReadMs?: number;
  /**
   * Reads the directory once.
   * @default readConfigDirectory
   */
  readonly readDirectory?: typeof readConfigDirectory;
  /** What the person can do when the directory does not exist. */
  readonly whenMissing?: string;
}

/** How many reads a change may take before the last one counts. */
const MAX_READS = 10;

/** How many ignored files are remembered as warned of. */
const MAX_WARNED = 1000;

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
  /** The last look; looks come one after the other. */
  #looking: Promise<void> = Promise.resolve();
  #waitingReload: Promise<void> | undefined;
  /** A read of the directory that has not ended. */
  #reading: Promise<DirectoryRead> | undefined;
  #started = false;
  /** The root as it was at the last look that settled. */
  #rootSeen: string | undefined;
  #deliveredKey: string | undefined;
  /** Whether the receiver took what was delivered last. */
  #taken = false;

  /** Idle until `start()`. */
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

  /** Looks now and delivers even what has not changed. */
  reload(): Promise<void> {
    // A reload that has not begun will see what the second one is about.
    this.#waitingReload ??= this.#enqueue("reload");
    return this.#waitingReload;
  }

  /** Delivers no more. Double stop and stop before start do no harm. */
  async stop(): Promise<void> {
    this.#started = true;
    this.#stop.abort();
    this.#stopped.resolve({ kind: "changing", reason: "the source stops" });
    await this.#watcher.stop();
    await this.#looking.catch(() => {});
  }

  #onlyRootCounts(): boolean {
    return this.#options.watchRoot && this.#taken;
  }

  #enqueue(occasion: Occasion): Promise<void> {
    const look = this.#looking.then(() => {
      if (occasion === "reload") this.#waitingReload = undefined;
      return this.#look(occasion);
    });
    // A fault belongs to the one who asked for this look, not to the next.
    this.#looking = look.catch(() => {});
    return look;
  }

  async #look(occasion: Occasion): Promise<void> {
    if (this.#stop.signal.aborted) return;
    const root = await describeRoot(this.#root);
    const swapped = root !== this.#rootSeen;
    if (occasion === "change" && this.#onlyRootCounts() && !swapped) return;

    const { value: read, settled } = await this.#read(occasion);
    if (this.#stop.signal.aborted) return;
    if (settled) this.#rootSeen = root;
    if (read.kind === "read") this.#warnOf(read.ignored);
    const key = deliveryKeyOf(read);
    if (occasion === "change" && key === this.#deliveredKey) return;

    const outcome: ConfigFilesOutcome = read.kind === "read"
      ? await decodeFiles(read.files, {
        fingerprint: read.fingerprint,
        pausing: this.#options.pausing ?? NEVER_PAUSING,
      })
      : { kind: "unreadable", reason: read.reason };
    this.#deliveredKey = key;
    this.#taken = await this.#options.onFiles(outcome);
  }

  async #read(occasion: Occasion): Promise<SettledRead<DirectoryRead>> {
    const { clock, settleMs = 150 } = this.#options;
    const read = () => this.#readOnce();
    const first = occasion === "start" ? await read() : undefined;
    if (first !== undefined && isOld(first, clock.nowMs() - settleMs)) {
      return { value: first, settled: true };
    }
    return await readSettled({
      read,
      keyOf,
      knownKey: occasion === "change" ? this.#deliveredKey : undefined,
      settleMs,
      maxReads: MAX_READS,
      clock,
      signal: this.#stop.signal,
    });
  }

  /**
   * One read, for which nothing waits too long. One that hangs (a pipe took a
   * file's place, a file system does not answer) keeps a thread of the runtime,
   * so none is begun beside it.
   */
  async #readOnce(): Promise<DirectoryRead> {
    const {
      clock,
      ignoreDotFiles,
      maxReadMs = 10_000,
      readDirectory = readConfigDirectory,
      whenMissing,
    } = this.#options;
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

  #warnOf(files: readonly IgnoredFile[]): void {
    for (const { name, why } of files) {
      if (this.#warned.has(name) || this.#warned.size >= MAX_WARNED) continue;
      this.#warned.add(name);
      this.#options.logger.warn(`Ignored file ${quote(name)}: ${why}`, {
        directory: this.#directory,
      });
    }
  }
}

/** At the start, files that rest need no second look to be taken as whole. */
function isOld(read: DirectoryRead, beforeMs: number): boolean {
  if (read.kind === "read") return read.changedMs < beforeMs;
  return read.kind === "unreadable";
}

/** What has to be the same in two reads for the directory to hold still. */
function keyOf(read: DirectoryRead): string | undefined {
  return read.kind === "changing" ? undefined : deliveryKeyOf(read);
}

/** What has to differ for a read to be delivered. */
function deliveryKeyOf(read: DirectoryRead): string {
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
