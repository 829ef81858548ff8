/**
 * Makes the names in folders durable; those who come while it is under way share
 * the next one.
 *
 * @module
 */

interface Folder {
  /** What is under way. */
  current: Promise<void>;
  /** What begins after it. */
  next: Promise<void> | undefined;
}

/** Syncs folders. */
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
