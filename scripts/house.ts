/**
 * Prints how large the project's folders are and into how many files they are
 * divided, and which files run for a request. Results go to stdout, progress to
 * stderr; exits with 2 when the arguments are wrong.
 *
 * @module
 */

import { parseFlags } from "../services/shared/command_line.ts";
import { flagsHelp } from "../services/shared/option_help.ts";
import { switchOption } from "../services/shared/options.ts";
import { filesOfRequests, type RequestFiles } from "./house/request_files.ts";
import { type House, measureHouse } from "./house/room_figures.ts";
import { readFacts, type SourceFacts } from "./house/source_facts.ts";
import { packageEntries } from "./package_entries.ts";
import { messageOf, print, tell } from "./terminal.ts";

const FLAGS = {
  json: switchOption({ help: "Print JSON." }),
  list: switchOption({
    help: "List the files with one importer and the exports that none uses.",
  }),
  run: switchOption({
    help: "Start the services and print the files that run for requests.",
  }),
} as const;

const ROOMS: readonly string[] = [
  "services/tasks/",
  "services/relayer/",
  "services/localnet/",
  "services/ratelimit/",
  "services/keyserver/",
  "services/shared/",
  "sdk/",
  "proto/",
  "",
];
const FOLDERS: readonly string[] = [
  "proto",
  "scripts",
  "sdk",
  "services",
  "tests",
];

if (import.meta.main) {
  try {
    Deno.exit(await main(Deno.args));
  } catch (error) {
    tell(messageOf(error));
    Deno.exit(1);
  }
}

async function main(args: readonly string[]): Promise<number> {
  const outcome = parseFlags(FLAGS, args, { maxPositionals: 0 });
  if (outcome.kind === "help") {
    print(
      flagsHelp(FLAGS, {
        usage: "deno task house [flags]",
        about: "Tells how large the rooms of the project are, tests apart.",
      }).trimEnd(),
    );
    return 0;
  }
  if (outcome.kind === "invalid") {
    tell(outcome.problem);
    return 2;
  }
  const { json, list, run } = outcome.values;
  if (run) {
    const requests = await filesOfRequests();
    print(json ? JSON.stringify(requests, null, 2) : requestLines(requests));
    return 0;
  }
  const house = measureHouse(await readProject(), {
    rooms: ROOMS,
    entries: await packageEntries(),
  });
  print(json ? JSON.stringify(house, null, 2) : roomLines(house));
  if (list && !json) print(listLines(house));
  return 0;
}

async function readProject(): Promise<readonly SourceFacts[]> {
  const root = new URL("../", import.meta.url);
  const paths = ["mod.ts"];
  for (const folder of FOLDERS) paths.push(...await findSources(root, folder));
  return await Promise.all(
    paths.map(async (path) =>
      readFacts(path, await Deno.readTextFile(new URL(path, root)))
    ),
  );
}

async function findSources(root: URL, folder: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const entry of Deno.readDir(new URL(`${folder}/`, root))) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory) paths.push(...await findSources(root, path));
    else if (path.endsWith(".ts")) paths.push(path);
  }
  return paths.sort();
}

function roomLines({ rooms }: House): string {
  const rows = rooms.map((room) => [
    room.room === "" ? "all" : room.room,
    String(room.files),
    String(room.lines),
    String(room.codeLines),
    `${room.oneImporter} (${percent(room.oneImporter, room.files)})`,
    String(room.unusedExports),
    String(room.optionalSpreads),
  ]);
  return table([
    [
      "without tests",
      "files",
      "lines",
      "code",
      "one importer",
      "unused exports",
      "optional spreads",
    ],
    ...rows,
  ]);
}

function listLines({ single, unused }: House): string {
  return [
    "",
    "files with one importer:",
    ...single.map(({ path, importer }) => `  ${path}  <- ${importer}`),
    "",
    "exports that no other file uses, tests apart:",
    ...unused.map(({ path, name }) => `  ${path}  ${name}`),
  ].join("\n");
}

function requestLines(requests: readonly RequestFiles[]): string {
  return requests.map(({ request, files }) =>
    [`${request}: ${files.length} files`, ...files.map((file) => `  ${file}`)]
      .join("\n")
  ).join("\n\n");
}

function table(rows: readonly (readonly string[])[]): string {
  const [head = []] = rows;
  const widths = head.map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0))
  );
  return rows.map((row) =>
    row.map((cell, column) =>
      column === 0
        ? cell.padEnd(widths[column] ?? 0)
        : cell.padStart(widths[column] ?? 0)
    ).join("  ")
  ).join("\n");
}

function percent(part: number, whole: number): string {
  return `${whole === 0 ? 0 : Math.round(100 * part / whole)} %`;
}
