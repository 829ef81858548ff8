/**
 * Classifies a file of the project by its path, for the lint rules.
 *
 * @module
 */

/** The areas of the project, by the folder a file is in. */
export type Room =
  | { readonly kind: "sdk" }
  | { readonly kind: "proto" }
  | { readonly kind: "shared" }
  | { readonly kind: "service"; readonly name: string }
  /** The code that combines the services in one command line. */
  | { readonly kind: "cli" }
  | { readonly kind: "tests" }
  | { readonly kind: "scripts" }
  | { readonly kind: "other" };

/**
 * Folders whose code does no I/O and reads neither clock nor environment:
 * values in, values out.
 */
const PURE_FOLDERS: readonly string[] = [
  "services/ratelimit/rules/",
  "services/ratelimit/decision/",
  "services/tasks/domain/",
];

/**
 * The folders of services/tasks in layers, the lowest first: a folder imports
 * only from layers below its own.
 */
const TASKS_FLOORS: readonly (readonly string[])[] = [
  ["domain"],
  ["access", "delivery", "secrets"],
  ["store"],
  ["engine"],
  ["http"],
  ["console", "mcp"],
  ["routes"],
];

/** The layer of a file of a service. */
export interface Floor {
  /** The name of the file's folder in the service. */
  readonly folder: string;
  /** Number of layers below it. */
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

/** Returns the area of the project that a path belongs to. */
export function findRoom(path: string): Room {
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

/** Returns the layer of a file; `undefined` when it is in no layered folder. */
export function findFloor(path: string): Floor | undefined {
  const [first, service, folder, file] = path.split("/");
  if (first !== "services" || service !== "tasks") return undefined;
  if (folder === undefined || file === undefined) return undefined;
  const height = TASKS_FLOORS.findIndex((floor) => floor.includes(folder));
  return height === -1 ? undefined : { folder, height };
}

/**
 * Returns whether a file next to the code is only for tests: a test, or a
 * helper in a folder named `testing`.
 */
export function isTestCode(path: string): boolean {
  return path.endsWith("_test.ts") || path.split("/").includes("testing");
}

/** Returns whether a file must be pure; its test need not be. */
export function isPureFile(path: string): boolean {
  return !isTestCode(path) &&
    PURE_FOLDERS.some((folder) => path.startsWith(folder));
}

/**
 * Returns whether a file is the main module of a service, which reads the
 * environment.
 */
export function isServiceMain(path: string): boolean {
  return /^services\/([^/]+\/main|cli\/worker_main)\.ts$/.test(path);
}
