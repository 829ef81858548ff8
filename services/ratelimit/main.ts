/**
 * The rate limit service: `ratelimit` serves, `ratelimit client` asks for a
 * decision, `ratelimit check` checks configuration files, `ratelimit explain` tells
 * which of their rules applies.
 *
 * @module
 */

import { systemClock } from "../shared/clock.ts";
import { type CommandIo, processIo } from "../shared/command_line.ts";
import { processSignals } from "../shared/lifecycle.ts";
import { createLogger } from "../shared/logger.ts";
import { settingsHelp } from "../shared/option_help.ts";
import { readSettings } from "../shared/settings.ts";
import { describeError } from "../shared/settled.ts";
import { stderrWriter } from "../shared/stderr_writer.ts";
import { foreignTracePrefixes } from "../shared/telemetry/tracing_settings.ts";
import { runCheck } from "./cli/check.ts";
import { runClient } from "./cli/client.ts";
import { runExplain } from "./cli/explain.ts";
import { idleSettings } from "./inert_settings.ts";
import { openParts } from "./open_parts.ts";
import { serve } from "./serve.ts";
import { rateLimitSettings } from "./settings.ts";
import { openSink } from "./stats/open_sinks.ts";
import { StatsRegistry } from "./stats/registry.ts";
import { openThreads, threadSettings } from "./threads/open_threads.ts";

const HELP = `ratelimit: decides whether requests are within their limits

usage: ratelimit            serve; settings come from the environment
       ratelimit client …   ask a running service for a decision
       ratelimit check …    check configuration files
       ratelimit explain …  tell which rule applies to a request, and why
       ratelimit --help     this text; the commands have their own

Settings:

`;

async function main(args: readonly string[], io: CommandIo): Promise<number> {
  const [command, ...rest] = args;
  switch (command) {
    case undefined:
      return await runService(io);
    case "client":
      return await runClient(rest, io, { signals: processSignals });
    case "check":
      return await runCheck(rest, io);
    case "explain":
      return await runExplain(rest, {
        ...io,
        readText: (path) =>
          path === "-"
            ? new Response(Deno.stdin.readable).text()
            : Deno.readTextFile(path),
        nowMs: systemClock.nowMs,
      });
    case "help":
    case "-h":
    case "-help":
    case "--help":
      io.out(HELP + settingsHelp(rateLimitSettings));
      return 0;
    default:
      io.err(`Cannot run "${command}": no such command; see ratelimit --help`);
      return 2;
  }
}

async function runService(io: CommandIo): Promise<number> {
  const read = readSettings(rateLimitSettings, (name) => Deno.env.get(name), {
    allVariables: () => Deno.env.toObject(),
    foreignPrefixes: foreignTracePrefixes((name) => Deno.env.get(name)),
  });
  if (read.kind === "invalid") {
    for (const problem of read.problems) io.err(problem);
    return 1;
  }
  const settings = threadSettings(read.values, {
    cores: navigator.hardwareConcurrency,
  });
  const logger = createLogger({
    format: settings.logFormat,
    level: settings.logLevel,
    clock: systemClock,
    write: stderrWriter(),
  });
  for (const notice of read.notices) logger.warn(notice);
  const idle = idleSettings(settings, (name) => Deno.env.get(name));
  for (const notice of idle) logger.warn(notice);
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
  const opened = await openParts(settings, {
    registry,
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
    readVariable: (name) => Deno.env.get(name),
    readText: Deno.readTextFile,
  });
  if (sink.kind === "invalid") {
    for (const problem of sink.problems) io.err(problem);
    return 1;
  }
  try {
    const outcome = await serve(settings, {
      ...opened.parts,
      threads: threads.threads,
      statsSink: sink.part,
      signals: processSignals,
    });
    return outcome.exitCode;
  } catch (error) {
    io.err(describeError(error));
    return 1;
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args, processIo()));
