/**
 * Tries `deno task dev` with the Deno that runs this:
 * `npx -y deno@2.9.6 run -A --no-config scripts/ci/dev_smoke.ts`. Deno is asked
 * itself and not through npx, because npx does not pass SIGTERM on.
 *
 * @module
 */

import { devKeyServersSmoke } from "../smoke/keyserver_smoke.ts";
import { ratelimitSmoke } from "../smoke/ratelimit_smoke.ts";
import { relayerSmoke } from "../smoke/relayer_smoke.ts";
import { smoke } from "../smoke/smoke.ts";
import { tasksSmoke } from "../smoke/tasks_smoke.ts";
import { messageOf, print, tell } from "../terminal.ts";

/** The first start may have to download everything. */
const HEALTHY_WITHIN_MS = 180_000;

if (import.meta.main) Deno.exit(await main());

async function main(): Promise<number> {
  const folder = await Deno.makeTempDir({ prefix: "tercet-smoke-" });
  try {
    const tasksData = `${folder}/tasks`;
    const relayerData = `${folder}/relayer`;
    await Deno.mkdir(tasksData);
    await Deno.mkdir(relayerData);
    // Variables that several have are those of the last one; the others get their
    // own by their TASKS_ and RELAYER_ names.
    const services = [
      devKeyServersSmoke(folder),
      tasksSmoke(tasksData),
      relayerSmoke(relayerData),
      await ratelimitSmoke(folder),
    ];
    await smoke(services, {
      command: Deno.execPath(),
      args: ["task", "dev"],
      inheritEnv: true,
      healthyWithinMs: HEALTHY_WITHIN_MS,
    });
    print("Smoke test passed: deno task dev");
    return 0;
  } catch (error) {
    tell(`Smoke test failed: ${messageOf(error)}`);
    return 1;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
