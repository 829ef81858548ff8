/**
 * Configuration from the files of one directory.
 *
 * A file that is a link to somewhere outside is read like any other; when only
 * its target is edited, the next poll notices that, no event does.
 *
 * @module
 */

import { join, resolve } from "node:path";
import type { Clock } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { quote } from "../../shared/quote.ts";
import { createPathWatcher, type PathWatcher } from "../../shared/watch.ts";
import { type DirectoryRead, readConfigDirectory } from "./config_directory.ts";
import { type ConfigFilesOutcome, decodeFiles } from "./config_files.ts";
import type { ConfigSource } from "./config_source.ts";
import { describeRoot } from "./root_state.ts";
import { readSettled, type SettledRead } from "./settled_read.ts";

/** Where the files are, and when they are read again. */
export interface FileSourceOptions {
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
   * Takes what was found: at the start, when it differs, and on a reload.
   * Answers whether it has come into force.
   */
  readonly onFiles: (outcome: ConfigFilesOutcome) => boolean;
  /**
   * How long files must hold still to count as written, in milliseconds.
   * @default 150
   */
  readonly settleMs?: number;
  /**
   * How often to look without being told of a change.
   * @default 30000
   */
  readonly pollMs?: number;
  /**
   * The largest file that is taken, in bytes.
   * @default 4194304
   */
  readonly maxFileBytes?: number;
  /**
   * The most files that are taken.
   * @default 10000
   */
  readonly maxFiles?: number;
  /**
   * The most bytes that all files may have together.
   * @default 67108864
   */
  readonly maxTotalBytes?: number;
}

/** How many reads a change may take before the last one counts. */
const MAX_READS = 10;

/** How many misnamed files are remembered as warned of. */
const MAX_WARNED = 1000;

/** Makes a source that reads `root/subdirectory/appDirectory/*.yaml`. */
export function createFileSource(options: FileSourceOptions): ConfigSource {
  return new FileSource(options);
}

type Occasion = "start" | "change" | "reload";

class FileSource implements ConfigSource {
  readonly #options: FileSourceOptions;
  readonly #root: string;
  readonly #directory: string;
  readonly #watcher: PathWatcher;
  readonly #stop = new AbortController();
  readonly #warned = new Set<string>();
  /** The last look; looks come one after the other. */
  #looking: Promise<void> = Promise.resolve();
  #waitingReload: Promise<void> | undefined;
  #started = false;
  /** The root as it was at the last look that settled. */
  #rootSeen: string | undefined;
  #deliveredKey: string | undefined;
  /** Whether the receiver took what was delivered last. */
  #taken = false;

  constructor(options: FileSourceOptions) {
    this.#options = options;
    this.#root = resolve(options.root);
    this.#directory = join(
      this.#root,
      options.subdirectory,
      options.appDirectory,
    );
    this.#watcher = createPathWatcher({
      paths: () =>
        this.#onlyRootCounts() ? [this.#root] : [this.#root, this.#directory],
      onChange: () => this.#enqueue("change"),
      clock: options.clock,
      logger: options.logger,
      settleMs: options.settleMs ?? 150,
      pollMs: options.pollMs ?? 30_000,
    });
  }

  async start(): Promise<void> {
    if (this.#started) return;
    this.#started = true;
    await this.#watcher.start();
    await this.#enqueue("start");
  }

  reload(): Promise<void> {
    // A reload that has not begun will see what the second one is about.
    this.#waitingReload ??= this.#enqueue("reload");
    return this.#waitingReload;
  }

  async stop(): Promise<void> {
    this.#started = true;
    this.#stop.abort();
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
    if (read.kind === "read") this.#warnOf(read.misnamed);
    const key = deliveryKeyOf(read);
    if (occasion === "change" && key === this.#deliveredKey) return;

    const outcome: ConfigFilesOutcome = read.kind === "read"
      ? decodeFiles(read.files, read.fingerprint)
      : { kind: "unreadable", reason: read.reason };
    this.#deliveredKey = key;
    this.#taken = this.#options.onFiles(outcome);
  }

  async #read(occasion: Occasion): Promise<SettledRead<DirectoryRead>> {
    const { clock, settleMs = 150 } = this.#options;
    const read = () =>
      readConfigDirectory(this.#directory, {
        ignoreDotFiles: this.#options.ignoreDotFiles,
        maxFileBytes: this.#options.maxFileBytes ?? 4_194_304,
        maxFiles: this.#options.maxFiles ?? 10_000,
        maxTotalBytes: this.#options.maxTotalBytes ?? 67_108_864,
      });
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

  #warnOf(names: readonly string[]): void {
    for (const name of names) {
      if (this.#warned.has(name) || this.#warned.size >= MAX_WARNED) continue;
      this.#warned.add(name);
      this.#options.logger.warn(
        `Ignored file ${quote(name)}: only names ending in ".yaml" are read; ` +
          "rename it to have it read",
        { directory: this.#directory },
      );
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
