import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  type CompileOutcome,
  compileSdk,
  importedPackages,
} from "./compile_sdk.ts";

const FILES: Readonly<Record<string, string>> = {
  "mod.ts": `
import { blake } from "blake";
import type { Shape } from "./parts/shape.ts";
/** Makes one; the text "./parts/shape.ts" stays. */
export const make = (): Shape => ({ name: blake("./parts/shape.ts") });
export const later = (): Promise<typeof import("./parts/shape.ts")> =>
  import("./parts/shape.ts");
`,
  "parts/shape.ts": `
/** A shape. */
export interface Shape { readonly name: string }
/** Something to close. */
export class Closed implements AsyncDisposable {
  /** Closes it. */
  async [Symbol.asyncDispose](): Promise<void> {}
}
`,
  "parts/other.ts": "export const other: number = 'no number';",
  "packages/node_modules/blake/index.d.ts":
    "export declare function blake(text: string): string;",
  "packages/node_modules/blake/package.json": `{ "types": "index.d.ts" }`,
};

Deno.test("compileSdk() gives JavaScript and declarations of what the entries reach", async () => {
  const outcome = await compile("mod.ts");
  assert(outcome.kind === "compiled", JSON.stringify(outcome));
  const { files } = outcome;
  assertEquals([...files.keys()].sort(), [
    ...["mod.d.ts", "mod.js", "parts/shape.d.ts", "parts/shape.js"],
  ]);
  const script = files.get("mod.js") ?? "";
  assertStringIncludes(script, 'import("./parts/shape.js")');
  assertStringIncludes(script, 'blake("./parts/shape.ts")');
  assertEquals(importedPackages(files.values()), ["blake"]);
});

Deno.test("compileSdk() names modules in declarations as they are named in JavaScript", async () => {
  const outcome = await compile("mod.ts");
  assert(outcome.kind === "compiled");
  const declarations = outcome.files.get("mod.d.ts") ?? "";
  assertStringIncludes(declarations, 'from "./parts/shape.js"');
  assertStringIncludes(declarations, 'import("./parts/shape.js")');
  assertStringIncludes(declarations, 'the text "./parts/shape.ts" stays');
});

Deno.test("compileSdk() names the library of what is closed, where it is", async () => {
  const outcome = await compile("mod.ts");
  assert(outcome.kind === "compiled");
  const named = [...outcome.files].filter(([, text]) =>
    text.startsWith('/// <reference lib="esnext.disposable" />\n')
  );
  assertEquals(named.map(([path]) => path), ["parts/shape.d.ts"]);
});

Deno.test("compileSdk() tells faults with their places, and gives no files", async () => {
  const outcome = await compile("parts/other.ts");
  assert(outcome.kind === "failed");
  assertStringIncludes(outcome.faults, "parts/other.ts(1,14)");
  assertStringIncludes(outcome.faults, "TS2322");
});

Deno.test("importedPackages() takes packages from paths, and leaves files out", () => {
  assertEquals(
    importedPackages([
      'import { a } from "@b/c/d.js"; export * from "./e.js";',
      'const f = () => import("g/h"); type I = import("@b/c").I;',
    ]),
    ["@b/c", "g"],
  );
});

async function compile(entry: string): Promise<CompileOutcome> {
  const folder = await Deno.makeTempDir({ prefix: "tercet-npm-test-" });
  try {
    for (const [path, text] of Object.entries(FILES)) {
      const file = `${folder}/${path}`;
      await Deno.mkdir(file.replace(/\/[^/]*$/, ""), { recursive: true });
      await Deno.writeTextFile(file, text);
    }
    return compileSdk({
      root: `${folder}/`,
      entries: [entry],
      packages: `${folder}/packages`,
      compilerOptions: { strict: true, jsx: "precompile" },
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
