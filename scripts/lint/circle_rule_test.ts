import { assertEquals } from "@std/assert";
import {
  circleRule,
  circleSearch,
  importedFiles,
  type ImportsOf,
  readImports,
} from "./circle_rule.ts";

/** Returns the imports that a table of files names, and counts the calls. */
function importsIn(
  table: Readonly<Record<string, readonly string[]>>,
): { readonly listImports: ImportsOf; readonly asked: string[] } {
  const asked: string[] = [];
  const listImports = (path: string): readonly string[] => {
    asked.push(path);
    return table[path] ?? [];
  };
  return { listImports, asked };
}

/** Returns the messages of the rule for a file over such a table. */
function messages(
  source: string,
  table: Readonly<Record<string, readonly string[]>>,
): readonly string[] {
  const { listImports } = importsIn(table);
  const rules = { circles: { create: circleRule(listImports) } };
  const root = decodeURIComponent(new URL("../../", import.meta.url).pathname);
  return Deno.lint.runPlugin({ name: "own", rules }, `${root}a/a.ts`, source)
    .map(({ message }) => message);
}

Deno.test("circleSearch() names the files on a shortest way back when there is a circle", () => {
  const { listImports } = importsIn({
    "b.ts": ["c.ts", "d.ts"],
    "c.ts": ["e.ts"],
    "d.ts": ["b.ts", "e.ts"],
    "e.ts": ["f.ts", "a.ts"],
    "f.ts": ["a.ts"],
  });
  const search = circleSearch("a.ts", listImports);
  assertEquals(search("b.ts"), ["c.ts", "e.ts"]);
  assertEquals(search("d.ts"), ["e.ts"]);
  assertEquals(search("e.ts"), []);
  assertEquals(search("a.ts"), []);
});

Deno.test("circleSearch() finds nothing when the circle does not hold the file", () => {
  const { listImports } = importsIn({ "b.ts": ["c.ts"], "c.ts": ["b.ts"] });
  assertEquals(circleSearch("a.ts", listImports)("b.ts"), undefined);
});

Deno.test("circleSearch() follows a file once when several imports lead to it", () => {
  const { listImports, asked } = importsIn({
    "b.ts": ["d.ts"],
    "c.ts": ["d.ts"],
    "d.ts": ["e.ts"],
  });
  const search = circleSearch("a.ts", listImports);
  assertEquals([search("b.ts"), search("c.ts")], [undefined, undefined]);
  assertEquals(asked, ["b.ts", "d.ts", "e.ts", "c.ts"]);
});

Deno.test("importedFiles() takes imports and exports of all forms when they name a file", () => {
  const imports = [
    `import "./a.ts";`,
    `import { b } from "../b.ts";`,
    `import type { c } from "./c.ts";`,
    `import {\n  type D,\n  d,\n} from "./d.ts";`,
    `import e from "./e.lua" with { type: "text" };`,
    `export * from "./f.ts";`,
    `export { default as g } from "./g.ts";`,
    `  const { h } = await import("./h.ts");`,
    `  const i = await import(\n    "./i.ts"\n  );`,
    `import { assertEquals } from "@std/assert";`,
    ` * import { k } from "./in_a_comment.ts";`,
    `const url = new URL("./l.ts", import.meta.url);`,
    `export const m = "./m.ts";`,
  ];
  assertEquals(importedFiles("x/y.ts", imports.join("\n")), [
    ...["x/a.ts", "b.ts", "x/c.ts", "x/d.ts", "x/e.lua", "x/f.ts"],
    ...["x/g.ts", "x/h.ts", "x/i.ts"],
  ]);
});

Deno.test("readImports() reads nothing when a file is no code or does not exist", () => {
  assertEquals(readImports("deno.json"), []);
  assertEquals(readImports("scripts/lint/no_such_file.ts"), []);
  assertEquals(readImports("scripts/lint/imports.ts"), [
    "scripts/lint/project_file.ts",
    "scripts/lint/rule_context.ts",
  ]);
});

Deno.test("circleRule() reports imports of all forms when they close a circle", () => {
  const table = { "a/b.ts": ["c.ts"], "c.ts": ["d.ts"], "d.ts": ["a/a.ts"] };
  for (
    const [source, way] of [
      [`import { b } from "./b.ts";`, " by way of c.ts, d.ts"],
      [`import type { b } from "./b.ts";`, " by way of c.ts, d.ts"],
      [`export * from "../c.ts";`, " by way of d.ts"],
      [`export { d } from "../d.ts";`, ""],
      [`await import("../d.ts");`, ""],
    ] as const
  ) {
    const specifier = source.split('"')[1];
    assertEquals(messages(source, table), [
      `Cannot import "${specifier}" here: it imports this file again${way}`,
    ]);
  }
});

Deno.test("circleRule() reports nothing when an import leads elsewhere or is a package", () => {
  const table = { "a/b.ts": ["c.ts"], "c.ts": ["a/b.ts", "d.ts"] };
  assertEquals(messages(`import "./b.ts";\nimport "node:fs";`, table), []);
});
