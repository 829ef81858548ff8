/**
 * Tests that the page of dependencies names every package, and that those which
 * only tests and scripts use are not among the imports of `deno.json`.
 *
 * @module
 */

import { assertEquals } from "@std/assert";

const ROOT = new URL("../../", import.meta.url);
const SPECIFIER = /(?:\bfrom |^import |\bimport\(\s*)"([^".][^"]*)"/gm;
const PACKAGE = /^(?:npm:)?(@[^/]+\/[^/@]+|[^/@:]+)(?:@([^/]+))?/;
const FOR_TESTS = /_test\.ts$|\/testing\/|^(?:tests|scripts)\//;

interface Packages {
  /** The imports of `deno.json`. */
  readonly imports: readonly string[];
  /** Those that files import which are neither tests nor scripts. */
  readonly used: ReadonlySet<string>;
  /** The packages that files name where they use them, with their ranges. */
  readonly named: ReadonlyMap<string, ReadonlySet<string>>;
}

async function readPackages(): Promise<Packages> {
  const used = new Set<string>();
  const named = new Map<string, Set<string>>();
  const folders = ["proto/", "scripts/", "sdk/", "services/", "tests/"];
  // The loop also reaches the folders that are added in it.
  for (const folder of folders) {
    for await (const entry of Deno.readDir(new URL(folder, ROOT))) {
      const path = folder + entry.name;
      if (entry.isDirectory) folders.push(`${path}/`);
      if (!/\.tsx?$/.test(path)) continue;
      const text = await Deno.readTextFile(new URL(path, ROOT));
      for (const [, specifier = ""] of text.matchAll(SPECIFIER)) {
        const [, name = "", range = ""] = PACKAGE.exec(specifier) ?? [];
        if (specifier.startsWith("npm:")) {
          named.set(name, (named.get(name) ?? new Set()).add(range));
        } else if (!FOR_TESTS.test(path)) used.add(name);
      }
    }
  }
  const config = await Deno.readTextFile(new URL("deno.json", ROOT));
  return { imports: Object.keys(JSON.parse(config).imports), used, named };
}

Deno.test("deno.json imports what programs and the package use, and @std/assert for all tests", async () => {
  const { imports, used } = await readPackages();
  assertEquals(imports.filter((name) => !used.has(name)), ["@std/assert"]);
});

Deno.test("packages that files name themselves have one range everywhere", async () => {
  const { imports, named } = await readPackages();
  assertEquals([...named].filter(([, ranges]) => ranges.size > 1), []);
  assertEquals(imports.filter((name) => named.has(name)), []);
});

Deno.test("docs/reference/dependencies.md names every package", async () => {
  const { imports, named } = await readPackages();
  const url = new URL("docs/reference/dependencies.md", ROOT);
  const page = await Deno.readTextFile(url);
  // Packages of one scope that share a row have it once.
  const missing = [...imports, ...named.keys()].filter((name) =>
    ![name, name.replace(/^@[^/]*\//, "")].some((one) =>
      page.includes(`\`${one}\``)
    )
  );
  assertEquals(missing, []);
});
