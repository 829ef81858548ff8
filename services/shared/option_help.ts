/**
 * Renders tables of options for people: the help of a command, and the settings
 * of a service for its help and its README.
 *
 * @module
 */

import type { Option, OptionTable } from "./options.ts";

/**
 * All settings as plain text of at most 90 columns, grouped, in the order of
 * the table. Ends with a line end.
 */
export function settingsHelp(table: OptionTable): string {
  const blocks = groupOptions(table).map(([group, settings]) => {
    const entries = settings.flatMap((setting) =>
      helpEntry(setting.name, describe(setting), 32)
    );
    return [`${group}:`, ...entries].join("\n");
  });
  return `${blocks.join("\n\n")}\n`;
}

/**
 * All settings as Markdown: a heading of the third level and a table for each
 * group. Ends with a line end.
 */
export function settingsMarkdown(table: OptionTable): string {
  const blocks = groupOptions(table).map(([group, settings]) =>
    [
      `### ${group}`,
      "",
      "| Setting | Default | Meaning |",
      "| --- | --- | --- |",
      ...settings.map(markdownRow),
    ].join("\n")
  );
  return `${blocks.join("\n\n")}\n`;
}

type Group = readonly [name: string, settings: readonly Option<unknown>[]];

function groupOptions(table: OptionTable): readonly Group[] {
  const groups = new Map<string, Option<unknown>[]>();
  for (const setting of Object.values(table)) {
    const group = groups.get(setting.group);
    if (group === undefined) groups.set(setting.group, [setting]);
    else group.push(setting);
  }
  return [...groups];
}

function describe(setting: Option<unknown>): string {
  const parts = [sentence(setting.help), acceptedSentence(setting)];
  const shown = formatDefault(setting);
  if (shown !== undefined) parts.push(`Default: ${shown}.`);
  if (setting.aliases.length > 0) {
    parts.push(`Also read as: ${setting.aliases.join(", ")}.`);
  }
  return parts.filter((part) => part !== "").join(" ");
}

function markdownRow(setting: Option<unknown>): string {
  const code = (text: string): string => `\`${text}\``;
  const aliases = setting.aliases.map(code).join(", ");
  const names = code(setting.name) + (aliases && ` (also ${aliases})`);
  const shown = formatDefault(setting);
  const meaning = [sentence(setting.help), acceptedSentence(setting)]
    .filter((part) => part !== "").join(" ");
  const cells = [names, shown === undefined ? "none" : code(shown), meaning];
  return `| ${cells.map(escapeCell).join(" | ")} |`;
}

/** An empty default says nothing a reader needs. */
function formatDefault(setting: Option<unknown>): string | undefined {
  if (setting.defaultText === undefined || setting.defaultText === "") {
    return undefined;
  }
  return setting.secret ? "****" : setting.defaultText;
}

function acceptedSentence(setting: Option<unknown>): string {
  return setting.expected === "text" ? "" : `Accepts ${setting.expected}.`;
}

function sentence(text: string): string {
  const trimmed = text.trim();
  return trimmed === "" || /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`;
}

function escapeCell(text: string): string {
  return text.replaceAll("|", "\\|").replace(/\s+/g, " ");
}

/** How a command is called and what it does. */
export interface CommandText {
  /** The call, such as `tasks preview "30 2 * * *"`. */
  readonly usage: string;
  /** What it does and what its exit codes mean. */
  readonly about: string;
}

/**
 * The usage and all flags as plain text of at most 90 columns, in the order of
 * the table. Ends with a line end.
 */
export function flagsHelp(
  table: OptionTable,
  { usage, about }: CommandText,
): string {
  const entries = Object.entries(table).flatMap(([key, flag]) =>
    helpEntry(term(key, flag), meaning(flag))
  );
  return [
    `Usage: ${usage}`,
    "",
    about,
    "",
    "Flags:",
    ...entries,
    ...helpEntry("-h, --help", "Show this help."),
    "",
  ].join("\n");
}

function term(key: string, flag: Option<unknown>): string {
  const names = [...flag.aliases, key].map(flagName)
    .map((name) => name.length === 1 ? `-${name}` : `--${name}`);
  const value = flag.valueName === "" ? "" : ` <${flag.valueName}>`;
  return names.join(", ") + value;
}

function meaning(flag: Option<unknown>): string {
  const parts = [flag.help];
  if (flag.required) parts.push("Required.");
  if (flag.repeatable) parts.push("May be repeated.");
  if (flag.defaultText !== undefined && flag.defaultText !== "") {
    parts.push(`Default: ${flag.defaultText}.`);
  }
  return parts.join(" ");
}

/**
 * The form in which names of flags are compared and shown: `dialString`,
 * `dial_string` and `dial-string` are all `dial-string`.
 */
export function flagName(name: string): string {
  return name.replaceAll("_", "-")
    .replace(/[a-z0-9](?=[A-Z])/g, "$&-")
    .toLowerCase();
}

/** Columns of a line at most; a longer word stays whole. */
const MAX_COLUMNS = 90;

/**
 * Lines of one entry: the term, two columns in, and its meaning beside it, or
 * below it when the term is too long. The meaning begins at `column`, counted
 * from 0.
 */
function helpEntry(
  term: string,
  meaning: string,
  column = 30,
): readonly string[] {
  const indent = " ".repeat(column);
  const wrapped = wrapText(meaning, MAX_COLUMNS - column);
  const left = `  ${term}`;
  const fits = left.length <= column - 2;
  const first = fits ? `${left.padEnd(column)}${wrapped[0] ?? ""}` : left;
  const rest = fits ? wrapped.slice(1) : wrapped;
  return [first, ...rest.map((line) => indent + line)]
    .map((line) => line.trimEnd());
}

/** Breaks a text between words into lines of at most `width` columns. */
function wrapText(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/).filter((part) => part !== "")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && longer.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = longer;
    }
  }
  return line === "" ? lines : [...lines, line];
}
