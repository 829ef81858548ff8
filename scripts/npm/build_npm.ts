/**
 * Builds the npm packages, that of the SDK and that of the server for agents:
 * `deno task build:npm`.
 *
 * @module
 */

import { dirname } from "node:path";
import { parseArgs } from "node:util";
import { exitWith, print, tell } from "../terminal.ts";
import { compileSdk, importedPackages } from "./compile_sdk.ts";
import { packageManifest, PEERS, type ProjectConfig } from "./manifest.ts";
import { bundleMcp, mcpFiles } from "./mcp_package.ts";
import { installPackages, packFolder } from "./package_tools.ts";

const HELP = `Makes the npm packages, a tarball of each: @tercet/sdk, and
@tercet/mcp, the server for agents.

Usage: deno task build:npm [--only sdk|mcp] [--out <folder>]

Needs npm, which comes with Node.

Options:
  --only <name>   Make one of the packages [default: both]
  --out <folder>  Where the tarballs go [default: dist]
  --help          Show this text`;

const ROOT = decodeURIComponent(new URL("../../", import.meta.url).pathname);

if (import.meta.main) await exitWith(main);

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    // A task passes on the `--` that separates npm's own arguments.
    args: args.filter((arg) => arg !== "--"),
    options: {
      help: { type: "boolean", short: "h" },
      only: { type: "string" },
      out: { type: "string" },
    },
  });
  if (values.help) {
    print(HELP);
    return 0;
  }
  const { only, out: output = "dist" } = values;
  if (only !== undefined && only !== "sdk" && only !== "mcp") {
    throw new RangeError(
      `Cannot build "${only}": the packages are sdk and mcp`,
    );
  }
  await Deno.mkdir(output, { recursive: true });
  const config: BuildConfig = JSON.parse(
    await Deno.readTextFile(`${ROOT}deno.json`),
  );
  const builds = { sdk: buildSdk, mcp: buildMcp };
  for (const name of ["sdk", "mcp"] as const) {
    if (only !== undefined && only !== name) continue;
    const stage = await Deno.makeTempDir({ prefix: "tercet-npm-" });
    try {
      const files = await builds[name](stage, config);
      if (files === undefined) return 1;
      await pack(files, { stage, output });
    } finally {
      await Deno.remove(stage, { recursive: true });
    }
  }
  return 0;
}

/** The project's configuration. */
type BuildConfig = ProjectConfig & { readonly compilerOptions: unknown };

/** The files of a package by their paths. */
type Files = ReadonlyMap<string, string>;

/** Compiles the modules of the SDK. */
async function buildSdk(
  stage: string,
  config: BuildConfig,
): Promise<Files | undefined> {
  const entries = Object.values(config.exports).map((path) =>
    path.replace(/^\.\//, "")
  );
  await installPackages({
    folder: stage,
    config,
    lock: `${ROOT}deno.lock`,
    names: ["@noble/ciphers", "@noble/curves", "@noble/hashes", ...PEERS],
  });
  const outcome = compileSdk({
    ...{ root: ROOT, entries, packages: stage },
    compilerOptions: config.compilerOptions,
  });
  if (outcome.kind === "failed") {
    tell(outcome.faults.trimEnd());
    tell("Cannot build the npm package: the compiler finds the faults above");
    return undefined;
  }
  const { files } = outcome;
  return new Map([
    ...files,
    [
      "package.json",
      packageManifest(config, importedPackages(files.values())),
    ],
    ["README.md", await readPage("package_readme.md")],
    ["CHANGELOG.md", await Deno.readTextFile(`${ROOT}CHANGELOG.md`)],
  ]);
}

/** Bundles the server for agents. */
async function buildMcp(
  _stage: string,
  config: BuildConfig,
): Promise<Files | undefined> {
  const program = await bundleMcp(ROOT);
  if (program === undefined) {
    tell("Cannot build the npm package: the bundler finds the faults above");
    return undefined;
  }
  return new Map([
    ...mcpFiles(config, program),
    ["README.md", await readPage("mcp_readme.md")],
  ]);
}

/** Writes the folder of a package and packs it. */
async function pack(
  files: Files,
  { stage, output }: { readonly stage: string; readonly output: string },
): Promise<void> {
  const folder = `${stage}/package`;
  const texts = new Map(files);
  texts.set("LICENSE", await Deno.readTextFile(`${ROOT}LICENSE`));
  for (const [path, text] of texts) {
    const file = `${folder}/${path}`;
    await Deno.mkdir(dirname(file), { recursive: true });
    // npm makes the program of a package executable.
    await Deno.writeTextFile(file, text, { mode: 0o644 });
  }
  const packed = await packFolder({
    folder,
    output: await Deno.realPath(output),
  });
  print(
    `Built ${output}/${packed.name}: ${packed.files} files, ` +
      `${packed.bytes} bytes, ${packed.unpackedBytes} unpacked`,
  );
}

async function readPage(name: string): Promise<string> {
  return withoutMarks(await Deno.readTextFile(`${ROOT}scripts/npm/${name}`));
}

/** Returns a page without the comments that say how it is tested. */
function withoutMarks(page: string): string {
  return page.replaceAll(/^<!--.*?-->\n\n/gms, "");
}
