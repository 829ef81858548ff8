/**
 * Tries an executable of the rate limit service:
 * `deno task smoke dist/ratelimit`.
 *
 * @module
 */

import { resolve } from "node:path";
import { smokeRatelimit } from "../smoke/ratelimit_smoke.ts";
import { messageOf, print, tell } from "../terminal.ts";

if (import.meta.main) Deno.exit(await main(Deno.args));

async function main(args: readonly string[]): Promise<number> {
  const [path, ...rest] = args;
  if (path === undefined || rest.length > 0 || path.startsWith("-")) {
    tell("Usage: deno task smoke <executable>");
    return 2;
  }
  try {
    await smokeRatelimit({ command: resolve(path), args: [] });
    print(`Smoke test passed: ${path}`);
    return 0;
  } catch (error) {
    tell(`Smoke test failed: ${messageOf(error)}`);
    return 1;
  }
}
