/**
 * Which directories must be watched to notice that a path changes, including
 * that one of the links on the way to it is swapped.
 *
 * @module
 */

import { dirname, join, resolve } from "node:path";

/** One directory to watch, without what is below its entries. */
export interface PlannedDirectory {
  /** Tells this directory from another one that takes its place. */
  readonly identity: string;
  /** The entries that matter; `"all"` when every one does. */
  readonly names: ReadonlySet<string> | "all";
}

/** The directories to watch, by their real paths. */
export type WatchPlan = ReadonlyMap<string, PlannedDirectory>;

/** As many links as Linux follows before it calls them a loop. */
const MAX_LINKS = 40;

/**
 * Looks up what has to be watched now for `paths`, files or directories that
 * need not exist. For each of them these are: the directory that holds it,
 * every directory that holds a link on the way to it, the directory itself, and
 * where a part is missing, the nearest directory that exists.
 *
 * All directories are named by their real paths, since the runtime confuses
 * two names of one directory with each other.
 */
export async function planWatch(paths: readonly string[]): Promise<WatchPlan> {
  const plan = new Map<string, Draft>();
  for (const path of paths) await trace(resolve(path), plan);
  return plan;
}

interface Draft {
  readonly identity: string;
  names: Set<string> | "all";
}

async function trace(path: string, plan: Map<string, Draft>): Promise<void> {
  let directory = "/";
  let pending = segmentsOf(path);
  let links = 0;
  while (pending.length > 0) {
    const [name = "", ...rest] = pending;
    pending = rest;
    if (name === "..") {
      directory = dirname(directory);
      continue;
    }
    const entry = join(directory, name);
    const info = await lookAt(entry);
    if (info === "unknown" && pending.length > 0) {
      // What may not be looked at is taken for a directory.
      directory = entry;
      continue;
    }
    if (info === "missing" || info === "unknown") {
      return await add(plan, directory, name);
    }
    if (info.isSymlink) {
      await add(plan, directory, name);
      const target = await targetOf(entry);
      links += 1;
      if (target === undefined || links > MAX_LINKS) return;
      if (target.startsWith("/")) directory = "/";
      pending = [...segmentsOf(target), ...pending];
      continue;
    }
    if (pending.length === 0 || !info.isDirectory) {
      await add(plan, directory, name);
    }
    if (!info.isDirectory) return;
    directory = entry;
  }
  (await draftOf(plan, directory)).names = "all";
}

function segmentsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

async function lookAt(
  path: string,
): Promise<Deno.FileInfo | "missing" | "unknown"> {
  try {
    return await Deno.lstat(path);
  } catch (error) {
    return error instanceof Deno.errors.NotFound ||
        error instanceof Deno.errors.NotADirectory
      ? "missing"
      : "unknown";
  }
}

async function targetOf(link: string): Promise<string | undefined> {
  try {
    return await Deno.readLink(link);
  } catch {
    // Gone since, or not allowed: its directory is watched, more cannot be.
    return undefined;
  }
}

async function add(
  plan: Map<string, Draft>,
  directory: string,
  name: string,
): Promise<void> {
  const draft = await draftOf(plan, directory);
  if (draft.names !== "all") draft.names.add(name);
}

async function draftOf(
  plan: Map<string, Draft>,
  directory: string,
): Promise<Draft> {
  let draft = plan.get(directory);
  if (draft === undefined) {
    draft = { identity: await identityOf(directory), names: new Set() };
    plan.set(directory, draft);
  }
  return draft;
}

async function identityOf(directory: string): Promise<string> {
  const info = await lookAt(directory);
  if (typeof info === "string") return info;
  // Inode numbers are used again at once; the time of birth is not.
  return `${info.dev}:${info.ino}:${info.birthtime?.getTime() ?? ""}`;
}
