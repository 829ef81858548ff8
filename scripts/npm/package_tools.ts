/**
 * Runs the tools that the npm build needs: Deno installs the packages whose
 * types the compiler reads, and npm packs the tarball.
 *
 * @module
 */

import { runProgram } from "../run_program.ts";
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
  const flags = ["--node-modules-dir=auto", "--quiet", "--frozen=false"];
  await runProgram(Deno.execPath(), ["install", ...flags], { cwd: folder });
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
  // The folder is named as well, since npx sets variables that make npm use
  // another folder.
  const text = await runProgram("npm", [
    ...["pack", folder, "--json", "--ignore-scripts"],
    ...["--pack-destination", output],
  ], { cwd: folder });
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
