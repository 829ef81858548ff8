/**
 * The rate limit service: `ratelimit` serves, `ratelimit client` asks for a
 * decision, `ratelimit check` checks configuration files, `ratelimit explain`
 * tells which of their rules applies, `ratelimit counters` reads and resets.
 *
 * @module
 */

import { systemClock } from "../shared/clock.ts";
import { processIo } from "../shared/command_line.ts";
import { processSignals } from "../shared/lifecycle.ts";
import { type ProgramIo, runProgram } from "../shared/program.ts";
import { thisProcess } from "../shared/run_service.ts";
import { serveRateLimit } from "./serve.ts";
import { rateLimitSettings } from "./settings.ts";

/**
 * Runs the command that the arguments name; without arguments, the service.
 *
 * @returns The exit code.
 */
export function run(args: readonly string[], io: ProgramIo): Promise<number> {
  return runProgram({
    name: "ratelimit",
    about: "decides whether requests are within their limits",
    settings: rateLimitSettings,
    serve: () => serveRateLimit(thisProcess(io, Deno.env)),
    commands: [{
      name: "client",
      about: "ask a running service for a decision",
      async run(rest) {
        const { runClient } = await import("./cli/client.ts");
        return await runClient(rest, io, { signals: processSignals });
      },
    }, {
      name: "check",
      about: "check configuration files",
      async run(rest) {
        const { runCheck } = await import("./cli/check.ts");
        return await runCheck(rest, io);
      },
    }, {
      name: "explain",
      about: "show which rule applies to a request, and why",
      async run(rest) {
        const { runExplain } = await import("./cli/explain.ts");
        return await runExplain(rest, {
          ...io,
          readText: (path) =>
            path === "-"
              ? new Response(Deno.stdin.readable).text()
              : Deno.readTextFile(path),
          nowMs: systemClock.nowMs,
        });
      },
    }, {
      name: "counters",
      about: "read or reset the counters of descriptors",
      async run(rest) {
        const { runCounters } = await import("./cli/counters.ts");
        return await runCounters(rest, io);
      },
    }],
    examples: [
      "BACKEND_TYPE=memory RUNTIME_ROOT=/etc/ratelimit ratelimit",
      "ratelimit check -config_dir /etc/ratelimit/config",
      "ratelimit client -domain shop -descriptors user=ann",
    ],
  }, { args, io });
}

if (import.meta.main) Deno.exit(await run(Deno.args, processIo()));
