/**
 * Tries an executable of a service, which its file is named after, or `tercet`,
 * which holds all of them: `deno task smoke dist/ratelimit`.
 *
 * @module
 */

import { basename, resolve } from "node:path";
import {
  isServiceName,
  SERVICE_NAMES,
  type ServiceName,
} from "../permissions.ts";
import { keyServerSmoke } from "../smoke/keyserver_smoke.ts";
import { ratelimitSmoke } from "../smoke/ratelimit_smoke.ts";
import { relayerSmoke } from "../smoke/relayer_smoke.ts";
import { smoke, type SmokeService } from "../smoke/smoke.ts";
import { tasksSmoke } from "../smoke/tasks_smoke.ts";
import { messageOf, print, tell } from "../terminal.ts";

const SMOKES: Readonly<
  Record<
    ServiceName,
    (folder: string) => SmokeService | Promise<SmokeService>
  >
> = {
  ratelimit: ratelimitSmoke,
  tasks: tasksSmoke,
  relayer: relayerSmoke,
  keyserver: keyServerSmoke,
};

/** The executable that holds all services, each called by its name. */
const EVERYTHING = "tercet";
/** The one that serves nothing. */
const WORKER = "tercet-worker";

if (import.meta.main) Deno.exit(await main(Deno.args));

async function main(args: readonly string[]): Promise<number> {
  const [path, ...rest] = args;
  if (path === undefined || rest.length > 0 || path.startsWith("-")) {
    tell("Usage: deno task smoke <executable>");
    return 2;
  }
  const name = basename(path);
  if (name === WORKER) return await tryWorker(resolve(path));
  if (name !== EVERYTHING && !isServiceName(name)) {
    tell(
      `Cannot try "${path}": its name is none of ` +
        [...SERVICE_NAMES, EVERYTHING, WORKER].join(", "),
    );
    return 2;
  }
  const folder = await Deno.makeTempDir({ prefix: "tercet-smoke-" });
  try {
    const command = resolve(path);
    for (const service of name === EVERYTHING ? SERVICE_NAMES : [name]) {
      await smoke([await SMOKES[service](folder)], {
        command,
        args: name === EVERYTHING ? [service] : [],
      });
    }
    print(`Smoke test passed: ${path}`);
    return 0;
  } catch (error) {
    tell(`Smoke test failed: ${messageOf(error)}`);
    return 1;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Its work needs a service and is tried by the tests; here it has to come up. */
async function tryWorker(path: string): Promise<number> {
  const { code, stdout, stderr } = await new Deno.Command(path, {
    args: ["--version"],
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  const said = decoder.decode(stdout);
  if (code === 0 && said.startsWith(WORKER)) {
    print(`Smoke test passed: ${path}`);
    return 0;
  }
  tell(`Smoke test failed: ${said}${decoder.decode(stderr)}`);
  return 1;
}
