/**
 * Finds the directories in which a change can change what a path leads to.
 *
 * @module
 */

import { dirname, join, parse, resolve, sep } from "node:path";
import type { WatchedDirectory } from "./change_reports.ts";

/** Most links that are followed for one path, as many as Linux follows. */
const MAX_LINKS = 40;
/** Most links within a directory that are followed. */
const MAX_LINKED_ENTRIES = 200;
/** Most directories; changes in further ones are found by looking. */
const MAX_DIRECTORIES = 100;

/**
 * Returns the directories in which a change matters to `paths`: those that hold
 * a link on the way, a directory at the end or the one of a file there, and
 * those of the files that links in that directory lead to. Where something is
 * missing, it is the directory in which it would have to appear. Further
 * directories on the way are left out: others may use them (`/tmp`), and what
 * watches them opens what changes there. Never rejects.
 */
export async function watchedDirectories(
  paths: readonly string[],
): Promise<readonly WatchedDirectory[]> {
  const walk = new Walk();
  for (const path of paths) await walk.add(path);
  return await walk.found();
}

class Walk {
  readonly #directories = new Set<string>();
  readonly #infos = new Map<string, Deno.FileInfo | undefined>();

  async add(path: string): Promise<void> {
    const end = await this.#follow(path);
    if (end?.isDirectory !== true) return;
    this.#directories.add(end.path);
    let links = 0;
    for (const name of await linksIn(end.path)) {
      if (++links > MAX_LINKED_ENTRIES) break;
      await this.#follow(join(end.path, name));
    }
  }

  async found(): Promise<readonly WatchedDirectory[]> {
    const found: WatchedDirectory[] = [];
    for (const path of [...this.#directories].slice(0, MAX_DIRECTORIES)) {
      const info = await this.#info(path);
      // What is gone by now changed the directory above, or is looked for.
      if (info?.isDirectory !== true) continue;
      found.push({ path, identity: formatIdentity(info) });
    }
    return found;
  }

  /**
   * Follows a path through its links, and adds the directories of these and of
   * a file at the end.
   */
  async #follow(
    path: string,
  ): Promise<
    { readonly path: string; readonly isDirectory: boolean } | undefined
  > {
    let { done, rest } = splitPath(resolve(path));
    let links = 0;
    while (true) {
      const [name, ...further] = rest;
      if (name === undefined) break;
      const next = join(done, name);
      const info = await this.#info(next);
      if (info === undefined) {
        await this.#addDirectory(done);
        return undefined;
      }
      if (info.isSymlink) {
        this.#directories.add(done);
        const target = await readTarget(next);
        if (target === undefined || ++links > MAX_LINKS) return undefined;
        const from = splitPath(resolve(done, target));
        done = from.done;
        rest = [...from.rest, ...further];
      } else {
        done = next;
        rest = further;
      }
    }
    const isDirectory = (await this.#info(done))?.isDirectory ?? false;
    if (!isDirectory) this.#directories.add(dirname(done));
    return { path: done, isDirectory };
  }

  /** Adds a directory, or that of what stands in the place of one. */
  async #addDirectory(path: string): Promise<void> {
    const isDirectory = (await this.#info(path))?.isDirectory ?? true;
    this.#directories.add(isDirectory ? path : dirname(path));
  }

  /** What is at a path itself; undefined where it can't be looked at. */
  async #info(path: string): Promise<Deno.FileInfo | undefined> {
    if (this.#infos.has(path)) return this.#infos.get(path);
    const info = await Deno.lstat(path).catch(() => undefined);
    this.#infos.set(path, info);
    return info;
  }
}

/**
 * Tells a file or directory from others, also from one that took its place.
 * Inode numbers are reused at once; the time of birth tells such ones apart.
 */
export function formatIdentity({ dev, ino, birthtime }: Deno.FileInfo): string {
  return [dev, ino, birthtime?.getTime()].join(" ");
}

/** Splits an absolute path into its root and the names below. */
function splitPath(
  path: string,
): { readonly done: string; readonly rest: readonly string[] } {
  const { root } = parse(path);
  return {
    done: root,
    rest: path.slice(root.length).split(sep).filter(Boolean),
  };
}

async function readTarget(link: string): Promise<string | undefined> {
  try {
    return await Deno.readLink(link);
  } catch {
    return undefined;
  }
}

/** The names of the links in a directory; none where it can't be read. */
async function linksIn(directory: string): Promise<readonly string[]> {
  const names: string[] = [];
  try {
    for await (const { name, isSymlink } of Deno.readDir(directory)) {
      if (isSymlink) names.push(name);
    }
  } catch {
    // Gone or closed to us: the one who reads it says so.
  }
  return names;
}
