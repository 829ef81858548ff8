/**
 * Tests the module paths of the SDK: each loads and works in every runtime, and
 * loads only what its users need.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { serviceTest } from "../support/services.ts";
import {
  bundle,
  dynamicImports,
  loadedTexts,
  staticImports,
} from "./bundle.ts";
import { openPage } from "./chromium.ts";
import { type ModulePath, WANTED } from "./module_uses.ts";
import { runProgram } from "./run_program.ts";
import { TempFolder } from "./temp_folder.ts";

const ROOT = new URL("../../", import.meta.url);
/**
 * Packages that applications have, which the SDK imports where they are
 * installed.
 */
const PEERS: readonly string[] = ["@mysten/sui/*"];
/**
 * The beginning of the modulus of BLS12-381, by which a bundle with pairings is
 * recognized; pairing code is large.
 */
const BLS = "1a0111ea397fe69a4b1ba7b6434bacd764774b";

/** What loading a module may load with it. */
interface Load {
  /** The most bytes, minified, that are loaded before anything is called. */
  readonly maxBytes: number;
  /** Packages that the module imports when they are needed. */
  readonly laterPackages?: readonly string[];
  /** Whether pairing code is loaded. */
  readonly hasPairings?: boolean;
}

/**
 * The limits are a third above the sizes when this was written, except that of
 * the base module.
 */
const LOADS: Readonly<Record<ModulePath, Load>> = {
  // Some kilobytes more than once: waiting calls wait out rate limits, every
  // call takes a signal, RateLimitClient tells which rules applied, a proxy's
  // answer is told from a relayer's, and access tokens are read. 4 KB are shared with the hashes
  // that are loaded where there is no WebCrypto.
  ".": { maxBytes: 73_500 },
  "./account": {
    maxBytes: 33_000,
    laterPackages: ["@mysten/sui/jsonRpc", "@mysten/sui/transactions"],
  },
  "./ai": { maxBytes: 80_000 },
  "./manual": { maxBytes: 210_000, hasPairings: true },
  "./ratelimit": { maxBytes: 5_400 },
  "./ratelimit/middleware": { maxBytes: 3_600 },
  // The worker, with its watch of the event loop, is nearly half of it.
  "./tasks": { maxBytes: 37_000 },
  // Larger, since it signs receipts synchronously, as a relayer does.
  "./testing": { maxBytes: 130_000 },
};

const FILES = await exportedFiles();

Deno.test("every module path has a program that uses it", () => {
  assertEquals(Object.keys(FILES).sort(), Object.keys(WANTED).sort());
});

for (const [path, load] of loads()) {
  Deno.test(`the module ${path} brings along only what its users need`, async () => {
    await using folder = await TempFolder.make();
    const file = FILES[path];
    await bundle(file, {
      into: folder.path,
      isMinified: true,
      isSplit: true,
      external: PEERS,
    });
    const entry = file.replace(/^.*\//, "").replace(/ts$/, "js");
    const texts = [...(await loadedTexts(folder.path, entry)).values()];
    const isPackage = (name: string) => !name.startsWith("./");
    assertEquals(texts.flatMap(staticImports).filter(isPackage), []);
    assertEquals(texts.flatMap(dynamicImports).filter(isPackage).sort(), [
      ...load.laterPackages ?? [],
    ]);
    const all = texts.join("\n");
    assertEquals(all.includes(BLS), load.hasPairings ?? false);
    assertEquals(all.match(/["'`]node:[^"'`]*["'`]/g), null);
    const { length } = new TextEncoder().encode(all);
    assert(length <= load.maxBytes, `${length} bytes`);
  });
}

/**
 * Flags with which Deno runs the program without permissions and without
 * packages.
 */
const DENO_FLAGS = ["run", "--no-config", "--no-prompt", "--no-npm"];

Deno.test("all modules work in Deno without permissions and the ledger's package", async () => {
  await useAllIn(Deno.execPath(), DENO_FLAGS);
});

serviceTest(["node"], {
  name: "all modules work in Node without the ledger's package",
  fn: () => useAllIn("node"),
});

serviceTest(["bun"], {
  name: "all modules work in Bun without the ledger's package",
  // Bun would install missing packages by itself.
  fn: () => useAllIn("bun", ["--no-install"]),
});

serviceTest(["chromium"], {
  name: "all modules work in a page of Chromium, without the ledger's package",
  fn: async () => {
    await using folder = await TempFolder.make();
    await bundleAll(folder.path);
    const report = await openPage({
      folder: folder.path,
      optionsAt: () => ({}),
    });
    assertEquals(report, WANTED);
  },
});

/** Uses all modules in a process of a runtime, and checks the results. */
async function useAllIn(
  command: string,
  flags: readonly string[] = [],
): Promise<void> {
  await using folder = await TempFolder.make();
  await bundleAll(folder.path);
  const report = await runProgram(command, { folder: folder.path, flags });
  assertEquals(report, WANTED);
}

/**
 * Bundles each module into a file, and writes a program that uses all of them.
 */
async function bundleAll(folder: string): Promise<void> {
  const uses = "tests/sdk/module_uses.ts";
  // The package "ai" is bundled, as in an application.
  await bundle([uses, ...Object.values(FILES)], {
    into: folder,
    external: ["@mysten/sui/*"],
  });
  const toModulePath = (file: string) => `./${file.replace(/ts$/, "js")}`;
  const lines = [`import { useModule } from "${toModulePath(uses)}";`];
  const calls: string[] = [];
  for (const [index, [path]] of loads().entries()) {
    lines.push(
      `import * as module${index} from "${toModulePath(FILES[path])}";`,
    );
    calls.push(`"${path}": await useModule("${path}", module${index}),`);
  }
  lines.push("export const run = async () => ({", ...calls, "});");
  await Deno.writeTextFile(`${folder}/program.mjs`, lines.join("\n"));
}

function loads(): readonly (readonly [ModulePath, Load])[] {
  return Object.entries(LOADS) as [ModulePath, Load][];
}

/** Returns the files of the module paths that the package exports. */
async function exportedFiles(): Promise<Readonly<Record<ModulePath, string>>> {
  const text = await Deno.readTextFile(new URL("deno.json", ROOT));
  const { exports } = JSON.parse(text);
  return Object.fromEntries(
    Object.entries<string>(exports).map(([path, file]) => [
      path,
      file.replace("./", ""),
    ]),
  ) as Record<ModulePath, string>;
}
