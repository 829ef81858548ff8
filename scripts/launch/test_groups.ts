/**
 * Test files put together, so that a run of many costs less: the runtime starts an
 * isolate for each module that it tests, which takes 0.3 to 0.6 seconds of processor
 * time before the first test. (`deno test` of 2.9 loads its benchmarks in each, which
 * fill an array of ten million elements; and each reads and runs again what its file
 * imports.)
 *
 * @module
 */

import { join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { isNoWriting } from "./offline_config.ts";

/** Test files that share an isolate. */
interface TestGroup {
  /** The number of the group, and the room that they are of. */
  readonly name: string;
  /** Their paths. */
  readonly files: readonly string[];
}

/** Options of {@linkcode withTestGroups}. */
interface TestGroupsOptions {
  /** The checkout, in whose folder for what may be removed the groups are written. */
  readonly root: string;
}

/** Files of a group at most: a group that takes a minute may be the last one. */
const MOST_FILES = 12;
/** What `deno test` takes for a test. */
const TEST_FILE = /(?:^|[_.])test\.(?:[jt]sx?|m[jt]s)$/;
const NOT_SEARCHED = /^(?:\.|node_modules$|dist$)/;
/** Flags that leave the argument behind them alone. */
const WHOLE_FLAG =
  /^--(?:[\w-]+=|(?:allow|deny)-|(?:parallel|no-check|fail-fast|no-lock|frozen)$)/;

/**
 * Hands on arguments of `deno test` in which modules that import several test files
 * stand for those files, and removes the modules behind. Tests are reported as of the
 * lines that they stand in, and select others than files as ever.
 *
 * @param args `test` and what follows it; handed on as they are when they name one
 * file, something that is not there, or flags that are not known here, or when the
 * checkout can't be written to.
 */
export async function withTestGroups<T>(
  args: readonly string[],
  { root }: TestGroupsOptions,
  use: (args: readonly string[]) => Promise<T>,
): Promise<T> {
  const [subcommand = "test", ...rest] = args;
  const flags = rest.filter((arg) => arg.startsWith("-"));
  const named = rest.filter((arg) => !arg.startsWith("-"));
  const files = flags.every((flag) => WHOLE_FLAG.test(flag))
    ? await testFiles(named.length === 0 ? ["."] : named)
    : [];
  if (files.length < 2) return await use(args);
  // Two runs at a time each have their own.
  const folder = join(root, ".tercet", `tests_${Deno.pid}`);
  try {
    await Deno.mkdir(folder, { recursive: true });
  } catch (error) {
    if (isNoWriting(error)) return await use(args);
    throw error;
  }
  try {
    const modules: string[] = [];
    for (const { name, files: grouped } of groupTests(files, root)) {
      const path = join(folder, `${name}_test.ts`);
      const text = grouped.map((file) => `import "${pathToFileURL(file)}";\n`);
      await Deno.writeTextFile(path, text.join(""));
      modules.push(path);
    }
    return await use([subcommand, ...flags, ...modules]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/**
 * Puts files of the same room together: of the same two folders below `root`. Those of
 * `tests` are first, because they start processes and take longest.
 */
export function groupTests(
  files: readonly string[],
  root: string,
): readonly TestGroup[] {
  const rooms = Map.groupBy(
    files,
    (file) =>
      relative(root, file).split("/").slice(0, -1).slice(0, 2).join("_"),
  );
  const inOrder = [...rooms].sort(([a], [b]) => a < b ? 1 : -1);
  const groups = inOrder.flatMap(([room, inRoom]) => {
    const count = Math.ceil(inRoom.length / MOST_FILES);
    const size = Math.ceil(inRoom.length / count);
    return Array.from({ length: count }, (_, index) => ({
      room: room || "root",
      files: inRoom.slice(index * size, (index + 1) * size),
    }));
  });
  // The runtime takes them in the order of their names.
  return groups.map(({ room, files }, index) => ({
    name: `${String(index + 1).padStart(3, "0")}_${room}`,
    files,
  }));
}

/** The test files among paths and in folders; none when one of them is not there. */
async function testFiles(paths: readonly string[]): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const path of paths.map((path) => resolve(path))) {
    try {
      if ((await Deno.stat(path)).isFile) found.add(path);
      else for await (const file of filesIn(path)) found.add(file);
    } catch (error) {
      // The runtime says so in its own words.
      if (error instanceof Deno.errors.NotFound) return [];
      throw error;
    }
  }
  return [...found].sort();
}

async function* filesIn(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory && !NOT_SEARCHED.test(name)) {
      yield* filesIn(`${folder}/${name}`);
    } else if (TEST_FILE.test(name)) yield `${folder}/${name}`;
  }
}
