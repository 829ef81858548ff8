/**
 * Where a file stands in the project, which is what the rules ask about.
 *
 * @module
 */

/** The rooms of the project. */
export type Room =
  | { readonly kind: "sdk" }
  | { readonly kind: "proto" }
  | { readonly kind: "shared" }
  | { readonly kind: "service"; readonly name: string }
  /** What stands above the services. */
  | { readonly kind: "cli" }
  | { readonly kind: "tests" }
  | { readonly kind: "scripts" }
  | { readonly kind: "other" };

/** Folders without I/O, clock and environment: values in, values out. */
const PURE_FOLDERS: readonly string[] = [
  "services/ratelimit/rules/",
  "services/ratelimit/decision/",
  "services/tasks/domain/",
];

/** Folders of services/tasks by floor: each imports only what stands below it. */
const TASKS_FLOORS: readonly (readonly string[])[] = [
  ["domain"],
  ["access", "delivery", "secrets"],
  ["store"],
  ["engine"],
  ["http"],
  ["routes"],
];

/** A folder of a service and where it stands above the others. */
export interface Floor {
  /** The folder's name. */
  readonly folder: string;
  /** How many floors are below it. */
  readonly height: number;
}

/**
 * Returns a file's path within the project, with slashes on every system.
 *
 * @param filename The path as the linter gives it.
 * @param root The folder of `deno.json`, with a slash at its end.
 */
export function pathWithin(filename: string, root: string): string {
  const path = filename.replaceAll("\\", "/");
  return path.startsWith(root) ? path.slice(root.length) : path;
}

/** Returns the room of a path within the project. */
export function roomOf(path: string): Room {
  const [first, second] = path.split("/");
  if (path === "mod.ts" || first === "sdk") return { kind: "sdk" };
  if (first === "proto") return { kind: "proto" };
  if (first === "tests") return { kind: "tests" };
  if (first === "scripts") return { kind: "scripts" };
  if (first === "services" && second !== undefined) {
    if (second === "shared") return { kind: "shared" };
    return second === "cli"
      ? { kind: "cli" }
      : { kind: "service", name: second };
  }
  return { kind: "other" };
}

/** Returns the floor of a file; undefined where a service has none. */
export function floorOf(path: string): Floor | undefined {
  const [first, service, folder, file] = path.split("/");
  if (first !== "services" || service !== "tasks") return undefined;
  if (folder === undefined || file === undefined) return undefined;
  const height = TASKS_FLOORS.findIndex((floor) => floor.includes(folder));
  return height === -1 ? undefined : { folder, height };
}

/**
 * Tells whether a file beside the code serves tests alone: a test, or a helper
 * in a folder named `testing`.
 */
export function isTestCode(path: string): boolean {
  return path.endsWith("_test.ts") || path.split("/").includes("testing");
}

/** Tells whether a file must be pure; its test need not be. */
export function isPureFile(path: string): boolean {
  return !isTestCode(path) &&
    PURE_FOLDERS.some((folder) => path.startsWith(folder));
}

/** Tells whether a file is where a service meets the environment. */
export function isServiceMain(path: string): boolean {
  return /^services\/([^/]+\/main|cli\/worker_main)\.ts$/.test(path);
}
