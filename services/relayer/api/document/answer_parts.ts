/**
 * Parts of the schemas of answers. Each part has a sample, and the examples of
 * the OpenAPI document are made of them.
 *
 * @module
 */

import {
  definedBy,
  type JsonSchema,
  type JsonValue,
  said,
  type Shape,
  shape,
  shownObject,
} from "../../../shared/schema/schema.ts";

/** A value in an answer, or a whole answer. */
export interface AnswerPart extends Shape {
  /**
   * A sample of the value.
   * @default the example leaves the member out
   */
  readonly sample?: JsonValue | undefined;
  /**
   * Whether answers may lack the member.
   * @default {false}
   */
  readonly mayLack?: boolean;
}

/** An owner's address, for samples. */
export const OWNER_SAMPLE = `0x${"a2".repeat(32)}`;
/** A memory's id, for samples. */
export const ID_SAMPLE = "mem_01jz8k3v9x";
/** A blob's id, for samples. */
export const BLOB_SAMPLE = "u3Yx0l5Gq1cF7bWm";
/** An instant, for samples. */
export const TIME_SAMPLE = "2030-01-31T12:00:00.000Z";

/** A value of any kind. */
export function part(json: JsonSchema, sample?: JsonValue): AnswerPart {
  return { ...shape(json), sample };
}

/** A text. */
export function text(about: string, sample?: string): AnswerPart {
  return part(said(about), sample);
}

/** A text, or null. */
export function textOrNull(about: string, sample?: string | null): AnswerPart {
  return part(said(about, { type: ["string", "null"] }), sample);
}

/** A list of texts that nothing is said of one by one. */
export function texts(about: string, sample?: readonly string[]): AnswerPart {
  const items = { type: "string" } as const;
  return part(said(about, { type: "array", items }), sample);
}

/** A number of things. */
export function count(about: string, sample?: number): AnswerPart {
  return part(said(about, { type: "integer", minimum: 0 }), sample);
}

/** A number. */
export function number(about: string, sample?: number): AnswerPart {
  return part(said(about, { type: "number" }), sample);
}

/** True or false. */
export function flag(about: string, sample?: boolean): AnswerPart {
  return part(said(about, { type: "boolean" }), sample);
}

/** An instant (RFC 3339). */
export function time(about: string): AnswerPart {
  const json = said(about, { type: "string", format: "date-time" });
  return part(json, TIME_SAMPLE);
}

/** Always the same value. */
export function only(about: string, value: JsonValue): AnswerPart {
  return part(said(about, { const: value }), value);
}

/** A list. */
export function arraySchema(about: string, item: AnswerPart): AnswerPart {
  const { json: items, definitions, sample } = item;
  const json = said(about, { type: "array", items });
  return { json, definitions, sample: sample && [sample] };
}

/** An object with these members and no others. */
export function view(
  about: string | undefined,
  members: Readonly<Record<string, AnswerPart>>,
): AnswerPart {
  const all = Object.entries(members);
  const json = shownObject(
    Object.fromEntries(all.map(([name, part]) => [name, part.json])),
    all.filter(([, { mayLack }]) => mayLack).map(([name]) => name),
  );
  const samples = all.flatMap(([name, { sample }]) =>
    sample === undefined ? [] : [[name, sample]]
  );
  return {
    json: about === undefined ? json : { ...json, description: about },
    definitions: definedBy(Object.values(members)),
    sample: Object.fromEntries(samples),
  };
}

/** A member that answers may lack; examples do. */
export function maybe(part: AnswerPart): AnswerPart {
  return { ...part, sample: undefined, mayLack: true };
}

/** A member that answers may lack; examples have it. */
export function often(part: AnswerPart): AnswerPart {
  return { ...part, mayLack: true };
}

/** The ledger address of the owner. */
export const OWNER: AnswerPart = text("The owner's address", OWNER_SAMPLE);

/** What names a memory. */
export const MEMORY_ID: AnswerPart = text(
  "By which a memory is deleted and its blob is read",
  ID_SAMPLE,
);

/** The blob of a memory. */
export const BLOB_ID: AnswerPart = text(
  "The id of the blob that holds it",
  BLOB_SAMPLE,
);

/** The time at which a memory was taken in. */
export const CREATED_AT: AnswerPart = time("When the memory was taken in");

/** The weight that a writer gave a memory. */
export const IMPORTANCE: AnswerPart = maybe(part(said(
  "How much the memory matters, from 0 to 1; null when its writer did not say",
  { type: ["number", "null"] },
)));
