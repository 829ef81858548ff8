/**
 * Renders JSON Schemas as HTML: the kind of a value, its members, its limits.
 *
 * @module
 */

import {
  DEFINITIONS_POINTER,
  type JsonSchema,
  type JsonValue,
} from "../schema/schema.ts";
import { codeHtml, lineHtml, textHtml, toAnchor } from "../http/html.ts";

/** Levels of members that are shown in place; what is deeper is only named. */
const MAX_DEPTH = 6;

/** The name of the component that a schema refers to. */
export function findComponent({ $ref }: JsonSchema): string | undefined {
  return $ref?.startsWith(DEFINITIONS_POINTER)
    ? $ref.slice(DEFINITIONS_POINTER.length)
    : undefined;
}

/** The anchor of a schema with a name. */
export function schemaAnchor(name: string): string {
  return toAnchor("schema", name);
}

/** The kind of value in a few words, with links to schemas that have a name. */
export function typeHtml(schema: JsonSchema): string {
  const name = findComponent(schema);
  if (name !== undefined) {
    return `<a href="#${schemaAnchor(name)}">${textHtml(name)}</a>`;
  }
  const { type, anyOf, items } = schema;
  if (schema.const !== undefined) return valueHtml(schema.const);
  if (anyOf !== undefined) {
    return [...new Set(anyOf.map(typeHtml))].join(" or ");
  }
  const types = typeof type === "string" ? [type] : type ?? [];
  if (types.length === 0) return schema.enum === undefined ? "any value" : "";
  return types.map((one) =>
    one === "array" && items !== undefined
      ? `list of ${typeHtml(items)}`
      : textHtml(one)
  ).join(" or ");
}

/** Renders everything about a value but its kind: text, limits, members. */
export function detailHtml(schema: JsonSchema, depth = 0): string {
  const { description, items, readOnly, writeOnly } = schema;
  const { anyOf = [] } = schema;
  const choices = anyOf.filter(({ type }) => type !== "null");
  const [only] = choices;
  const facts = describeBounds(schema);
  if (readOnly === true) facts.push("set by the service");
  if (writeOnly === true) facts.push("never told");
  const inner = depth >= MAX_DEPTH ? [] : [
    membersHtml(schema, depth),
    ...items === undefined || findComponent(items) !== undefined
      ? []
      : [detailHtml(items, depth + 1)],
    // A nullable value is shown like the value itself.
    ...only !== undefined && choices.length === 1
      ? findComponent(only) === undefined ? [detailHtml(only, depth)] : []
      : choices.filter(hasDetail).map((one) =>
        `<div class="alt"><span class="t">${typeHtml(one)}</span> ${
          detailHtml(one, depth + 1)
        }</div>`
      ),
  ];
  return [
    description === undefined ? "" : `<p>${lineHtml(description)}</p>`,
    facts.length === 0 ? "" : `<p class="facts">${facts.join("; ")}</p>`,
    ...inner,
  ].filter((part) => part !== "").join("\n");
}

function hasDetail(schema: JsonSchema): boolean {
  return findComponent(schema) === undefined && detailHtml(schema) !== "";
}

function membersHtml(schema: JsonSchema, depth: number): string {
  const { properties = {}, required = [], patternProperties = {} } = schema;
  const { additionalProperties } = schema;
  const rows = Object.entries(properties).map(([name, member]) =>
    memberHtml(member, {
      name: codeHtml(name),
      isRequired: required.includes(name),
      depth,
    })
  );
  const others = Object.entries(patternProperties);
  if (typeof additionalProperties === "object") {
    others.push(["", additionalProperties]);
  }
  for (const [pattern, member] of others) {
    const name = pattern === ""
      ? "<i>any name</i>"
      : `<i>names like</i> ${codeHtml(pattern)}`;
    rows.push(memberHtml(member, { name, isRequired: false, depth }));
  }
  return rows.length === 0 ? "" : `<dl>\n${rows.join("\n")}\n</dl>`;
}

/** A value with a name: a member, a parameter or a header. */
export function memberHtml(
  schema: JsonSchema,
  { name, isRequired, depth = 0 }: {
    /** The name, as HTML. */
    readonly name: string;
    /** Whether it has to be there. */
    readonly isRequired: boolean;
    /**
     * How many values it is within.
     * @default none
     */
    readonly depth?: number;
  },
): string {
  const needed = isRequired ? ' <b class="req">required</b>' : "";
  return `<dt>${name} <span class="t">${
    typeHtml(schema)
  }</span>${needed}</dt><dd>${detailHtml(schema, depth + 1)}</dd>`;
}

function valueHtml(value: JsonValue): string {
  return codeHtml(JSON.stringify(value));
}

/** The limits of a value, each in a few words. */
export function describeBounds(schema: JsonSchema): string[] {
  const facts: string[] = [];
  if (schema.enum !== undefined) {
    facts.push(`one of ${schema.enum.map(valueHtml).join(", ")}`);
  }
  const range = (
    words: string,
    least: number | undefined,
    most: number | undefined,
  ): void => {
    if (least === undefined && most === undefined) return;
    const text = least === undefined
      ? `at most ${most}`
      : most === undefined
      ? `at least ${least}`
      : least === most
      ? `${least}`
      : `${least} to ${most}`;
    const unit = (most ?? least) === 1 ? words.replace(/s$/, "") : words;
    facts.push(textHtml(`${text}${unit}`));
  };
  range("", schema.minimum, schema.maximum);
  range(" characters", schema.minLength, schema.maxLength);
  range(" items", schema.minItems, schema.maxItems);
  range(" members", schema.minProperties, schema.maxProperties);
  if (schema.uniqueItems === true) facts.push("no two alike");
  if (schema.format !== undefined) {
    facts.push(`format ${codeHtml(schema.format)}`);
  }
  if (schema.pattern !== undefined) {
    facts.push(`pattern ${codeHtml(schema.pattern)}`);
  }
  if (schema.default !== undefined) {
    facts.push(`default ${valueHtml(schema.default)}`);
  }
  if (schema.propertyNames !== undefined) {
    const names = describeBounds(schema.propertyNames);
    if (names.length > 0) facts.push(`names: ${names.join(", ")}`);
  }
  return facts;
}
