/**
 * Tests that services/shared only contains code which at least two services
 * use; code of one service belongs to that service.
 *
 * @module
 */

import { assertEquals } from "@std/assert";
import { importedFiles } from "./circle_rule.ts";
import { isTestCode } from "./project_file.ts";

const SHARED = "services/shared/";

/**
 * Folders that count as one unit, as a library does: a service that uses one of
 * its files uses the folder.
 */
const LIBRARIES: readonly string[] = [
  `${SHARED}schema/`,
  `${SHARED}ledger/`,
  `${SHARED}watch/`,
];

/** Files and folders that may have a single user, each with its reason. */
const EXEMPT: readonly string[] = [
  // Telemetry will use the client side of both.
  `${SHARED}h2/`,
  `${SHARED}grpc/`,
  // The kit of all consoles; that of tasks is the first.
  `${SHARED}console/`,
  // The command line uses it.
  `${SHARED}mcp/stdio.ts`,
  // Two folders of one service use it that may not import each other.
  `${SHARED}ip_network.ts`,
];

Deno.test("services/shared holds what two services use", async () => {
  const imports = await importsByFile(new URL("../../", import.meta.url));
  const users = new Map<string, Set<string>>();
  for (const service of ["ratelimit", "tasks", "relayer", "keyserver"]) {
    for (const file of reachedBy(`services/${service}/`, imports)) {
      const unit = LIBRARIES.find((folder) => file.startsWith(folder)) ?? file;
      const of = users.get(unit) ?? new Set();
      users.set(unit, of.add(service));
    }
  }
  const alone = [...imports.keys()].filter((file) =>
    file.startsWith(SHARED) && !isTestCode(file) &&
    !EXEMPT.some((exempt) => file.startsWith(exempt)) &&
    (users.get(LIBRARIES.find((one) => file.startsWith(one)) ?? file)?.size ??
        0) < 2
  );
  assertEquals(alone, []);
});

/** Returns every file of services/ with the files that it imports. */
async function importsByFile(
  root: URL,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const imports = new Map<string, readonly string[]>();
  const folders = ["services/"];
  for (const folder of folders) {
    for await (const entry of Deno.readDir(new URL(folder, root))) {
      const path = folder + entry.name;
      if (entry.isDirectory) folders.push(`${path}/`);
      if (!/\.tsx?$/.test(path)) continue;
      const source = await Deno.readTextFile(new URL(path, root));
      imports.set(path, importedFiles(path, source));
    }
  }
  return imports;
}

/**
 * Returns the files of services/shared that the production code of a folder
 * imports, directly or not.
 */
function reachedBy(
  folder: string,
  imports: ReadonlyMap<string, readonly string[]>,
): ReadonlySet<string> {
  const reached = new Set<string>();
  const open = [...imports.keys()].filter((file) =>
    file.startsWith(folder) && !isTestCode(file)
  );
  for (const file of open) {
    for (const imported of imports.get(file) ?? []) {
      if (!imported.startsWith(SHARED) || reached.has(imported)) continue;
      reached.add(imported);
      open.push(imported);
    }
  }
  return reached;
}
