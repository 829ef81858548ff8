/**
 * Watches code for changes of content; a file whose time alone changes does not
 * count.
 *
 * @module
 */

import { createHash } from "node:crypto";

const CODE_FILE = /\.(ts|json|lua)$/;

/** Reports when the content of watched files changes. */
export class CodeChanges {
  readonly #watcher: Deno.FsWatcher;
  readonly #settleMs: number;
  readonly #digests: Promise<Map<string, string>>;
  #waiting = Promise.withResolvers<void>();
  #touched = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * Starts to watch files and folders.
   *
   * @param settleMs How long no file must have changed before changes are
   * reported, in milliseconds.
   */
  constructor(paths: readonly string[], settleMs: number) {
    this.#watcher = Deno.watchFs([...paths]);
    this.#settleMs = settleMs;
    this.#digests = digestsBelow(paths);
    this.#listen();
  }

  /**
   * Resolves once the present content of the files is known; changes are
   * noticed from then on.
   */
  async known(): Promise<void> {
    await this.#digests;
  }

  /** Resolves at the next change of content after the last reported one. */
  next(): Promise<void> {
    return this.#waiting.promise;
  }

  /** Stops watching. */
  end(): void {
    clearTimeout(this.#timer);
    this.#watcher.close();
  }

  async #listen(): Promise<void> {
    for await (const event of this.#watcher) {
      if (event.kind === "access") continue;
      const code = event.paths.filter((path) => CODE_FILE.test(path));
      if (code.length === 0) continue;
      for (const path of code) this.#touched.add(path);
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => this.#look(), this.#settleMs);
    }
  }

  async #look(): Promise<void> {
    const touched = this.#touched;
    this.#touched = new Set();
    const digests = await this.#digests;
    let isChanged = false;
    for (const path of touched) {
      const digest = await hashFile(path);
      if (digest === digests.get(path)) continue;
      isChanged = true;
      if (digest === undefined) digests.delete(path);
      else digests.set(path, digest);
    }
    if (!isChanged) return;
    const { resolve } = this.#waiting;
    this.#waiting = Promise.withResolvers();
    resolve();
  }
}

async function digestsBelow(
  paths: readonly string[],
): Promise<Map<string, string>> {
  const digests = new Map<string, string>();
  const visit = async (path: string): Promise<void> => {
    const info = await Deno.stat(path);
    if (info.isDirectory) {
      for await (const { name } of Deno.readDir(path)) {
        await visit(`${path}/${name}`);
      }
    } else if (CODE_FILE.test(path)) {
      const digest = await hashFile(path);
      if (digest !== undefined) digests.set(path, digest);
    }
  };
  for (const path of paths) await visit(path);
  return digests;
}

/**
 * Returns the hash of a file's content; `undefined` when the file does not
 * exist.
 */
async function hashFile(path: string): Promise<string | undefined> {
  try {
    const bytes = await Deno.readFile(path);
    return createHash("sha256").update(bytes).digest("base64");
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
