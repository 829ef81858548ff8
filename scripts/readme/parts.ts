/**
 * Parts of pages that are made from the code, between `<!-- begin NAME -->`
 * and `<!-- end NAME -->`, and files that are made whole.
 *
 * @module
 */

import { keyServerSettings } from "../../services/keyserver/settings.ts";
import { rateLimitSettings } from "../../services/ratelimit/settings.ts";
import { relayerSettings } from "../../services/relayer/settings.ts";
import { settingsMarkdown } from "../../services/shared/option_help.ts";
import { tasksSettings } from "../../services/tasks/settings.ts";
import { taskTypesSource } from "./task_types.ts";
import { tasksProblemsMarkdown, tasksRoutesMarkdown } from "./tasks_tables.ts";

/** The made parts of one file, by name. */
export interface ReadmeParts {
  /** Path of the file within the project. */
  readonly path: string;
  /** The text of each part. */
  readonly parts: Readonly<Record<string, () => string | Promise<string>>>;
}

/** All made parts. */
export const README_PARTS: readonly ReadmeParts[] = [
  {
    path: "docs/reference/ratelimit_settings.md",
    parts: { settings: () => settingsMarkdown(rateLimitSettings) },
  },
  {
    path: "docs/reference/tasks_settings.md",
    parts: { settings: () => settingsMarkdown(tasksSettings) },
  },
  {
    path: "docs/reference/relayer_settings.md",
    parts: { settings: () => settingsMarkdown(relayerSettings) },
  },
  {
    path: "docs/reference/keyserver_settings.md",
    parts: { settings: () => settingsMarkdown(keyServerSettings) },
  },
  {
    path: "docs/reference/api.md",
    parts: { "tasks routes": tasksRoutesMarkdown },
  },
  {
    path: "docs/reference/problems.md",
    parts: { "tasks problems": tasksProblemsMarkdown },
  },
];

/** Files that are made whole, by their path within the project. */
export const MADE_FILES: Readonly<Record<string, () => Promise<string>>> = {
  "sdk/tasks/api_types.ts": taskTypesSource,
};

/**
 * Replaces the parts in a text.
 *
 * @throws {Error} When a part's marks are missing.
 */
export async function updatedReadme(
  text: string,
  parts: ReadmeParts["parts"],
): Promise<string> {
  let updated = text;
  for (const [name, make] of Object.entries(parts)) {
    const begin = `<!-- begin ${name} -->`;
    const end = `<!-- end ${name} -->`;
    const from = updated.indexOf(begin);
    const to = updated.indexOf(end);
    if (from === -1 || to < from) {
      throw new Error(`Cannot write the part "${name}": its marks are missing`);
    }
    // The formatter would pad the tables, which only a person needs.
    const made =
      `<!-- deno-fmt-ignore-start -->\n\n${(await make()).trim()}\n\n` +
      "<!-- deno-fmt-ignore-end -->";
    updated = updated.slice(0, from + begin.length) + `\n\n${made}\n\n` +
      updated.slice(to);
  }
  return updated;
}
