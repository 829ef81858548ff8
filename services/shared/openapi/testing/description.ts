/**
 * What a document says of a value, and whether that is more than its name.
 *
 * @module
 */

import type { JsonSchema } from "../../schema/schema.ts";
import { findComponent } from "../schema_html.ts";

/** Words that add nothing to a name. */
const EMPTY_WORDS: ReadonlySet<string> = new Set(
  ("a an and any are as at be been by for from had has have in is it its of " +
    "on one or own some that the their these this those to was were what " +
    "when whether which who whose with value field")
    .split(" "),
);

/** What a text says more than a name, as stems of words. */
function listWords(text: string): readonly string[] {
  const words = text.replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replaceAll(/([A-Z])([A-Z][a-z])/g, "$1 $2").toLowerCase()
    .replaceAll(/['’]s\b/g, "").match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.map((word) =>
    word.replace(/ies$/, "y").replace(/(?<=[^s])s$/, "")
  );
}

/**
 * Tells whether a text about something only repeats its name: no word is left
 * beside articles and the words of the name, in whatever order.
 */
export function repeatsName(name: string, text: string): boolean {
  const known = new Set(listWords(name));
  const joined = [...known].join("");
  return listWords(text).every((word) =>
    EMPTY_WORDS.has(word) || known.has(word) || word === joined
  );
}

/**
 * The description of a schema: its own, or that of the only one it refers to
 * or, beside null, chooses from.
 */
export function describedAs(
  schema: JsonSchema,
  schemas: Readonly<Record<string, JsonSchema>>,
): string | undefined {
  if (schema.description !== undefined) return schema.description;
  const name = findComponent(schema);
  const target = name === undefined ? undefined : schemas[name];
  if (target !== undefined) return describedAs(target, schemas);
  const choices = (schema.anyOf ?? []).filter(({ type }) => type !== "null");
  const [only] = choices;
  return only !== undefined && choices.length === 1
    ? describedAs(only, schemas)
    : undefined;
}
