/**
 * The two ways to make one executable of a service.
 *
 * @module
 */

import { basename, dirname, relative } from "node:path";
import { decidedSource, runDeno, withStd } from "../launch/deno_process.ts";
import { permissionFlags, type PermissionSet } from "../permissions.ts";
import { createSelfExtracting, PROGRAM } from "./self_extracting.ts";
import { executableName, type Target } from "./targets.ts";

/** What to build, and where to. */
export interface BuildOptions {
  /** The service, or `tercet`. */
  readonly service: PermissionSet;
  /** The module to start with. */
  readonly entry: string;
  /** The programs of the service's threads, which stand in its own folders. */
  readonly threads: readonly string[];
  /** The path of the executable. */
  readonly output: string;
  /**
   * The commit that it tells.
   *
   * @default that of the checkout
   */
  readonly commit?: string | undefined;
  /**
   * The machine that it is for.
   *
   * @default one like this
   */
  readonly target?: Target | undefined;
}

/** What became of a build. */
export type BuildOutcome =
  | { readonly kind: "built" }
  /** `advice` says what to do next. */
  | { readonly kind: "failed"; readonly advice: string };

/** Digits of a commit's hash that an executable tells. */
const SHOWN_DIGITS = 8;

/** Builds with `deno compile`, which needs Deno's runtime archive. */
export async function compileService(
  options: BuildOptions,
): Promise<BuildOutcome> {
  const { output, threads, target } = options;
  // The compiler writes over its own executables only, not over a packed one; and
  // it ends the names of those for Windows as Windows wants them.
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
 * Says what to do after `deno compile` has failed.
 *
 * @param fault What it wrote to stderr.
 * @param output The path of the executable.
 */
export function adviseAfter(fault: string, output: string): string {
  return /denort|base binary/i.test(fault)
    ? `Cannot build "${output}": Deno's runtime archive could not be had; ` +
      "name a denort of this version in DENORT_BIN, or add --fallback"
    : `Cannot build "${output}": deno compile failed`;
}

/**
 * Builds without the runtime archive: this very Deno and the bundled programs, in
 * a file that unpacks itself.
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
 * Bundles programs in parts that they share, of which those that nothing asks for
 * are never loaded.
 *
 * @param programs Modules in one folder, by the names of the programs.
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

/** The parts of a bundle, by name. */
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

/** What the bundler begins its `require` with: it loads all modules of Node. */
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
 * Modules of Node of which functions alone are used, and not by every start: each
 * takes 10 to 40 ms to load.
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
 * A part of a bundle that loads what takes long when it is called: Node's `require`,
 * and the modules of Node whose functions it imports.
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

/** Stands for `name as local` until its first call, which puts the function in its place. */
function lateFunction(imported: string, module: string): string {
  const [name, local = name] = imported.trim().split(" as ");
  return `var ${local} = function (...args) {
  ${local} = globalThis.process.getBuiltinModule("${module}").${name};
  return new.target ? new ${local}(...args) : ${local}(...args);
};`;
}

/**
 * Lends modules that run the programs of threads, in the folder of `beside`: the
 * bundler keeps the folders of what it bundles, and a program looks for those of
 * its threads beside itself, by the names of their sources.
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
 * Lends an entry beside that of the source, which knows the commit that it is
 * built from.
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

/** The text of that entry. */
export function stampedEntry(entry: string, commit: string): string {
  return `import { processIo } from "../shared/command_line.ts";
import { run } from "./${basename(entry)}";

const build = { commit: ${JSON.stringify(commit)} };
Deno.exit(await run(Deno.args, { ...processIo(), build }));
`;
}

/** The commit of the checkout, with `+` where files differ from it. */
async function commitHere(): Promise<string> {
  const git = async (...args: string[]): Promise<string | undefined> => {
    try {
      const { success, stdout } = await new Deno.Command("git", { args })
        .output();
      return success ? new TextDecoder().decode(stdout).trim() : undefined;
    } catch (error) {
      // An archive of the source has no commit, and its machine maybe no git.
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

/** An executable that runs cannot be written to, but it can be replaced. */
async function replaceFile(path: string, content: Uint8Array): Promise<void> {
  const part = `${path}.${Deno.pid}`;
  await Deno.writeFile(part, content, { mode: 0o755 });
  await Deno.rename(part, path);
}

/** Returns what a failed run wrote to stderr, which is shown as it comes. */
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
