/**
 * Generates the tables of a task's fields for the reference, from the document
 * of the API: what a field takes, its limits and what it means.
 *
 * @module
 */

import { describedAs } from "../../services/shared/openapi/testing/description.ts";
import {
  describeBounds,
  typeHtml,
} from "../../services/shared/openapi/schema_html.ts";
import type { JsonSchema } from "../../services/shared/schema/schema.ts";
import { cell, tasksSchemas } from "./tasks_tables.ts";

/** The fields of a schema that a table shows. */
interface TableOptions {
  /** The name of the schema in the document, or a member of it: `Worker.limits`. */
  readonly schema: string;
  /**
   * A schema whose fields are left out.
   * @default none is left out
   */
  readonly without?: string;
}

/**
 * Returns a table with a row for each field, and for each field within it.
 *
 * @throws {Error} When the document has no such schema.
 */
export async function fieldsMarkdown(
  { schema, without }: TableOptions,
): Promise<string> {
  const schemas = await tasksSchemas();
  const [name = "", ...path] = schema.split(".");
  let object: JsonSchema | undefined = schemas[name];
  for (const step of path) object = object && findMembers(object)[step];
  const members = object && findMembers(object);
  if (members === undefined || Object.keys(members).length === 0) {
    throw new Error(`Cannot make table: there is no object "${schema}"`);
  }
  const others = without === undefined
    ? {}
    : findMembers(schemas[without] ?? {});
  return [
    "| field | takes | means |",
    "| --- | --- | --- |",
    ...Object.entries(members).flatMap(([field, member]) =>
      others[field] === undefined ? rows(field, member, schemas) : []
    ),
  ].join("\n");
}

function rows(
  field: string,
  member: JsonSchema,
  schemas: Readonly<Record<string, JsonSchema>>,
): readonly string[] {
  const means = describedAs(member, schemas) ?? "";
  return [
    `| \`${field}\` | ${cell(takes(member))} | ${cell(means)} |`,
    ...Object.entries(findMembers(member)).flatMap(([name, inner]) =>
      rows(`${field}.${name}`, inner, schemas)
    ),
  ];
}

/** The members of an object, also where it is one of several choices. */
function findMembers(
  schema: JsonSchema,
): Readonly<Record<string, JsonSchema>> {
  return [schema, ...schema.anyOf ?? []].find((one) =>
    one.properties !== undefined
  )?.properties ?? {};
}

/** The kind of value and its limits, in the words of the API's page. */
function takes(schema: JsonSchema): string {
  const choices = (schema.anyOf ?? [schema]).filter(({ type }) =>
    type !== "null"
  );
  const kinds = choices.map((one) =>
    [typeHtml(withoutNull(one)), ...describeBounds(one).filter(isShort)]
      .filter((part) => part !== "").join("; ")
  );
  return toMarkdown([...new Set(kinds)].join(" or "));
}

function withoutNull(schema: JsonSchema): JsonSchema {
  if (schema.enum !== undefined) return { enum: schema.enum };
  const types = typeof schema.type === "string" ? [schema.type] : schema.type;
  return types === undefined
    ? schema
    : { ...schema, type: types.filter((type) => type !== "null") };
}

/** Patterns are long, and refusals name what they ask for. */
function isShort(bound: string): boolean {
  return !bound.startsWith("pattern");
}

function toMarkdown(html: string): string {
  return html.replaceAll(/<\/?code>/g, "`").replaceAll(/<[^>]*>/g, "")
    .replaceAll(/`"([^"`]*)"`/g, "`$1`")
    .replaceAll("&quot;", '"').replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}
