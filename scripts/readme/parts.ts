/**
 * Lists what is generated from the code: parts of pages, between
 * `<!-- begin NAME -->` and `<!-- end NAME -->`, and whole files.
 *
 * @module
 */

import { keyServerSettings } from "../../services/keyserver/settings.ts";
import { ruleSchemaText } from "../../services/ratelimit/rules/rule_schema.ts";
import { rateLimitSettings } from "../../services/ratelimit/settings.ts";
import { relayerSettings } from "../../services/relayer/settings.ts";
import { settingsMarkdown } from "../../services/shared/option_help.ts";
import { tasksSettings } from "../../services/tasks/settings.ts";
import { fieldsMarkdown } from "./field_tables.ts";
import { relayerRoutesSource } from "./relayer_routes.ts";
import { taskTypesSource } from "./task_types.ts";
import {
  tasksEventsMarkdown,
  tasksProblemsMarkdown,
  tasksRoutesMarkdown,
} from "./tasks_tables.ts";

/** The generated parts of one page. */
export interface ReadmeParts {
  /** The path of the page within the project. */
  readonly path: string;
  /** For each part, by its name, a function that returns its text. */
  readonly parts: Readonly<Record<string, () => string | Promise<string>>>;
}

/** All generated parts. */
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
    path: "docs/reference/tasks.md",
    parts: {
      "fields": () => fieldsMarkdown({ schema: "NewTask" }),
      "answer fields": () =>
        fieldsMarkdown({ schema: "Task", without: "NewTask" }),
      "retry fields": () => fieldsMarkdown({ schema: "RetryPolicy" }),
      "repeat fields": () => fieldsMarkdown({ schema: "Repeat" }),
      "retain fields": () => fieldsMarkdown({ schema: "Retain" }),
      "limit fields": () => fieldsMarkdown({ schema: "Worker.limits" }),
    },
  },
  {
    path: "docs/reference/problems.md",
    parts: { "tasks problems": tasksProblemsMarkdown },
  },
  {
    path: "docs/reference/events.md",
    parts: { "tasks events": tasksEventsMarkdown },
  },
];

/** Files that are generated as a whole, by their path within the project. */
export const MADE_FILES: Readonly<Record<string, () => Promise<string>>> = {
  "docs/reference/rule_files.schema.json": () =>
    Promise.resolve(ruleSchemaText()),
  "sdk/mock/relayer_routes.ts": relayerRoutesSource,
  "sdk/tasks/api_types.ts": taskTypesSource,
};

/**
 * Replaces the generated parts in the text of a page.
 *
 * @throws {Error} When the marks of a part are missing.
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
    // Not formatted: the formatter would pad the columns of tables, which only
    // someone who writes them by hand needs.
    const made =
      `<!-- deno-fmt-ignore-start -->\n\n${(await make()).trim()}\n\n` +
      "<!-- deno-fmt-ignore-end -->";
    updated = updated.slice(0, from + begin.length) + `\n\n${made}\n\n` +
      updated.slice(to);
  }
  return updated;
}
