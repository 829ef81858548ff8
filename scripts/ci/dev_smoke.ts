/**
 * Checks `deno task dev` with the Deno that runs this program: `npx -y
 * deno@2.9.6 run -A --no-config scripts/ci/dev_smoke.ts`. The services are
 * started by that Deno itself and not through npx, because npx does not pass
 * SIGTERM on.
 *
 * @module
 */

import { addressSettings, SMOKES } from "../smoke/services.ts";
import { smoke, type SmokeService } from "../smoke/smoke.ts";
import { print, tell, toMessage } from "../terminal.ts";

/**
 * How long the services may take to become healthy; the first start may have to
 * download everything.
 */
const HEALTHY_WITHIN_MS = 180_000;

if (import.meta.main) Deno.exit(await main());

async function main(): Promise<number> {
  const folder = await Deno.makeTempDir({ prefix: "tercet-smoke-" });
  try {
    const tasksData = `${folder}/tasks`;
    const relayerData = `${folder}/relayer`;
    await Deno.mkdir(tasksData);
    await Deno.mkdir(relayerData);
    // All services share one environment: of a variable that several of them
    // set, such as PORT, the last value wins. So ratelimit is last, and the
    // others are configured by the variables that begin with TASKS_ and
    // RELAYER_.
    const services = [
      ...devKeyServersSmoke(folder),
      await SMOKES.tasks(tasksData),
      await SMOKES.relayer(relayerData),
      await SMOKES.ratelimit(folder),
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
    tell(`Smoke test failed: ${toMessage(error)}`);
    return 1;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/**
 * The three key servers with their data in `folder`. They are not those of
 * `SMOKES`, which need packages: this program runs before anything has loaded
 * the configuration.
 */
function devKeyServersSmoke(folder: string): readonly SmokeService[] {
  return [1, 2, 3].map((number) => {
    const data = `${folder}/keyserver-${number}`;
    const { base, env } = addressSettings(data, `KEYSERVER_${number}`);
    // There are none: a request needs a wallet and a ledger, and the tests
    // cover it.
    const requests = () => Promise.resolve({});
    return { env, healthUrl: `${base}/health`, requests };
  });
}
