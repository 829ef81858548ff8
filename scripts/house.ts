/**
 * Prints how large the rooms of the project are, and how many lines are behind
 * each feature in a table of a README, tests apart. `--list` adds the files with one
 * importer and the exports that no other file uses; `--run` prints the files
 * that run for requests instead.
 *
 * @module
 */

import { parseArgs } from "node:util";
import features from "./house/features.json" with { type: "json" };
import { filesOfRequests } from "./house/request_files.ts";
import { importedFiles } from "./lint/circle_rule.ts";
import { packageEntries, sourceFiles } from "./source_files.ts";
import { exitWith, print } from "./terminal.ts";

const SERVICES = ["tasks", "relayer", "localnet", "ratelimit", "keyserver"];
const ROOMS = [...SERVICES, "cli", "shared"]
  .map((folder) => `services/${folder}/`)
  .concat("sdk/", "proto/", "scripts/", "");

const EXPORT =
  /^export (?:abstract |async )?(?:class|const|function\*?|interface|type) (\w+)/gm;

if (import.meta.main) await exitWith(main);

async function main(args: readonly string[]): Promise<number> {
  const { values: { list = false, run } } = parseArgs({
    // A task passes on the `--` before its arguments.
    args: args.filter((arg) => arg !== "--"),
    options: { list: { type: "boolean" }, run: { type: "boolean" } },
  });
  if (run !== true) {
    await printHouse(list);
    return 0;
  }
  for (const [request, files] of await filesOfRequests()) {
    print([`${request}: ${files.length} files`, ...files].join("\n  "));
  }
  return 0;
}

async function printHouse(isListed: boolean): Promise<void> {
  const paths = await sourceFiles();
  const sources = await Promise.all(paths.map(async (path) => {
    const url = new URL(`../${path}`, import.meta.url);
    const text = await Deno.readTextFile(url);
    const lines = text.split("\n").length - 1;
    return { path, text, lines, imports: importedFiles(path, text) };
  }));
  const countLines = (patterns: readonly string[]): number =>
    sources.filter(({ path }) => patterns.some((one) => path.match(one)))
      .reduce((sum, { lines }) => sum + lines, 0);
  const entries = await packageEntries();
  const single: string[] = [];
  const unused: string[] = [];
  for (const { path, text } of sources) {
    const importers = sources.filter(({ imports }) => imports.includes(path));
    if (importers.length === 1) {
      single.push(`${path}  <- ${importers[0]?.path}`);
    }
    if (entries.includes(path)) continue;
    for (const [, name] of text.matchAll(EXPORT)) {
      const use = new RegExp(`\\b${name}\\b|^export \\*`, "m");
      const isUsed = importers.some(({ text }) => use.test(text));
      if (!isUsed) unused.push(`${path}  ${name}`);
    }
  }
  const count = (list: readonly string[], room: string): number =>
    list.filter((one) => one.startsWith(room)).length;
  printRow("without tests", "files", "lines", "one importer", "unused exports");
  for (const room of ROOMS) {
    printRow(
      ...[room || "all", count(paths, room), countLines([`^${room}`])],
      ...[count(single, room), count(unused, room)],
    );
  }
  for (const [page, rows] of Object.entries(features)) {
    print(`\nlines behind the features in ${page}`);
    for (const [row, patterns] of Object.entries(rows)) {
      print(`${String(countLines(patterns)).padStart(8)}  ${row}`);
    }
  }
  if (!isListed) return;
  print(["\nfiles with one importer:", ...single].join("\n  "));
  print(["\nexports that no other file uses:", ...unused].join("\n  "));
}

function printRow(name: string, ...cells: readonly (string | number)[]): void {
  const shown = cells.map((cell) => String(cell).padStart(16)).join("");
  print(name.padEnd(20) + shown);
}
