import { assertEquals } from "@std/assert";
import { measureHouse } from "./room_figures.ts";
import { readFacts } from "./source_facts.ts";

Deno.test("readFacts() tells imports, exports, lines of code and omitted members", () => {
  const facts = readFacts(
    "services/a/b.ts",
    `/** A comment. */
import { one, two as second } from "./c.ts";
import type * as all from "../d.ts";
export { three } from "./e.ts";

/** Told. */
export const four = 4, five = 5;
export interface Six {}
function hidden(x?: number) {
  // A comment.
  return { ...(x === undefined ? {} : { x }), ...(x ? { y: 1 } : {}) };
}
const lazy = () => import("./f.ts");
type Far = import("./g.ts").Seven;
`,
  );
  assertEquals(facts.exports, ["four", "five", "Six"]);
  assertEquals(facts.imports, [
    { path: "services/a/c.ts", name: "one" },
    { path: "services/a/c.ts", name: "two" },
    { path: "services/d.ts", name: "*" },
    { path: "services/a/e.ts", name: "three" },
    { path: "services/a/f.ts", name: "*" },
    { path: "services/a/g.ts", name: "Seven" },
  ]);
  assertEquals(facts.lines, 14);
  assertEquals(facts.codeLines, 10);
  assertEquals(facts.optionalSpreads, 2);
});

Deno.test("measureHouse() leaves tests out and lets entries export", () => {
  const house = measureHouse([
    readFacts(
      "mod.ts",
      `export { a } from "./sdk/a.ts";\nexport const m = 1;\n`,
    ),
    readFacts("sdk/a.ts", `export const a = 1;\nexport const b = 2;\n`),
    readFacts("sdk/a_test.ts", `import { b } from "./a.ts";\n`),
    readFacts("sdk/testing/c.ts", `export const c = 1;\n`),
    readFacts("scripts/d.ts", `import { b } from "../sdk/a.ts";\n`),
  ], { rooms: ["sdk/", ""], entries: ["mod.ts"] });
  assertEquals(house.unused, [{ path: "sdk/a.ts", name: "b" }]);
  assertEquals(house.single, [{ path: "sdk/a.ts", importer: "mod.ts" }]);
  assertEquals(
    house.rooms.map(({ room, files, lines, oneImporter, unusedExports }) => [
      room,
      files,
      lines,
      oneImporter,
      unusedExports,
    ]),
    [["sdk", 1, 2, 1, 1], ["", 2, 4, 1, 1]],
  );
});
