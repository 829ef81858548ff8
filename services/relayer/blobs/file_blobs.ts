/**
 * A blob store that keeps blobs as files of a folder, named by the hash of
 * their bytes.
 *
 * A file gets its name only when its bytes are on the disk, so a named file is
 * complete. Each read checks the bytes against the id: a changed file counts as
 * missing, with an error in the log, because a retry would not bring its bytes
 * back; storing the same blob again repairs it.
 *
 * @module
 */

import type { Logger } from "../../shared/logger.ts";
import { ifThere } from "../../shared/missing_file.ts";
import { describeError } from "../../shared/settled.ts";
import {
  FolderSync,
  syncFolder,
  tighten,
  writeDurableFile,
} from "../../shared/data_file.ts";
import { Semaphore } from "../concurrency/semaphore.ts";
import { SharedCalls } from "../concurrency/shared_calls.ts";
import { BlobCalls, ENDED, refusal, STOPPED } from "./blob_calls.ts";
import {
  type BlobCallOptions,
  type BlobOutcome,
  blobPath,
  type BlobStore,
  computeBlobId,
} from "./blob_store.ts";

/** Options of {@linkcode FileBlobs}. */
interface FileBlobsOptions {
  /** The folder of the blobs; made when it does not exist. */
  readonly folder: string;
  /** Logs changed files and errors of the file system. */
  readonly logger: Logger;
  /**
   * Largest blob, in bytes.
   *
   * @default {8388608}
   */
  readonly maxBytes?: number | undefined;
}

/** Most files that are written or read at a time; further calls wait. */
const MAX_PARALLEL = 16;
/** The folder in which files are written before they get their name. */
const UNFINISHED = "unfinished";

/** Keeps blobs as files. */
export class FileBlobs implements BlobStore {
  /** Files are named by the hash of their bytes. */
  readonly hasHashIds = true;
  readonly #folder: string;
  readonly #logger: Logger;
  readonly #calls: BlobCalls;
  readonly #semaphore = new Semaphore(MAX_PARALLEL);
  readonly #syncs = new FolderSync(syncFolder);
  /**
   * Calls of `put()` that are under way, by blob id, so that the same bytes are
   * written once.
   */
  readonly #puts = new SharedCalls<void>();
  /**
   * Folders whose names are durable; there is one for each first byte of an id.
   */
  readonly #folders = new Map<string, Promise<void>>();
  #unfinished = 0;

  /** A store that is not started. */
  constructor(options: FileBlobsOptions) {
    const { folder, logger, maxBytes } = options;
    this.#folder = folder;
    this.#logger = logger;
    this.#calls = new BlobCalls(maxBytes);
  }

  /** Makes the folder, and removes unfinished files that a crash left. */
  async start(): Promise<void> {
    const unfinished = `${this.#folder}/${UNFINISHED}`;
    await Deno.mkdir(unfinished, { recursive: true, mode: 0o700 });
    tighten(this.#folder);
    for await (const { name } of Deno.readDir(unfinished)) {
      await Deno.remove(`${unfinished}/${name}`);
    }
    await syncFolder(this.#folder);
    this.#calls.start();
  }

  /** Waits for calls that are under way. */
  async stop(): Promise<void> {
    await this.#calls.stop();
    this.#folders.clear();
  }

  /**
   * Writes a blob, unless it is there.
   *
   * @throws {BlobStoreError} when it is too large or the file system refuses it
   */
  async put(bytes: Uint8Array, options: BlobCallOptions = {}): Promise<string> {
    const blobId = this.#calls.admit(bytes, options);
    try {
      await this.#puts.run(
        blobId,
        () => this.#work(() => this.#write(blobId, bytes)),
      );
    } catch (error) {
      // An error of the file system can be put right: space, rights, a disk. So
      // a retry can succeed.
      throw refusal(describeError(error), { isLocal: true });
    }
    return blobId;
  }

  /** Reads a blob and checks its bytes against the id. */
  async get(
    blobId: string,
    options: BlobCallOptions = {},
  ): Promise<BlobOutcome> {
    const path = this.#toPath(blobId);
    if (!this.#calls.isOpen) return { kind: "unavailable", reason: STOPPED };
    if (path === undefined) return { kind: "missing" };
    try {
      return await this.#work(async () => {
        if (options.signal?.aborted) {
          return { kind: "unavailable", reason: ENDED };
        }
        const bytes = await ifThere(Deno.readFile(path));
        if (bytes === undefined) return { kind: "missing" };
        if (computeBlobId(bytes) === blobId) return { kind: "ok", bytes };
        this.#logger.error("Cannot read blob: its file was changed", {
          file: path,
        });
        return { kind: "missing" };
      });
    } catch (error) {
      const reason = describeError(error);
      this.#logger.warn("Cannot read blob; retrying on the next request", {
        file: path,
        reason,
      });
      return { kind: "unavailable", reason };
    }
  }

  /** Returns whether the file does not exist. */
  async isGone(blobId: string): Promise<boolean> {
    const path = this.#toPath(blobId);
    if (path === undefined) return true;
    try {
      await Deno.stat(path);
      return false;
    } catch (error) {
      // After any other error the file may exist.
      return error instanceof Deno.errors.NotFound;
    }
  }

  /** Removes a blob; true as well when it does not exist. */
  async remove(blobId: string): Promise<boolean> {
    const path = this.#toPath(blobId);
    if (path === undefined) return true;
    if (!this.#calls.isOpen) return false;
    try {
      // An earlier `put()` of the same blob must not bring it back. Its failure
      // is reported to its own caller.
      await this.#puts.get(blobId)?.catch(() => {});
      await this.#work(async () => {
        await Deno.remove(path);
        await this.#syncs.sync(toFolder(path));
      });
      return true;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return true;
      this.#logger.warn("Cannot remove blob", {
        file: path,
        reason: describeError(error),
      });
      return false;
    }
  }

  async #write(blobId: string, bytes: Uint8Array): Promise<void> {
    const path = this.#toPath(blobId);
    if (path === undefined) {
      throw new TypeError("the id of a blob is not valid");
    }
    await this.#makeFolder(toFolder(path));
    // An existing file has the same bytes or was damaged, so it is overwritten.
    // A check first would take longer: nearly all blobs are new.
    const draft = `${this.#folder}/${UNFINISHED}/${++this.#unfinished}`;
    try {
      await writeDurableFile(draft, bytes);
      await Deno.rename(draft, path);
    } catch (error) {
      // On a full disk, what was written so far would take the room that the
      // retry needs.
      await Deno.remove(draft).catch(() => {});
      throw error;
    }
    await this.#syncs.sync(toFolder(path));
  }

  /** Makes a folder, once in the life of the process, and its name durable. */
  async #makeFolder(folder: string): Promise<void> {
    const known = this.#folders.get(folder);
    if (known !== undefined) return await known;
    const made = makeIfAbsent(folder).then(() =>
      this.#syncs.sync(this.#folder)
    );
    this.#folders.set(folder, made);
    try {
      await made;
    } catch (error) {
      this.#folders.delete(folder);
      throw error;
    }
  }

  /**
   * Runs a call once one of the parallel slots is free, and lets `stop()` wait
   * for it.
   */
  #work<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#calls.track(this.#semaphore.run(work));
  }

  #toPath(blobId: string): string | undefined {
    const place = blobPath(blobId);
    return place && `${this.#folder}/${place.folder}/${place.name}`;
  }
}

function toFolder(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

async function makeIfAbsent(path: string): Promise<void> {
  try {
    await Deno.mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
}
