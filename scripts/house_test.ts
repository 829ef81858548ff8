import { assert, assertEquals } from "@std/assert";
import features from "./house/features.json" with { type: "json" };
import { sourceFiles } from "./source_files.ts";

/** The tables of features, by the first word of their head. */
const TABLES =
  /^\| `?(?:algorithm|BACKEND_TYPE|part|subject)`? .*\n.*\n((?:\|.*\n)+)/gm;

Deno.test("features.json has every row of the READMEs' tables of features, and no other", async () => {
  for (const [page, rows] of Object.entries(features)) {
    const text = await Deno.readTextFile(
      new URL(`../${page}`, import.meta.url),
    );
    const cells = [...text.matchAll(TABLES)].flatMap(([, table = ""]) =>
      table.trimEnd().split("\n").map((row) => row.split("|")[1] ?? "")
    );
    const names = cells.map((cell) =>
      cell.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(/[*`]/g, "")
        .trim()
    );
    assertEquals(
      Object.keys(rows),
      names,
      `${page}, scripts/house/features.json`,
    );
  }
});

Deno.test("features.json has patterns that match files", async () => {
  const files = await sourceFiles();
  for (const pattern of Object.values(features).flatMap(Object.values).flat()) {
    assert(files.some((file) => file.match(pattern)), pattern);
  }
});
