/**
 * Runs a service from its settings to its exit code: reads the settings, opens
 * its log, starts its parts, and stops them when the process is told to.
 *
 * @module
 */

import { type Clock, systemClock } from "./clock.ts";
import type { CommandIo } from "./command_line.ts";
import { Lifecycle, processSignals, type SignalSource } from "./lifecycle.ts";
import { createLogger, type Logger, type LogSettings } from "./logger.ts";
import type { OptionTable, OptionValues } from "./options.ts";
import { describeError } from "./settled.ts";
import { stderrWriter } from "./stderr_writer.ts";
import { openTracing } from "./telemetry/open_tracing.ts";
import { startSettings } from "./telemetry/start_settings.ts";
import type { Tracing } from "./telemetry/tracing.ts";
import type {
  TracingSettings,
  TracingSettingTable,
} from "./telemetry/tracing_settings.ts";

/** The process that a service runs in. */
export interface ServiceProcess {
  /** Prints results and faults. */
  readonly io: CommandIo;
  /** The variables of the environment. */
  readonly env: Pick<Deno.Env, "get" | "toObject">;
  /** The time source. */
  readonly clock: Clock;
  /** Where SIGTERM, SIGINT and SIGHUP come from. */
  readonly signals: SignalSource;
  /** Takes a line of the log; must not throw. */
  readonly writeLog: (line: string) => void;
}

/** This process, with the environment that its `main.ts` reads. */
export function thisProcess(
  io: CommandIo,
  env: ServiceProcess["env"],
): ServiceProcess {
  return {
    io,
    env,
    clock: systemClock,
    signals: processSignals,
    writeLog: stderrWriter(),
  };
}

type ServiceTable = OptionTable & TracingSettingTable;

/** The settings that every service has. */
type CommonSettings = LogSettings & {
  readonly shutdownGraceMs: number;
  readonly shutdownDrainDelayMs?: number;
};

/** What {@linkcode runService} knows of a service. */
export interface Service<T extends ServiceTable> {
  /** Its settings. */
  readonly settings: T;
  /**
   * Checks the settings together; returns one line for each fault. Called
   * before anything is opened.
   */
  readonly findFaults: (
    values: OptionValues<T>,
  ) => readonly string[] | Promise<readonly string[]>;
  /**
   * Reports settings that have no effect.
   *
   * @default a line on standard error for each
   */
  readonly tellIdle?: (
    notices: readonly string[],
    values: OptionValues<T>,
  ) => void;
  /**
   * Wraps the logger of all parts.
   *
   * @default the logger as it is
   */
  readonly wrapLogger?: (logger: Logger, clock: Clock) => Logger;
}

/** What the parts of a service are made with. */
export interface ServiceTools {
  /** The time source. */
  readonly clock: Clock;
  /** The log. */
  readonly logger: Logger;
  /** Takes the parts, and starts them once all have been added. */
  readonly lifecycle: Lifecycle;
  /**
   * Opens tracing; gives undefined where it is off. It stops after all parts
   * that are added later, so that their spans have ended by then.
   *
   * @throws when the settings can't be followed
   */
  readonly openTracing: (
    settings: TracingSettings,
  ) => Promise<Tracing | undefined>;
}

/**
 * Runs a service until it is stopped.
 *
 * @param addParts Makes the parts of the service and adds them to its
 * lifecycle; what it throws is printed.
 * @returns The exit code: 0 after a clean stop, else 1.
 */
export function runService<const T extends ServiceTable>(
  service: Service<T>,
  process: ServiceProcess,
  addParts: (
    settings: OptionValues<T>,
    tools: ServiceTools,
  ) => void | Promise<void>,
): Promise<number> {
  return withSettings(service, process, async (settings) => {
    const { clock, signals } = process;
    const { shutdownGraceMs, shutdownDrainDelayMs = 0, ...rest } = settings as
      & OptionValues<T>
      & CommonSettings;
    const log = openLog(rest, process);
    const logger = service.wrapLogger?.(log, clock) ?? log;
    const lifecycle = new Lifecycle({
      ...{ logger, clock, signals },
      graceMs: shutdownGraceMs,
      drainDelayMs: shutdownDrainDelayMs,
    });
    const tools = { clock, logger, lifecycle };
    const table = service.settings;
    await addParts(settings, {
      ...tools,
      openTracing: (values) => openTracing(values, { ...tools, table }),
    });
    return (await lifecycle.run()).exitCode;
  });
}

/**
 * Runs a function with the settings of a service; what it throws is printed.
 *
 * @returns The exit code of the function; 1 when the settings can't be used, or
 * when it throws.
 */
export async function withSettings<const T extends ServiceTable>(
  service: Service<T>,
  { io, env }: Pick<ServiceProcess, "io" | "env">,
  use: (settings: OptionValues<T>) => Promise<number>,
): Promise<number> {
  const { settings: table, ...callbacks } = service;
  const settings = await startSettings(table, {
    readVariable: (name) => env.get(name),
    allVariables: () => env.toObject(),
    readText: Deno.readTextFile,
    io,
    ...callbacks,
  });
  if (settings === undefined) return 1;
  try {
    return await use(settings);
  } catch (error) {
    io.err(describeError(error));
    return 1;
  }
}

/** Opens the log of a process. */
export function openLog(
  { logFormat: format, logLevel: level }: LogSettings,
  { clock, writeLog: write }: Pick<ServiceProcess, "clock" | "writeLog">,
): Logger {
  return createLogger({ format, level, clock, write });
}
