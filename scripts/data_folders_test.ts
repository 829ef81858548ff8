import { assert, assertEquals } from "@std/assert";
import { keyServerSettings } from "../services/keyserver/settings.ts";
import { relayerSettings } from "../services/relayer/settings.ts";
import { tasksSettings } from "../services/tasks/settings.ts";
import { KEY_SERVERS } from "./dev/key_servers.ts";
import { TASKS } from "./dev/tasks.ts";

/** The lines of `.gitignore` that hold a pattern, in their order. */
async function ignored(): Promise<readonly string[]> {
  const text = await Deno.readTextFile(
    new URL("../.gitignore", import.meta.url),
  );
  return text.split("\n").filter((line) =>
    line !== "" && !line.startsWith("#")
  );
}

Deno.test(".gitignore names each service's default data folder when it is started without settings", async () => {
  const lines = await ignored();
  for (
    const { dataDir } of [tasksSettings, relayerSettings, keyServerSettings]
  ) {
    const folder = dataDir.defaultText ?? "";
    assert(/^[a-z]+-data$/.test(folder), `unexpected folder "${folder}"`);
    assert(lines.includes(`${folder}/`), `"${folder}/" is not ignored`);
  }
  assertEquals(lines.filter((line) => line.startsWith("!")), []);
});

Deno.test(".gitignore names the folder of all data when services run in development", async () => {
  assert((await ignored()).includes("/.tercet/"));
  for (const service of [TASKS, ...KEY_SERVERS]) {
    const env = await service.environment(() => undefined);
    assert(env.DATA_DIR?.startsWith(".tercet/"), `"${env.DATA_DIR}"`);
  }
});
