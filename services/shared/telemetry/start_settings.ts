/**
 * Reads the settings at the start of a service; reports all faults together,
 * and settings that have no effect.
 *
 * @module
 */

import type { CommandIo } from "../command_line.ts";
import type { OptionTable, OptionValues } from "../options.ts";
import { readSettings, type ReadVariable } from "../settings.ts";
import { tracingFaults } from "./open_tracing.ts";
import {
  foreignTracePrefixes,
  idleTracingNotices,
  type TracingSettings,
  type TracingSettingTable,
} from "./tracing_settings.ts";

/** Options of {@linkcode startSettings}. */
interface StartSettingsOptions<Values> {
  /** Reads a variable of the environment. */
  readonly readVariable: ReadVariable;
  /** Gives all variables that may be seen. */
  readonly allVariables: () => Readonly<Record<string, string>>;
  /** Prints faults, and settings that have no effect. */
  readonly io: Pick<CommandIo, "err">;
  /** Reads the files that settings of tracing name. */
  readonly readText: (path: string) => Promise<string>;
  /**
   * Checks the settings together; returns one line for each fault. Called
   * before anything is opened.
   */
  readonly findFaults: (
    values: Values,
  ) => readonly string[] | Promise<readonly string[]>;
  /**
   * Reports settings that have no effect.
   *
   * @default a line of `io.err` for each
   */
  readonly tellIdle?: (notices: readonly string[], values: Values) => void;
}

/**
 * Reads the settings of a service.
 *
 * @returns The values; undefined after faults, which have been printed.
 */
export async function startSettings<
  const T extends OptionTable & TracingSettingTable,
>(
  table: T,
  options: StartSettingsOptions<OptionValues<T> & TracingSettings>,
): Promise<OptionValues<T> | undefined> {
  const { readVariable, allVariables, io, readText } = options;
  const read = readSettings(table, readVariable, {
    allVariables,
    foreignPrefixes: foreignTracePrefixes(readVariable),
  });
  type Values = OptionValues<T> & TracingSettings;
  const findFaults = async (values: Values): Promise<readonly string[]> => [
    ...await options.findFaults(values),
    ...await tracingFaults(values, readText),
  ];
  if (read.kind === "invalid") {
    for (const problem of read.problems) io.err(problem);
    // A fault that names an unreadable setting may only be about its default.
    const others = await findFaults(read.rest as Values);
    for (const fault of others) {
      const isKnown = read.unread.some((name) => isAbout(name, fault));
      if (!isKnown) io.err(fault);
    }
    return undefined;
  }
  const values = read.values as Values;
  const idle = idleTracingNotices(values, { table, readVariable });
  const notices = [...read.notices, ...idle];
  if (options.tellIdle !== undefined) options.tellIdle(notices, values);
  else for (const notice of notices) io.err(notice);
  const faults = await findFaults(values);
  for (const fault of faults) io.err(fault);
  return faults.length === 0 ? read.values : undefined;
}

/**
 * Whether a text has the name of a setting, and not only as part of another.
 */
function isAbout(name: string, text: string): boolean {
  return text.split(/[^A-Za-z0-9_]+/).includes(name);
}
