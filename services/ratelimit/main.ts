/**
 * The rate limit service: `ratelimit` serves, `ratelimit client` asks for a
 * decision, `ratelimit check` checks configuration files, `ratelimit explain`
 * tells which of their rules applies, `ratelimit counters` reads and resets.
 *
 * @module
 */

import { systemClock } from "../shared/clock.ts";
import { type CommandIo, processIo } from "../shared/command_line.ts";
import { processSignals } from "../shared/lifecycle.ts";
import { createLogger, type Logger } from "../shared/logger.ts";
import { type ProgramIo, runProgram } from "../shared/program.ts";
import type { ReadVariable } from "../shared/settings.ts";
import { describeError } from "../shared/settled.ts";
import { stderrWriter } from "../shared/stderr_writer.ts";
import { startSettings } from "../shared/telemetry/start_settings.ts";
import { WatchThread } from "../shared/watch/watch_thread.ts";
import { planStore } from "./counters/store_plan.ts";
import { grpcTlsFaults } from "./grpc_tls.ts";
import { idleSettings } from "./inert_settings.ts";
import { openParts } from "./open_parts.ts";
import { serve } from "./serve.ts";
import { type RateLimitSettings, rateLimitSettings } from "./settings.ts";
import { sourceFaults } from "./sources/open_source.ts";
import { openSink, sinkFaults } from "./stats/open_sinks.ts";
import { StatsRegistry } from "./stats/registry.ts";
import {
  openThreads,
  threadFaults,
  threadSettings,
} from "./threads/open_threads.ts";

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
    serve: () => runService(io),
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
      about: "tell which rule applies to a request, and why",
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

async function runService(io: CommandIo): Promise<number> {
  const readVariable = (name: string) => Deno.env.get(name);
  const readText = Deno.readTextFile;
  const { hardwareConcurrency: cores } = navigator;
  const values = await startSettings(rateLimitSettings, {
    readVariable,
    allVariables: () => Deno.env.toObject(),
    io,
    readText,
    faultsOf: (read) =>
      settingFaults(threadSettings(read, { cores }), {
        readVariable,
        readText,
      }),
    tellIdle(notices, read) {
      const idle = [...notices, ...idleSettings(read, readVariable)];
      const logger = loggerOf(read);
      for (const notice of idle) logger.warn(notice);
    },
  });
  if (values === undefined) return 1;
  const settings = threadSettings(values, { cores });
  const logger = loggerOf(settings);
  const registry = new StatsRegistry({
    maxNames: settings.statsMaxNames,
    onOverflow: ({ name, reason }) =>
      logger.warn("Statistics have no room for further names", {
        name,
        reason,
      }),
  });
  const threads = openThreads(settings, { registry, logger });
  if (threads.kind === "invalid") {
    io.err(threads.problem);
    return 1;
  }
  const reports = new WatchThread({ clock: systemClock, logger });
  const opened = await openParts(settings, {
    registry,
    reports,
    clock: systemClock,
    logger,
    sharing: threads.sharing,
  });
  if (opened.kind === "invalid") {
    for (const problem of opened.problems) io.err(problem);
    return 1;
  }
  const sink = await openSink(settings, {
    registry,
    clock: systemClock,
    logger,
    write: io.out,
    readVariable,
    readText,
  });
  if (sink.kind === "invalid") {
    for (const problem of sink.problems) io.err(problem);
    return 1;
  }
  try {
    const outcome = await serve(settings, {
      ...opened.parts,
      reports,
      threads: threads.threads,
      statsSink: sink.part,
      addressLog: addressLog(settings),
      signals: processSignals,
    });
    return outcome.exitCode;
  } catch (error) {
    io.err(describeError(error));
    return 1;
  }
}

/**
 * Returns what is wrong with the settings together and with the files that they
 * name, one line each. Tracing is checked elsewhere, alike for every service.
 */
async function settingFaults(
  settings: RateLimitSettings,
  { readVariable, readText }: {
    /** Reads the variables of mogrifiers, whose names depend on settings. */
    readonly readVariable: ReadVariable;
    readonly readText: (path: string) => Promise<string>;
  },
): Promise<readonly string[]> {
  const store = await planStore(settings, readText);
  return [
    ...threadFaults(settings),
    ...await grpcTlsFaults(settings),
    ...(store.kind === "invalid" ? store.problems : []),
    ...await sourceFaults(settings, readText),
    ...await sinkFaults(settings, { readVariable, readText }),
  ];
}

function loggerOf({ logFormat, logLevel }: RateLimitSettings): Logger {
  return createLogger({
    format: logFormat,
    level: logLevel,
    clock: systemClock,
    write: stderrWriter(),
  });
}

/**
 * Returns a logger whose lines of level info are shown at the default level,
 * too: who starts the service wants to see its addresses.
 */
function addressLog(settings: RateLimitSettings): Logger {
  const { logLevel } = settings;
  return logLevel === "warning"
    ? loggerOf({ ...settings, logLevel: "info" })
    : loggerOf(settings);
}

if (import.meta.main) Deno.exit(await run(Deno.args, processIo()));
