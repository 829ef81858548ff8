/**
 * Writes files of a service durably, and lets only their owner read them.
 *
 * @module
 */

/** Writes a file that its owner alone may read and waits for the disk. */
export async function writeDurableFile(
  path: string,
  bytes: Uint8Array,
): Promise<void> {
  const file = await Deno.open(path, {
    write: true,
    create: true,
    truncate: true,
    mode: 0o600,
  });
  try {
    let written = 0;
    while (written < bytes.length) {
      written += await file.write(bytes.subarray(written));
    }
    await file.sync();
  } finally {
    file.close();
  }
}

/** Waits until the disk has the names in a folder. */
export async function syncFolder(path: string): Promise<void> {
  // Windows cannot do it, and flushes directory entries itself.
  if (Deno.build.os === "windows") return;
  const folder = await Deno.open(path, { read: true });
  try {
    await folder.sync();
  } finally {
    folder.close();
  }
}

interface Folder {
  /** The sync that is running. */
  current: Promise<void>;
  /** The sync that begins after the running one. */
  next: Promise<void> | undefined;
}

/**
 * Makes the names in folders durable; calls that come while a sync is under way
 * share the next one.
 */
export class FolderSync {
  readonly #folders = new Map<string, Folder>();
  readonly #sync: (path: string) => Promise<void>;

  /** Syncs folders with what makes one of them durable. */
  constructor(sync: (path: string) => Promise<void>) {
    this.#sync = sync;
  }

  /** Resolves when everything that is in the folder now is durable. */
  sync(path: string): Promise<void> {
    const folder = this.#folders.get(path);
    if (folder === undefined) return this.#begin(path);
    // The sync under way may have begun before the file was created.
    folder.next ??= folder.current.catch(() => {}).then(() =>
      this.#begin(path)
    );
    return folder.next;
  }

  #begin(path: string): Promise<void> {
    const current = this.#sync(path);
    const folder: Folder = { current, next: undefined };
    this.#folders.set(path, folder);
    const end = (): void => {
      const isLast = this.#folders.get(path) === folder &&
        folder.next === undefined;
      if (isLast) this.#folders.delete(path);
    };
    current.then(end, end);
    return current;
  }
}

const OWNER_ONLY = 0o600;
const OWNER_FOLDER = 0o700;
const OTHERS = 0o007;

/**
 * Creates an empty file for its owner alone, unless it exists; SQLite takes it
 * for a new database and gives its mode to the files beside it. An existing one
 * is treated as by {@linkcode tighten}.
 *
 * @throws {Error} when it cannot be created, as where there is no folder
 */
export function makePrivate(path: string): void {
  try {
    Deno.openSync(path, { write: true, createNew: true, mode: OWNER_ONLY })
      .close();
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    tighten(path);
  }
}

/**
 * Does the same as {@linkcode makePrivate} for a SQLite database, and tightens
 * the files beside it that a crashed process left.
 *
 * @throws {Error} when it cannot be created, as where there is no folder
 */
export function makePrivateDatabase(path: string): void {
  makePrivate(path);
  for (const suffix of ["-wal", "-shm", "-journal"]) tighten(path + suffix);
}

/**
 * Restricts a file or folder that everybody on the machine may read to its
 * owner. One that only a group may read stays as it is, as that was intended; a
 * missing one is ignored. Does nothing on Windows, which has no modes.
 */
export function tighten(path: string): void {
  try {
    const { mode, isDirectory } = Deno.statSync(path);
    if (mode === null || (mode & OTHERS) === 0) return;
    Deno.chmodSync(path, isDirectory ? OWNER_FOLDER : OWNER_ONLY);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    // It belongs to another user, who let this process use it and set its mode.
    if (error instanceof Deno.errors.PermissionDenied) return;
    throw error;
  }
}
