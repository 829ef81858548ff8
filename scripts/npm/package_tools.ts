/**
 * Runs the tools that the npm build needs: Deno installs the packages whose
 * types the compiler reads, and npm packs the tarball.
 *
 * @module
 */

import { npmRange, type ProjectConfig } from "./manifest.ts";

/** Options of {@linkcode installPackages}. */
export interface InstallOptions {
  /** The folder in which `node_modules` is created. */
  readonly folder: string;
  /** The project's configuration. */
  readonly config: ProjectConfig;
  /** The path of the lock file, which pins the versions. */
  readonly lock: string;
  /** The names of the packages. */
  readonly names: readonly string[];
}

/** Creates a `node_modules` with packages of the project, from Deno's cache. */
export async function installPackages(
  { folder, config, lock, names }: InstallOptions,
): Promise<void> {
  const dependencies = Object.fromEntries(
    names.map((name) => [name, npmRange(config, name)]),
  );
  await Deno.writeTextFile(
    `${folder}/package.json`,
    JSON.stringify({ private: true, dependencies }),
  );
  await Deno.copyFile(lock, `${folder}/deno.lock`);
  await runIn(folder, {
    command: Deno.execPath(),
    args: ["install", "--node-modules-dir=auto", "--quiet", "--frozen=false"],
  });
}

/** A packed npm tarball. */
export interface Tarball {
  /** The file name of the tarball. */
  readonly name: string;
  /** The size of the tarball, in bytes. */
  readonly bytes: number;
  /** The total size of the files in it, in bytes. */
  readonly unpackedBytes: number;
  /** Number of files in it. */
  readonly files: number;
}

/**
 * Packs a folder that has a `package.json`; the same files give the same bytes.
 */
export async function packFolder({ folder, output }: {
  readonly folder: string;
  readonly output: string;
}): Promise<Tarball> {
  const text = await runIn(folder, {
    command: "npm",
    // The folder is named as well, since npx sets variables that make npm use
    // another folder.
    args: [
      ...["pack", folder, "--json", "--ignore-scripts"],
      ...["--pack-destination", output],
    ],
  });
  const [packed] = Object.values(JSON.parse(text)) as readonly {
    readonly filename: string;
    readonly size: number;
    readonly unpackedSize: number;
    readonly entryCount: number;
  }[];
  if (packed === undefined) {
    throw new Error(`Cannot pack "${folder}": npm pack names no tarball`);
  }
  return {
    name: packed.filename,
    bytes: packed.size,
    unpackedBytes: packed.unpackedSize,
    files: packed.entryCount,
  };
}

/** Runs a program in a folder and returns what it writes to stdout. */
async function runIn(folder: string, { command, args }: {
  readonly command: string;
  readonly args: readonly string[];
}): Promise<string> {
  const what = `${command} ${args[0]}`;
  const { success, code, stdout, stderr } = await output().catch((cause) => {
    throw new Error(`Cannot run "${what}": install Node, which has npm`, {
      cause,
    });
  });
  if (success) return new TextDecoder().decode(stdout);
  const said = new TextDecoder().decode(stderr).trim();
  throw new Error(`Cannot run "${what}": it ended with ${code}: ${said}`);

  async function output(): Promise<Deno.CommandOutput> {
    return await new Deno.Command(command, {
      args: [...args],
      cwd: folder,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).output();
  }
}
