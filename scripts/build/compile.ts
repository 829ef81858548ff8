/**
 * Builds the executable of a service in one of two ways: with `deno compile`,
 * or as a file that unpacks itself.
 *
 * @module
 */

import { basename, dirname, relative } from "node:path";
import { decidedSource, runDeno, withStd } from "../launch/deno_process.ts";
import { permissionFlags, type PermissionSet } from "../permissions.ts";
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
        ...flagsOf(options.service),
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
  options: BuildOptions,
): Promise<BuildOutcome> {
  const { threads } = options;
  return await withStampedEntry(
    options,
    (stamped) =>
      withThreadEntries(
        threads,
        { beside: stamped },
        (entries) =>
          packEntries(new Map([[PROGRAM, stamped], ...entries]), options),
      ),
  );
}

/**
 * Bundles programs together, split into parts that they share, so that a part
 * is loaded only when a program imports it.
 *
 * @param programs Paths of modules in one folder, by the names of the programs.
 */
async function packEntries(
  programs: ReadonlyMap<string, string>,
  { output, service }: BuildOptions,
): Promise<BuildOutcome> {
  const folder = await Deno.makeTempDir({ prefix: "tercet-build-" });
  try {
    const args = ["bundle", "--quiet", "--code-splitting", "--outdir", folder];
    const source = decidedSource();
    if (await runDeno(withStd([...args, ...programs.values()], source)) !== 0) {
      return {
        kind: "failed",
        advice: `Cannot build "${output}": deno bundle failed`,
      };
    }
    for (const [name, entry] of programs) {
      const made = basename(entry).replace(/\.ts$/, ".js");
      await Deno.rename(`${folder}/${made}`, `${folder}/${name}`);
    }
    const file = await createSelfExtracting({
      name: service,
      runtime: await Deno.readFile(Deno.execPath()),
      programs: await partsIn(folder),
      flags: flagsOf(service),
    });
    await replaceFile(output, file);
    return { kind: "built" };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Reads the parts of a bundle from a folder, sorted by name. */
async function partsIn(
  folder: string,
): Promise<readonly { readonly name: string; readonly content: Uint8Array }[]> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(folder)) names.push(name);
  return await Promise.all(
    names.sort().map(async (name) => {
      const text = await Deno.readTextFile(`${folder}/${name}`);
      return { name, content: new TextEncoder().encode(late(text)) };
    }),
  );
}

/**
 * The code with which the bundler creates `require`; it loads all of Node's
 * modules at once.
 */
const EARLY_REQUIRE =
  `import { createRequire as __deno_internal_createRequire } from "node:module";
var __require = __deno_internal_createRequire(import.meta.url);
`;
const LATE_REQUIRE = `var __require = (name) => {
  const { createRequire } = globalThis.process.getBuiltinModule("node:module");
  __require = createRequire(import.meta.url);
  return __require(name);
};
`;

/**
 * Modules of Node from which only functions are imported, and which not every
 * start needs; each takes 10 to 40 ms to load.
 */
const LATE_MODULES = [
  ...["crypto", "dgram", "dns/promises", "http", "https", "net", "process"],
  ...["tls", "zlib"],
];
const LATE_IMPORT = new RegExp(
  `^import \\{([^}]*)\\} from "(node:(?:${LATE_MODULES.join("|")}))";$`,
  "gm",
);

/**
 * Rewrites a part of a bundle so that it loads slow modules only when they are
 * first called: Node's `require`, and the modules of Node whose functions it
 * imports.
 */
export function late(text: string): string {
  return text
    .replace(EARLY_REQUIRE, () => LATE_REQUIRE)
    .replace(
      LATE_IMPORT,
      (_, names: string, module: string) =>
        names.split(",").map((name) => lateFunction(name, module)).join("\n"),
    );
}

/**
 * Code that takes the place of the import `name as local`: the function loads
 * the real one at its first call and replaces itself by it.
 */
function lateFunction(imported: string, module: string): string {
  const [name, local = name] = imported.trim().split(" as ");
  return `var ${local} = function (...args) {
  ${local} = globalThis.process.getBuiltinModule("${module}").${name};
  return new.target ? new ${local}(...args) : ${local}(...args);
};`;
}

/**
 * Makes temporary entry modules that import the programs of threads, in the
 * folder of `beside`, while `use` runs. The bundler keeps the relative folders
 * of what it bundles, and a program looks for the programs of its threads in
 * its own folder, by the names of their sources.
 */
async function withThreadEntries<T>(
  threads: readonly string[],
  { beside }: { readonly beside: string },
  use: (entries: ReadonlyMap<string, string>) => Promise<T>,
): Promise<T> {
  const folder = dirname(beside);
  const entries = new Map<string, string>();
  try {
    for (const thread of threads) {
      const name = basename(thread);
      const entry = `${folder}/${basename(name, ".ts")}_${Deno.pid}.ts`;
      const text = `import "./${relative(folder, thread)}";\n`;
      await Deno.writeTextFile(entry, text);
      entries.set(name, entry);
    }
    return await use(entries);
  } finally {
    for (const entry of entries.values()) await Deno.remove(entry);
  }
}

/**
 * Makes a temporary entry module, in the folder of the source's entry, that
 * knows the commit it is built from, while `use` runs.
 */
async function withStampedEntry<T>(
  { entry, commit }: Pick<BuildOptions, "entry" | "commit">,
  use: (stamped: string) => Promise<T>,
): Promise<T> {
  const folder = dirname(entry);
  const stamped = `${folder}/built_${Deno.pid}.ts`;
  const known = commit?.slice(0, SHOWN_DIGITS) || await commitHere();
  await Deno.writeTextFile(stamped, stampedEntry(entry, known));
  try {
    return await use(stamped);
  } finally {
    await Deno.remove(stamped);
  }
}

/** The text of the temporary entry module that knows its commit. */
export function stampedEntry(entry: string, commit: string): string {
  return `import { processIo } from "../shared/command_line.ts";
import { run } from "./${basename(entry)}";

const build = { commit: ${JSON.stringify(commit)} };
Deno.exit(await run(Deno.args, { ...processIo(), build }));
`;
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

function flagsOf(service: PermissionSet): readonly string[] {
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
