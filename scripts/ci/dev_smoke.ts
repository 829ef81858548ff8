/**
 * Tries `deno task dev` with the Deno that runs this:
 * `npx -y deno@2.9.6 run -A --no-config scripts/ci/dev_smoke.ts`. Deno is asked
 * itself and not through npx, because npx hands SIGTERM on to nobody.
 *
 * @module
 */

import { ratelimitSmoke } from "../smoke/ratelimit_smoke.ts";
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
    await Deno.mkdir(tasksData);
    // Variables that both have are those of the last one; the tasks service gets
    // its own by their TASKS_ names.
    await smoke([tasksSmoke(tasksData), await ratelimitSmoke(folder)], {
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
