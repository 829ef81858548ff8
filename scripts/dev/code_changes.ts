/**
 * Changes of code: of what files hold, not of their times.
 *
 * @module
 */

import { createHash } from "node:crypto";

const CODE_FILE = /\.(ts|json|lua)$/;

/** Tells when watched files hold something else. */
export class CodeChanges {
  readonly #watcher: Deno.FsWatcher;
  readonly #settleMs: number;
  readonly #digests: Promise<Map<string, string>>;
  #waiting = Promise.withResolvers<void>();
  #touched = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * Watches files and folders from now on.
   *
   * @param settleMs How long changes must have ended before they are told.
   */
  constructor(paths: readonly string[], settleMs: number) {
    this.#watcher = Deno.watchFs([...paths]);
    this.#settleMs = settleMs;
    this.#digests = digestsBelow(paths);
    this.#listen();
  }

  /** Settles once it is known what the files hold; changes count from then on. */
  async known(): Promise<void> {
    await this.#digests;
  }

  /** Settles at the next change after the last one told. */
  next(): Promise<void> {
    return this.#waiting.promise;
  }

  /** Watches no longer. */
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
      const digest = await digestOf(path);
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
      const digest = await digestOf(path);
      if (digest !== undefined) digests.set(path, digest);
    }
  };
  for (const path of paths) await visit(path);
  return digests;
}

/** Undefined where there is no such file, or not any longer. */
async function digestOf(path: string): Promise<string | undefined> {
  try {
    const bytes = await Deno.readFile(path);
    return createHash("sha256").update(bytes).digest("base64");
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
