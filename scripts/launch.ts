/**
 * Runs a subcommand of Deno with the `@std` packages that are available: those
 * of JSR, or the stand-ins under `scripts/offline/`. Every task of deno.json
 * runs through it. `--permissions=<set>` among the arguments becomes the flags
 * of that set.
 *
 * ```sh
 * deno run -A --no-config scripts/launch.ts test --permissions=test --parallel
 * ```
 *
 * It imports local files only and runs without `deno.json`, since it must start
 * before it is known where a package is loaded from. It has all permissions
 * because it starts other processes, which amounts to the same.
 *
 * @module
 */

import { runDeno, withStd } from "./launch/deno_process.ts";
import {
  isNoWriting,
  isTrue,
  writeOfflineConfig,
} from "./launch/offline_config.ts";
import {
  askRegistry,
  DEFAULT_REGISTRY_URL,
} from "./launch/registry_question.ts";
import {
  chooseStd,
  DECIDED_VARIABLE,
  FORCE_VARIABLE,
  type StdSource,
} from "./launch/std_choice.ts";
import { isStdCached, STD_PACKAGES } from "./launch/std_packages.ts";
import { runDenoTest } from "./launch/test_run.ts";
import { expandPermissions } from "./permissions.ts";
import { exitWith, tell } from "./terminal.ts";

if (import.meta.main) await exitWith(launch);

async function launch(args: readonly string[]): Promise<number> {
  if (args.length === 0) {
    throw new RangeError(
      "Cannot launch: no subcommand of Deno given; see `deno task`",
    );
  }
  await refuseOlderDeno();
  const expanded = expandPermissions(args, {
    execPath: Deno.execPath(),
    isThere,
    // Only for a service without arguments: arguments after main.ts make it run
    // a command, which says itself where it writes.
    ...(args.at(-1)?.endsWith("/main.ts")
      ? { serving: (name) => Deno.env.get(name) }
      : {}),
  });
  const root = new URL("../", import.meta.url);
  const source = await decide(root);
  if (source === "offline") {
    await writeOfflineConfig({ root, frozen: isTrue(Deno.env.get("CI")) });
  }
  const env = {
    [DECIDED_VARIABLE]: source,
    ...testJobs(args),
    ...(args[0] === "test" ? { PATH: searchPath() } : {}),
  };
  const given = withStd(expanded, source);
  return args[0] === "test"
    ? await runDenoTest(given, { source, env })
    : await runDeno(given, { env });
}

/**
 * Sets how many test files run at a time: three times the number of cores, as
 * most of them wait for processes that they have started, or for a time to
 * pass. `DENO_JOBS` takes precedence where it is set.
 */
function testJobs(args: readonly string[]): Readonly<Record<string, string>> {
  const isParallel = args[0] === "test" && args.includes("--parallel");
  if (!isParallel || Deno.env.get("DENO_JOBS") !== undefined) return {};
  return { DENO_JOBS: String(3 * navigator.hardwareConcurrency) };
}

async function decide(root: URL): Promise<StdSource> {
  const choice = await chooseStd({
    forced: Deno.env.get(FORCE_VARIABLE),
    decided: Deno.env.get(DECIDED_VARIABLE),
    isCached: () => isStdCached(root),
    ask: () =>
      askRegistry({
        registryUrl: Deno.env.get("JSR_URL") || DEFAULT_REGISTRY_URL,
        packages: STD_PACKAGES,
      }),
  });
  if (choice.notice !== undefined) await tellOnce(choice.notice, root);
  return choice.source;
}

/**
 * Prints a notice, unless it is the one that an earlier task has already
 * printed.
 */
async function tellOnce(notice: string, root: URL): Promise<void> {
  const folder = new URL(".tercet/", root);
  const file = new URL("std_notice", folder);
  // The notice belongs to a cache: another DENO_DIR prints it again.
  const told = `${notice}\n${Deno.env.get("DENO_DIR") ?? ""}\n`;
  try {
    if (await Deno.readTextFile(file) === told) return;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  tell(notice);
  try {
    await Deno.mkdir(folder, { recursive: true });
    await Deno.writeTextFile(file, told);
  } catch (error) {
    // In a checkout that can't be written to, the notice is printed each time.
    if (!isNoWriting(error)) throw error;
  }
}

/** Returns whether a program is on the path. */
function isThere(program: string): boolean {
  return searchPath().split(":").some((folder) => {
    try {
      return folder !== "" && Deno.statSync(`${folder}/${program}`).isFile;
    } catch {
      // The file does not exist or can't be accessed; it can't be run in either
      // case.
      return false;
    }
  });
}

/**
 * The path, with the folders in which Debian keeps servers beside it: those of
 * PostgreSQL, newest version first, and that of PgBouncer.
 */
function searchPath(): string {
  const root = "/usr/lib/postgresql";
  const versions: number[] = [];
  try {
    for (const { name } of Deno.readDirSync(root)) versions.push(Number(name));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  versions.sort((a, b) => b - a);
  return [
    Deno.env.get("PATH") ?? "",
    ...versions.map((version) => `${root}/${version}/bin`),
    "/usr/sbin",
  ].join(":");
}

async function refuseOlderDeno(): Promise<void> {
  const file = new URL("../.deno-version", import.meta.url);
  const wanted = (await Deno.readTextFile(file)).trim();
  const [major = 0, minor = 0] = wanted.split(".").map(Number);
  const [ownMajor = 0, ownMinor = 0] = Deno.version.deno.split(".").map(Number);
  if (ownMajor > major || (ownMajor === major && ownMinor >= minor)) return;
  throw new Error(
    `Cannot run with Deno ${Deno.version.deno}: this project needs ${wanted} or ` +
      `later; run \`deno upgrade\`, or write \`npx -y deno@${wanted}\` for \`deno\``,
  );
}
