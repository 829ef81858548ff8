/**
 * Bundles the programs of services together with those of their threads, split
 * into parts, so that a part is loaded only when a program imports it.
 *
 * @module
 */

import { relative } from "node:path";
import { runDeno, withStd } from "../launch/deno_process.ts";
import type { StdSource } from "../launch/std_choice.ts";
import { SERVICE_NAMES, type ServiceName } from "../permissions.ts";

/**
 * The programs that a service's threads run; a build does not find them by
 * itself, since no import names them.
 */
export const THREADS: Readonly<Record<ServiceName, readonly string[]>> = {
  ratelimit: [
    "services/ratelimit/rules/load_thread_program.ts",
    "services/ratelimit/threads/serving_thread.ts",
    "services/shared/watch/watch_thread_program.ts",
  ],
  tasks: [
    "services/shared/watch/watch_thread_program.ts",
    "services/tasks/store/sqlite/writer_thread.ts",
  ],
  relayer: ["services/relayer/vault/key_thread_program.ts"],
  keyserver: [],
};

/** A program to bundle. */
export interface BundledProgram {
  /** The file name of the program in the bundle. */
  readonly name: string;
  /** The path of the module that exports `run()`, from the root folder. */
  readonly entry: string;
  /**
   * The commit that the program reports as its version.
   *
   * @default none, as when it runs from source
   */
  readonly commit?: string | undefined;
}

/** What to bundle. */
export interface BundleOptions {
  /** The programs. */
  readonly programs: readonly BundledProgram[];
  /** The paths of the programs that their threads run. */
  readonly threads: readonly string[];
  /** Where the `@std` packages come from. */
  readonly source: StdSource;
}

/** A file of a bundle. */
export interface BundlePart {
  /** The file name. */
  readonly name: string;
  /** The bytes. */
  readonly content: Uint8Array;
}

const ROOT = decodeURIComponent(new URL("../../", import.meta.url).pathname);

/**
 * Returns the files of a bundle, sorted by name, which all belong into one
 * folder; `undefined` when the bundler fails, which prints why.
 */
export async function bundlePrograms(
  { programs, threads, source }: BundleOptions,
): Promise<readonly BundlePart[] | undefined> {
  await Deno.mkdir(`${ROOT}.tercet`, { recursive: true });
  const folder = await Deno.makeTempDir({
    dir: `${ROOT}.tercet`,
    prefix: "bundle_",
  });
  try {
    // The bundler keeps the relative folders of what it bundles, and a program
    // looks for the programs of its threads in its own folder, by the names of
    // their sources. So all get an entry in one folder.
    const names = new Map<string, string>();
    const entries: string[] = [];
    const add = async (name: string, text: string) => {
      const module = name.replace(/\.[jt]s$/, "");
      entries.push(`${folder}/${module}.ts`);
      names.set(`${module}.js`, name);
      await Deno.writeTextFile(`${folder}/${module}.ts`, text);
    };
    for (const { name, entry, commit } of programs) {
      await add(name, programText(`${ROOT}${entry}`, { folder, commit }));
    }
    // Services share threads.
    for (const thread of new Set(threads)) {
      const text = `import "${specifier(folder, `${ROOT}${thread}`)}";\n`;
      await add(thread.replace(/^.*\//, ""), text);
    }
    const output = `${folder}/parts`;
    const args = ["bundle", "--quiet", "--code-splitting", "--outdir", output];
    const code = await runDeno(withStd([...args, ...entries], source));
    return code === 0 ? await readParts(output, names) : undefined;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/**
 * Writes a bundle of all services into an empty folder: `<service>.js` for each.
 *
 * @returns Whether that worked; the bundler has printed why not.
 */
export async function bundleServices(
  folder: string,
  source: StdSource,
): Promise<boolean> {
  const parts = await bundlePrograms({
    programs: SERVICE_NAMES.map((name) => ({
      name: `${name}.js`,
      entry: `services/${name}/main.ts`,
    })),
    threads: Object.values(THREADS).flat(),
    source,
  });
  if (parts === undefined) return false;
  for (const { name, content } of parts) {
    await Deno.writeFile(`${folder}/${name}`, content);
  }
  return true;
}

/**
 * Returns the text of a module that runs a program and knows the commit it is
 * built from.
 *
 * @param entry The absolute path of the module that exports `run()`.
 */
export function programText(
  entry: string,
  { folder, commit }: {
    /** The absolute path of the folder that the module will be in. */
    readonly folder: string;
    readonly commit: string | undefined;
  },
): string {
  const io = specifier(folder, `${ROOT}services/shared/command_line.ts`);
  const build = commit === undefined
    ? ""
    : `, build: { commit: ${JSON.stringify(commit)} }`;
  return `import { processIo } from "${io}";
import { run } from "${specifier(folder, entry)}";

Deno.exit(await run(Deno.args, { ...processIo()${build} }));
`;
}

function specifier(folder: string, path: string): string {
  const found = relative(folder, path);
  return found.startsWith(".") ? found : `./${found}`;
}

async function readParts(
  folder: string,
  names: ReadonlyMap<string, string>,
): Promise<readonly BundlePart[]> {
  const files: string[] = [];
  for await (const { name } of Deno.readDir(folder)) files.push(name);
  return await Promise.all(
    files.sort().map(async (file) => ({
      name: names.get(file) ?? file,
      content: await Deno.readFile(`${folder}/${file}`),
    })),
  );
}
