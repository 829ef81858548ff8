/**
 * The settings that a service is started with: all that is wrong with them is told in
 * one pass, and so is what has no effect.
 *
 * @module
 */

import type { CommandIo } from "../command_line.ts";
import type { OptionTable, OptionValues } from "../options.ts";
import { readSettings, type ReadVariable } from "../settings.ts";
import {
  foreignTracePrefixes,
  idleTracingNotices,
  type TracingSettings,
  type TracingSettingTable,
} from "./tracing_settings.ts";

/** Where settings come from, and who hears of them. */
interface StartSettingsOptions<Values> {
  /** Reads a variable of the environment. */
  readonly readVariable: ReadVariable;
  /** Gives all variables that may be seen. */
  readonly allVariables: () => Readonly<Record<string, string>>;
  /** Hears what is wrong, and what has no effect. */
  readonly io: Pick<CommandIo, "err">;
  /** What is wrong with the settings together, one line for each fault. */
  readonly faultsOf: (
    values: Values,
  ) => readonly string[] | Promise<readonly string[]>;
}

/**
 * Reads the settings of a service.
 *
 * @returns Undefined where something is wrong with them; it has been told.
 */
export async function startSettings<
  const T extends OptionTable & TracingSettingTable,
>(
  table: T,
  { readVariable, allVariables, io, faultsOf }: StartSettingsOptions<
    OptionValues<T> & TracingSettings
  >,
): Promise<OptionValues<T> | undefined> {
  const read = readSettings(table, readVariable, {
    allVariables,
    foreignPrefixes: foreignTracePrefixes(readVariable),
  });
  type Values = OptionValues<T> & TracingSettings;
  if (read.kind === "invalid") {
    for (const problem of read.problems) io.err(problem);
    // What names a setting that could not be read may be about its default.
    const others = await faultsOf(read.rest as Values);
    for (const fault of others) {
      const isKnown = read.unread.some((name) => fault.includes(name));
      if (!isKnown) io.err(fault);
    }
    return undefined;
  }
  const values = read.values as Values;
  const idle = idleTracingNotices(values, { table, readVariable });
  for (const notice of [...read.notices, ...idle]) io.err(notice);
  const faults = await faultsOf(values);
  for (const fault of faults) io.err(fault);
  return faults.length === 0 ? read.values : undefined;
}
