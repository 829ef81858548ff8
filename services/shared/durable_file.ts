/**
 * Files and folders that are on the disk when the call returns.
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
  // Windows has no way to do it, and writes names down at once.
  if (Deno.build.os === "windows") return;
  const folder = await Deno.open(path, { read: true });
  try {
    await folder.sync();
  } finally {
    folder.close();
  }
}

interface Folder {
  /** What is under way. */
  current: Promise<void>;
  /** What begins after it. */
  next: Promise<void> | undefined;
}

/**
 * Makes the names in folders durable; calls that come while a sync is under way share
 * the next one.
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
    // What is under way may have begun before the name was there.
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
