/**
 * Builds the executable of a service in one of two ways: with `deno compile`,
 * or as a file that unpacks itself.
 *
 * @module
 */

import { dirname, resolve } from "node:path";
import { decidedSource, withStd } from "../launch/deno_process.ts";
import {
  permissionFlags,
  type PermissionSet,
  SERVICE_NAMES,
} from "../permissions.ts";
import { bundlePrograms, programText } from "./bundle.ts";
import { createSelfExtracting, PROGRAM } from "./self_extracting.ts";
import { executableName, type Target } from "./targets.ts";

/** What to build, and where to write it. */
export interface BuildOptions {
  /** The service, or `tercet`, whose permissions the executable gets. */
  readonly service: PermissionSet;
  /** The path of the module to start with. */
  readonly entry: string;
  /** The paths of the programs that the service's threads run. */
  readonly threads: readonly string[];
  /** The path of the executable. */
  readonly output: string;
  /**
   * The commit that the executable reports as its version.
   *
   * @default that of the checkout
   */
  readonly commit?: string | undefined;
  /**
   * The machine that the executable is for.
   *
   * @default one like this
   */
  readonly target?: Target | undefined;
}

/** The outcome of a build. */
export type BuildOutcome =
  | { readonly kind: "built" }
  /** `advice` says what to do next. */
  | { readonly kind: "failed"; readonly advice: string };

/** Number of digits of the commit's hash that an executable reports. */
const SHOWN_DIGITS = 8;

/** Builds with `deno compile`, which needs Deno's runtime archive. */
export async function compileService(
  options: BuildOptions,
): Promise<BuildOutcome> {
  const { output, threads, target } = options;
  // The executable is built under a new name and then moved: the compiler
  // overwrites only executables of its own, not a self-extracting one. On
  // Windows the name needs its ending from the start.
  const fresh = executableName(`${output}.new`, target);
  const fault = await withStampedEntry(
    options,
    (stamped) =>
      runAndWatch(withStd([
        "compile",
        ...listFlags(options.service),
        ...(target === undefined ? [] : [`--target=${target}`]),
        ...threads.map((thread) => `--include=${thread}`),
        `--output=${fresh}`,
        stamped,
      ], decidedSource())),
  );
  if (fault !== undefined) {
    return { kind: "failed", advice: adviseAfter(fault, output) };
  }
  await Deno.rename(fresh, output);
  return { kind: "built" };
}

/**
 * Returns what the user can do after `deno compile` has failed.
 *
 * @param fault What the compiler wrote to stderr.
 * @param output The path of the executable.
 */
export function adviseAfter(fault: string, output: string): string {
  return /denort|base binary/i.test(fault)
    ? `Cannot build "${output}": Deno's runtime archive could not be had; ` +
      "name a denort of this version in DENORT_BIN, or add --fallback"
    : `Cannot build "${output}": deno compile failed`;
}

/**
 * Builds without Deno's runtime archive: the Deno that runs this and the
 * bundled programs become one file that unpacks itself.
 */
export async function packService(
  { service, entry, threads, output, commit }: BuildOptions,
): Promise<BuildOutcome> {
  const programs = await bundlePrograms({
    programs: [{ name: PROGRAM, entry, commit: await shownCommit(commit) }],
    threads,
    source: decidedSource(),
  });
  if (programs === undefined) {
    return {
      kind: "failed",
      advice: `Cannot build "${output}": deno bundle failed`,
    };
  }
  const file = await createSelfExtracting({
    name: service,
    runtime: await Deno.readFile(Deno.execPath()),
    programs,
    flags: listFlags(service),
    links: service === "tercet" ? SERVICE_NAMES : [],
  });
  await replaceFile(output, file);
  return { kind: "built" };
}

/**
 * Makes a temporary entry module, in the folder of the source's entry, that
 * knows the commit it is built from, while `use` runs.
 */
async function withStampedEntry<T>(
  { entry, commit }: Pick<BuildOptions, "entry" | "commit">,
  use: (stamped: string) => Promise<T>,
): Promise<T> {
  const folder = resolve(dirname(entry));
  const stamped = `${folder}/built_${Deno.pid}.ts`;
  const text = programText(resolve(entry), {
    folder,
    commit: await shownCommit(commit),
  });
  await Deno.writeTextFile(stamped, text);
  try {
    return await use(stamped);
  } finally {
    await Deno.remove(stamped);
  }
}

async function shownCommit(commit: string | undefined): Promise<string> {
  return commit?.slice(0, SHOWN_DIGITS) || await commitHere();
}

/** Returns the commit of the checkout, with `+` when files differ from it. */
async function commitHere(): Promise<string> {
  const git = async (...args: string[]): Promise<string | undefined> => {
    try {
      const { success, stdout } = await new Deno.Command("git", { args })
        .output();
      return success ? new TextDecoder().decode(stdout).trim() : undefined;
    } catch (error) {
      // Git may not be installed; an archive of the source has no commit
      // anyway.
      if (error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  };
  const commit = await git("rev-parse", `--short=${SHOWN_DIGITS}`, "HEAD");
  if (commit === undefined) return "unknown";
  const changes = await git("status", "--porcelain", "--untracked-files=no");
  return changes === "" ? commit : `${commit}+`;
}

function listFlags(service: PermissionSet): readonly string[] {
  return permissionFlags(service, { execPath: Deno.execPath() });
}

/**
 * Replaces a file by renaming a new one: a running executable cannot be written
 * to, but it can be replaced.
 */
async function replaceFile(path: string, content: Uint8Array): Promise<void> {
  const part = `${path}.${Deno.pid}`;
  await Deno.writeFile(part, content, { mode: 0o755 });
  await Deno.rename(part, path);
}

/**
 * Runs Deno and shows its stderr as it comes; returns that text when the run
 * failed.
 */
async function runAndWatch(
  args: readonly string[],
): Promise<string | undefined> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [...args],
    stdin: "null",
    stdout: "inherit",
    stderr: "piped",
  }).spawn();
  const [shown, read] = child.stderr.tee();
  const [text, status] = await Promise.all([
    new Response(read).text(),
    child.status,
    shown.pipeTo(Deno.stderr.writable, { preventClose: true }),
  ]);
  return status.success ? undefined : text;
}
