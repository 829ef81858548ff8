/**
 * Groups test files, so that a run of many files takes less time: the runtime
 * starts an isolate for each module that it tests, which costs 0.3 to 0.6
 * seconds of processor time before the first test. (`deno test` of 2.9 loads
 * its benchmarks in each isolate, which fill an array of ten million elements;
 * and each isolate reads and evaluates again what its file imports.)
 *
 * @module
 */

import { join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { isNoWriting } from "./offline_config.ts";

/** Test files that share an isolate. */
interface TestGroup {
  /** The number of the group, and the room that its files are in. */
  readonly name: string;
  /** The paths of the files. */
  readonly files: readonly string[];
}

/** The run that {@linkcode withTestGroups} calls for. */
interface GroupedRun {
  /** `test` and what follows it. */
  readonly args: readonly string[];
  /** The paths of the test files; empty when they are not grouped. */
  readonly files: readonly string[];
}

/** Options of {@linkcode withTestGroups}. */
interface TestGroupsOptions {
  /**
   * The root folder of the checkout; the modules of the groups are written
   * below its `.tercet` folder.
   */
  readonly root: string;
}

/**
 * The most files in a group of `tests`, which start processes and wait for them.
 * A larger group could take so long that the run waits for it alone at the end.
 */
const MOST_WAITING_FILES = 8;
/** The most files in other groups. */
const MOST_FILES = 24;
/** The rooms with the longest files, whose groups are first. */
const LONGEST_ROOMS: readonly string[] = ["tests_console", "tests_relayer"];
/** The file names that `deno test` takes for tests. */
const TEST_FILE = /(?:^|[_.])test\.(?:[jt]sx?|m[jt]s)$/;
const NOT_SEARCHED = /^(?:\.|node_modules$|dist$)/;
/** Flags that never take the next argument as their value, and `--config`. */
const KNOWN_FLAG =
  /^--(?:[\w-]+=|(?:allow|deny)-|(?:no-[\w-]+|parallel|fail-fast|frozen|config)$)/;

/**
 * Calls `use` with arguments of `deno test` in which modules that each import
 * several test files take the place of those files, and removes the modules
 * afterwards. Tests are still reported with the lines where they are
 * written, and filters of tests work as before.
 *
 * @param args `test` and what follows it. `use` gets them unchanged when they
 * select fewer than two files, name a path that does not exist, or contain a
 * flag that is not known here, or when the checkout can't be written to.
 */
export async function withTestGroups<T>(
  args: readonly string[],
  { root }: TestGroupsOptions,
  use: (run: GroupedRun) => Promise<T>,
): Promise<T> {
  const [subcommand = "test", ...rest] = args;
  // The launcher gives the configuration as a flag and a path behind it.
  const isFlag = (arg: string, at: number): boolean =>
    arg.startsWith("-") || rest[at - 1] === "--config";
  const flags = rest.filter(isFlag);
  const named = rest.filter((arg, at) => !isFlag(arg, at));
  const files =
    flags.every((flag, at) =>
        KNOWN_FLAG.test(flag) || flags[at - 1] === "--config"
      )
      ? await testFiles(named.length === 0 ? ["."] : named)
      : [];
  const ungrouped: GroupedRun = { args, files: [] };
  if (files.length < 2) return await use(ungrouped);
  // A folder of its own for each run, as two may be under way at a time.
  const folder = join(root, ".tercet", `tests_${Deno.pid}`);
  try {
    await Deno.mkdir(folder, { recursive: true });
  } catch (error) {
    if (isNoWriting(error)) return await use(ungrouped);
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
    return await use({
      args: [subcommand, ...flags, ...modules],
      files,
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/**
 * Groups files of the same folder, counting at most two levels below `root`.
 * The groups of `tests` are first, because those tests start processes and take
 * longest; of these, the rooms in which single files take longest are first.
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
  const rank = (room: string): number => {
    const at = LONGEST_ROOMS.indexOf(room);
    return at === -1 ? LONGEST_ROOMS.length : at;
  };
  const inOrder = [...rooms].sort(([a], [b]) =>
    rank(a) - rank(b) || (a < b ? 1 : -1)
  );
  const groups = inOrder.flatMap(([room, inRoom]) => {
    const most = /^tests(?:_|$)/.test(room) ? MOST_WAITING_FILES : MOST_FILES;
    const count = Math.ceil(inRoom.length / most);
    const size = Math.ceil(inRoom.length / count);
    return Array.from({ length: count }, (_, index) => ({
      room: room || "root",
      files: inRoom.slice(index * size, (index + 1) * size),
    }));
  });
  // The number tells groups of a room apart, and shows the order in reports.
  return groups.map(({ room, files }, index) => ({
    name: `${String(index + 1).padStart(3, "0")}_${room}`,
    files,
  }));
}

/**
 * Returns the test files among some paths and in folders; an empty list when
 * one of the paths does not exist.
 */
async function testFiles(paths: readonly string[]): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const path of paths.map((path) => resolve(path))) {
    try {
      if ((await Deno.stat(path)).isFile) found.add(path);
      else for await (const file of filesIn(path)) found.add(file);
    } catch (error) {
      // `deno test` reports the missing path itself.
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
