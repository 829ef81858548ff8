import { assertEquals } from "@std/assert";
import { PROJECT } from "./pages.ts";

/** Pages with tables in which each row names the tests that verify it. */
const PAGES = [
  "docs/explanation/promises.md",
  "docs/explanation/security.md",
] as const;

/**
 * Files that contain no tests themselves; other tests run the cases that they
 * export.
 */
const SHARED_CASES = /\/conformance\/|_conformance\.ts$/;

for (const page of PAGES) {
  Deno.test(`every row of ${page} names tests or longer runs that are there`, async () => {
    const text = await Deno.readTextFile(PROJECT + page);
    const rows = text.split("\n").filter((line) => line.startsWith("| "))
      .map((line) => line.split("|").map((cell) => cell.trim()))
      .filter(([, first = ""]) => !/^(-+|promise|attacker)$/.test(first));
    const faults: string[] = [];
    for (const [, first, ...cells] of rows) {
      const where = cells.at(-2) ?? "";
      const files = listFiles(where);
      const tasks = listTasks(where);
      if (files.length + tasks.length === 0) faults.push(`${first}: no test`);
      for (const file of files) {
        if (!await holdsTests(file)) faults.push(`${file}: no tests`);
      }
      for (const task of tasks) {
        const fault = await findFault(task);
        if (fault !== undefined) faults.push(`${task}: ${fault}`);
      }
    }
    assertEquals(faults, []);
    assertEquals(rows.length > 15, true, `${rows.length} rows`);
  });
}

/** Returns the files that a table cell links to. */
function listFiles(cell: string): readonly string[] {
  return Array.from(
    cell.matchAll(/\]\(\.\.\/\.\.\/([^)#]+)\)/g),
    ([, file = ""]) => file,
  );
}

/** Returns the tasks that a table cell names, with their arguments. */
function listTasks(cell: string): readonly string[] {
  return Array.from(
    cell.matchAll(/`deno task ([^`]+)`/g),
    ([, task = ""]) => task,
  );
}

async function holdsTests(file: string): Promise<boolean> {
  const text = await Deno.readTextFile(PROJECT + file);
  return SHARED_CASES.test(file) ||
    /\b(?:Deno\.test|serviceTest|onStores)\(/.test(text);
}

/**
 * Returns what is wrong with a task or its flags, such as a flag that its
 * script doesn't know; `undefined` when it is correct.
 */
async function findFault(task: string): Promise<string | undefined> {
  const { tasks } = JSON.parse(await Deno.readTextFile(`${PROJECT}deno.json`));
  const [name = "", ...flags] = task.split(" ");
  if (!Object.hasOwn(tasks, name)) return "there is no such task";
  const script = String(tasks[name].command).split(" ").at(-1);
  const text = await Deno.readTextFile(`${PROJECT}${script}`);
  const words = flags.flatMap((flag) => flag.replace(/^--/, "").split("="));
  const unknown = words.find((word) => !text.includes(word));
  return unknown === undefined ? undefined : `it knows no "${unknown}"`;
}
