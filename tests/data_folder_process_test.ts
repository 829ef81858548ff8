/**
 * Tests the messages of services whose data folder can't be used, with the real
 * processes.
 *
 * @module
 */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { openDataFolder } from "../services/shared/data_folder.ts";
import { runKeyServer } from "./support/keyserver_process.ts";
import { runRelayer } from "./support/relayer_process.ts";
import type { ServiceRun } from "./support/service_process.ts";
import { runTasks } from "./support/tasks_process.ts";

const SERVICES = {
  tasks: (dataDir: string) => runTasks({ dataDir }),
  relayer: (dataDir: string) => runRelayer({ dataDir }),
  keyserver: (dataDir: string) =>
    runKeyServer({ dataDir, args: ["key", "new"] }),
} as const;

for (const [service, start] of Object.entries(SERVICES)) {
  Deno.test(`${service} names itself, the folder, the setting and what to do when it can't have its data folder`, async () => {
    const base = await Deno.makeTempDir();
    try {
      await Deno.writeTextFile(`${base}/file`, "");
      await Deno.mkdir(`${base}/closed`, { mode: 0o500 });
      const places: (readonly [string, string])[] = [
        [`${base}/file`, "there is a file of that name"],
        [`${base}/file/data`, "a part of its path is a file"],
        // A special file system, to which the runtime denies programs access.
        ["/proc/data", "without the permission to write there"],
      ];
      // Left out for the superuser, who may write to any folder.
      if (!await isWritable(`${base}/closed`)) {
        places.push(
          [`${base}/closed`, "this user may not write there"],
          [`${base}/closed/data`, "this user may not write there"],
        );
      }
      for (const [path, why] of places) {
        // A start writes the function's own message: the tasks service shows
        // that for all places, and the others for one.
        const isStarted = service === "tasks" || path.startsWith("/proc");
        const stderr = isStarted
          ? await readRefusal(start(path))
          : (await assertRejects(
            () => openDataFolder(path, { service }),
            Error,
          )).message;
        const told = stderr.split("\n").filter((line) => line.includes(path));
        assertEquals(told.length, 1, stderr);
        for (const part of [`"${path}" of ${service}: `, why, "set DATA_DIR"]) {
          assert(told[0]?.includes(part), `${part}: ${stderr}`);
        }
        assertEquals(stderr.includes("--allow"), false, stderr);
      }
    } finally {
      await Deno.remove(base, { recursive: true });
    }
  });
}

/** Returns what a start that fails writes. */
async function readRefusal(start: Promise<ServiceRun>): Promise<string> {
  const { code, stderr } = await start;
  assertEquals(code, 1, stderr);
  return stderr;
}

async function isWritable(folder: string): Promise<boolean> {
  try {
    await Deno.writeTextFile(`${folder}/try`, "");
    await Deno.remove(`${folder}/try`);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.PermissionDenied) return false;
    throw error;
  }
}
