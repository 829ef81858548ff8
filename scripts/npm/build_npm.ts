/**
 * Builds the npm package of the SDK: `deno task build:npm`.
 *
 * @module
 */

import { dirname } from "node:path";
import { parseArgs } from "node:util";
import { exitWith, print, tell } from "../terminal.ts";
import { compileSdk, importedPackages } from "./compile_sdk.ts";
import { packageManifest, PEERS, type ProjectConfig } from "./manifest.ts";
import { installPackages, packFolder } from "./package_tools.ts";

const HELP = `Makes the npm package of the SDK, one tarball.

Usage: deno task build:npm [--out <folder>]

Needs npm, which comes with Node.

Options:
  --out <folder>  Where the tarball goes [default: dist]
  --help          Show this text`;

const ROOT = decodeURIComponent(new URL("../../", import.meta.url).pathname);
const README = "scripts/npm/package_readme.md";
/** Files of the project that are copied into the package unchanged. */
const COPIED: readonly string[] = ["CHANGELOG.md", "LICENSE"];

if (import.meta.main) await exitWith(main);

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    // A task passes on the `--` that separates npm's own arguments.
    args: args.filter((arg) => arg !== "--"),
    options: {
      help: { type: "boolean", short: "h" },
      out: { type: "string" },
    },
  });
  if (values.help) {
    print(HELP);
    return 0;
  }
  const output = values.out ?? "dist";
  await Deno.mkdir(output, { recursive: true });
  const stage = await Deno.makeTempDir({ prefix: "tercet-npm-" });
  try {
    return await build(stage, output);
  } finally {
    await Deno.remove(stage, { recursive: true });
  }
}

/** Compiles the modules, writes the folder of the package and packs it. */
async function build(stage: string, output: string): Promise<number> {
  const config: ProjectConfig & { readonly compilerOptions: unknown } = JSON
    .parse(await Deno.readTextFile(`${ROOT}deno.json`));
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
    return 1;
  }
  const { files } = outcome;
  const folder = `${stage}/package`;
  const texts = new Map([
    ...files,
    [
      "package.json",
      packageManifest(config, importedPackages(files.values())),
    ],
    ["README.md", withoutMarks(await Deno.readTextFile(ROOT + README))],
  ]);
  for (const name of COPIED) {
    texts.set(name, await Deno.readTextFile(ROOT + name));
  }
  for (const [path, text] of texts) {
    const file = `${folder}/${path}`;
    await Deno.mkdir(dirname(file), { recursive: true });
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
  return 0;
}

/** Returns a page without the comments that say how it is tested. */
function withoutMarks(page: string): string {
  return page.replaceAll(/^<!--.*?-->\n\n/gms, "");
}
