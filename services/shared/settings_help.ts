/**
 * The settings table for people: for `--help` and for a README.
 *
 * @module
 */

import { helpEntry } from "./help_text.ts";
import type { Setting, SettingsTable } from "./settings_types.ts";

/**
 * All settings as plain text of at most 90 columns, grouped, in the order of
 * the table. Ends with a line end.
 */
export function settingsHelp(table: SettingsTable): string {
  const blocks = groupsOf(table).map(([group, settings]) => {
    const entries = settings.flatMap((setting) =>
      helpEntry(setting.name, describe(setting), { column: 32 })
    );
    return [`${group}:`, ...entries].join("\n");
  });
  return `${blocks.join("\n\n")}\n`;
}

/**
 * All settings as Markdown: a heading of the third level and a table for each
 * group. Ends with a line end.
 */
export function settingsMarkdown(table: SettingsTable): string {
  const blocks = groupsOf(table).map(([group, settings]) =>
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

type Group = readonly [name: string, settings: readonly Setting<unknown>[]];

function groupsOf(table: SettingsTable): readonly Group[] {
  const groups = new Map<string, Setting<unknown>[]>();
  for (const setting of Object.values(table)) {
    const group = groups.get(setting.group);
    if (group === undefined) groups.set(setting.group, [setting]);
    else group.push(setting);
  }
  return [...groups];
}

function describe(setting: Setting<unknown>): string {
  const parts = [sentence(setting.help), acceptedSentence(setting)];
  const shown = defaultOf(setting);
  if (shown !== undefined) parts.push(`Default: ${shown}.`);
  if (setting.aliases.length > 0) {
    parts.push(`Also read as: ${setting.aliases.join(", ")}.`);
  }
  return parts.filter((part) => part !== "").join(" ");
}

function markdownRow(setting: Setting<unknown>): string {
  const code = (text: string): string => `\`${text}\``;
  const aliases = setting.aliases.map(code).join(", ");
  const names = code(setting.name) + (aliases && ` (also ${aliases})`);
  const shown = defaultOf(setting);
  const meaning = [sentence(setting.help), acceptedSentence(setting)]
    .filter((part) => part !== "").join(" ");
  const cells = [names, shown === undefined ? "none" : code(shown), meaning];
  return `| ${cells.map(escapeCell).join(" | ")} |`;
}

/** An empty default says nothing a reader needs. */
function defaultOf(setting: Setting<unknown>): string | undefined {
  if (setting.defaultText === undefined || setting.defaultText === "") {
    return undefined;
  }
  return setting.secret ? "****" : setting.defaultText;
}

function acceptedSentence(setting: Setting<unknown>): string {
  return setting.expected === "text" ? "" : `Accepts ${setting.expected}.`;
}

function sentence(text: string): string {
  const trimmed = text.trim();
  return trimmed === "" || /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`;
}

function escapeCell(text: string): string {
  return text.replaceAll("|", "\\|").replace(/\s+/g, " ");
}
