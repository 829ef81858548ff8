/**
 * Writes the stand-ins in the layout of a registry: a folder that Deno uses in
 * place of JSR when `JSR_URL` names it.
 *
 * ```sh
 * deno run --allow-read --allow-write scripts/offline/registry.ts <folder>
 * ```
 *
 * @module
 */

import { tell } from "../terminal.ts";

/** Options of {@linkcode writeRegistry}. */
export interface RegistryOptions {
  /** The folder that holds the packages, with a slash at its end. */
  readonly packages: URL;
  /** The folder to write to, with a slash at its end; created when missing. */
  readonly folder: URL;
}

/** The `deno.json` of a stand-in. */
interface PackageConfig {
  readonly name: string;
  readonly version: string;
  readonly exports: string | Readonly<Record<string, string>>;
}

/** The entry of a file in JSR's manifest: its size in bytes, and its hash. */
interface ManifestEntry {
  readonly size: number;
  readonly checksum: string;
}

/**
 * Writes every package below `packages` in the layout of JSR's registry API:
 * `@std/x/meta.json` lists the versions, `@std/x/<version>_meta.json` the files
 * and exports of one, `@std/x/<version>/` holds the files.
 *
 * @returns The names of the packages.
 */
export async function writeRegistry(
  options: RegistryOptions,
): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const entry of Deno.readDir(options.packages)) {
    if (!entry.isDirectory) continue;
    const source = new URL(`${entry.name}/`, options.packages);
    names.push(await writePackage(source, options.folder));
  }
  return names.sort();
}

async function writePackage(source: URL, folder: URL): Promise<string> {
  const { name, version, exports }: PackageConfig = JSON.parse(
    await Deno.readTextFile(new URL("deno.json", source)),
  );
  const home = new URL(`${name}/`, folder);
  const files = new URL(`${version}/`, home);
  await Deno.mkdir(files, { recursive: true });
  const manifest: Record<string, ManifestEntry> = {};
  for await (const entry of Deno.readDir(source)) {
    if (!entry.isFile) continue;
    const content = await readForRegistry(new URL(entry.name, source));
    await Deno.writeFile(new URL(entry.name, files), content);
    manifest[`/${entry.name}`] = {
      size: content.byteLength,
      checksum: `sha256-${await sha256(content)}`,
    };
  }
  const [scope, shortName] = name.split("/");
  await writeJson(new URL("meta.json", home), {
    scope: scope?.slice(1),
    name: shortName,
    latest: version,
    versions: { [version]: {} },
  });
  await writeJson(new URL(`${version}_meta.json`, home), {
    manifest,
    exports: typeof exports === "string" ? { ".": exports } : exports,
  });
  return name;
}

/**
 * Reads a file; modules get a comment that turns type checks off. Deno
 * type-checks a module with a `file:` URL as if it belonged to the project; but
 * in a package it checks generated stubs, whose parameters are unused. Modules
 * from the real registry are never checked, and so these need not be.
 */
async function readForRegistry(path: URL): Promise<Uint8Array<ArrayBuffer>> {
  const content = await Deno.readFile(path);
  if (!path.pathname.endsWith(".ts")) return content;
  const text = new TextDecoder().decode(content);
  return new TextEncoder().encode(`// @ts-nocheck\n${text}`);
}

async function sha256(content: Uint8Array<ArrayBuffer>): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", content)).toHex();
}

async function writeJson(path: URL, value: unknown): Promise<void> {
  await Deno.writeTextFile(path, JSON.stringify(value, null, 2) + "\n");
}

async function main(args: readonly string[]): Promise<number> {
  const [folder] = args;
  if (folder === undefined || args.length > 1) {
    tell("Usage: deno run --allow-read --allow-write registry.ts <folder>");
    return 2;
  }
  const names = await writeRegistry({
    packages: new URL("./", import.meta.url),
    folder: new URL(`${folder}/`, `file://${Deno.cwd()}/`),
  });
  tell(`Wrote ${names.join(", ")}`);
  return 0;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
