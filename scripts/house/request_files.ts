/**
 * Finds the files of a service that run for a request.
 *
 * @module
 */

import { Mem } from "../../mod.ts";
import { devAccount } from "../dev/relayer.ts";
import { decidedSource, withStd } from "../launch/deno_process.ts";
import { SMOKES } from "../smoke/services.ts";
import { freePorts, smoke, type SmokeRequests } from "../smoke/smoke.ts";

const ROOT = new URL("../../", import.meta.url).href;
/** Number of times that each request is made. */
const ROUNDS = 20;

/**
 * Returns the paths of the files that run for each request: those of the round
 * with the fewest, in which neither one-time nor background work ran.
 */
export async function filesOfRequests(): Promise<
  ReadonlyMap<string, readonly string[]>
> {
  const found = new Map<string, readonly string[]>();
  for (const name of ["ratelimit", "tasks", "relayer"] as const) {
    const folder = await Deno.makeTempDir({ prefix: "tercet-house-" });
    const [port = 0] = freePorts(1);
    const service = await SMOKES[name](folder);
    const env = {
      ...service.env,
      HOUSE_PORT: String(port),
      LOG_LEVEL: "error",
      RATE_LIMIT_DISABLED: "true",
    };
    const requests = name === "relayer"
      ? () => recallRequests(env)
      : service.requests;
    const preload = `--preload=${ROOT}scripts/house/call_counts.ts`;
    const run = ["run", "-A", preload, `${ROOT}services/${name}/main.ts`];
    await smoke([{ ...service, env, requests }], {
      command: Deno.execPath(),
      args: withStd(run, decidedSource()),
      inheritEnv: true,
      async exercise(requests) {
        for (let round = 0; round < ROUNDS; round++) {
          for (const [request, make] of Object.entries(requests)) {
            await filesSince(port);
            await make();
            const files = await filesSince(port);
            const fewest = found.get(request) ?? files;
            found.set(request, files.length < fewest.length ? files : fewest);
          }
        }
      },
    });
    await Deno.remove(folder, { recursive: true });
  }
  return found;
}

async function recallRequests(
  env: Readonly<Record<string, string>>,
): Promise<SmokeRequests> {
  const serverUrl = `http://127.0.0.1:${env["PORT"]}`;
  const mem = Mem.create({ serverUrl, ...await devAccount(env) });
  await mem.rememberAndWait("Ada prefers tea to coffee.");
  return { recall: () => mem.recall({ query: "What does Ada drink?" }) };
}

/** Returns the files of which a function ran since the last call. */
async function filesSince(port: number): Promise<readonly string[]> {
  const answer = await fetch(`http://127.0.0.1:${port}`);
  const urls: readonly string[] = await answer.json();
  const roots = ["services/", "sdk/", "proto/"].map((room) => ROOT + room);
  return urls.filter((url) => roots.some((root) => url.startsWith(root)))
    .map((url) => url.slice(ROOT.length)).sort();
}
