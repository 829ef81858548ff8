/**
 * The flags of a program for `--help`.
 *
 * @module
 */

import { type Flag, flagName } from "./flag_kinds.ts";
import { helpEntry } from "./help_text.ts";

/** Options of {@linkcode flagsHelp}. */
export interface FlagsHelpOptions {
  /** How the program is called, such as `client [flags]`. */
  readonly usage: string;
  /**
   * What the program does, between the usage and the flags.
   *
   * @default {""}
   */
  readonly about?: string;
}

/**
 * The usage and all flags as plain text of at most 90 columns, in the order of
 * the table. Ends with a line end.
 */
export function flagsHelp(
  table: Readonly<Record<string, Flag<unknown>>>,
  options: FlagsHelpOptions,
): string {
  const entries = Object.entries(table).flatMap(([key, flag]) =>
    helpEntry(term(key, flag), meaning(flag))
  );
  const about = options.about === undefined ? [] : [options.about, ""];
  return [
    `Usage: ${options.usage}`,
    "",
    ...about,
    "Flags:",
    ...entries,
    ...helpEntry("-h, --help", "Show this help."),
    "",
  ].join("\n");
}

function term(key: string, flag: Flag<unknown>): string {
  const names = [...flag.aliases, key].map(flagName)
    .map((name) => name.length === 1 ? `-${name}` : `--${name}`);
  const value = flag.valueName === "" ? "" : ` <${flag.valueName}>`;
  return names.join(", ") + value;
}

function meaning(flag: Flag<unknown>): string {
  const parts = [flag.help];
  if (flag.required) parts.push("Required.");
  if (flag.repeatable) parts.push("May be repeated.");
  if (flag.defaultText !== undefined && flag.defaultText !== "") {
    parts.push(`Default: ${flag.defaultText}.`);
  }
  return parts.join(" ");
}
