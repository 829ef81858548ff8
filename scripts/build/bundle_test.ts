import { assert, assertEquals } from "@std/assert";
import { programText } from "./bundle.ts";

const ROOT = decodeURIComponent(new URL("../../", import.meta.url).pathname);

Deno.test("programText() runs the program with the commit that it is built from", () => {
  const entry = `${ROOT}services/tasks/main.ts`;
  const beside = programText(entry, {
    folder: `${ROOT}services/tasks`,
    commit: "ee3df210+",
  });
  assertEquals(beside.split("\n"), [
    'import { processIo } from "../shared/command_line.ts";',
    'import { run } from "./main.ts";',
    "",
    'Deno.exit(await run(Deno.args, { ...processIo(), build: { commit: "ee3df210+" } }));',
    "",
  ]);
  const elsewhere = programText(entry, {
    folder: `${ROOT}.tercet/x`,
    commit: undefined,
  });
  assert(elsewhere.includes('"../../services/tasks/main.ts"'));
  assert(elsewhere.endsWith("{ ...processIo() }));\n"));
});
