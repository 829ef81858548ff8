/**
 * A kind of records as a table of fields, by which records are read, shown and
 * changed.
 *
 * @module
 */

import { parsed } from "../../shared/schema/composite.ts";
import {
  type ChangesOf,
  type Field,
  type Fields,
  object,
  type ObjectOf,
  toChanges,
} from "../../shared/schema/object.ts";
import {
  described,
  type JsonObject,
  type JsonValue,
  named,
  type Schema,
} from "../../shared/schema/schema.ts";
import { text } from "../../shared/schema/values.ts";

/** A field of a record in the API: how it is read, kept and shown. */
export interface RecordField<Value, Facts> {
  /**
   * The schema of what clients may send; read-only for fields that the service
   * alone decides.
   */
  readonly field: Field;
  /**
   * The record's member that the field stands for: changing the field changes
   * the member, unless the field is read-only.
   * @default the field stands for no member and cannot be changed by itself
   */
  readonly key?: keyof Value & string;
  /**
   * What the field shows of a record; undefined leaves the field out.
   * @default the member; without a member, nothing
   */
  readonly show?: (value: Value, facts: Facts) => unknown;
  /**
   * An example of what the field shows, for the document.
   * @default nothing
   */
  readonly example?: JsonValue;
}

/**
 * The fields of a record by name, in the order in which they are shown. `Facts`
 * is what must be known besides the record to show it.
 */
export type RecordTable<Value, Facts = void> = Readonly<
  Record<string, RecordField<Value, Facts>>
>;

/** A table that has a schema for each field. */
type AnyTable = Readonly<Record<string, { readonly field: Field }>>;

/** The schemas of a table's fields, by name. */
export type FieldsOf<T extends AnyTable> = {
  readonly [Name in keyof T]: T[Name]["field"];
};

/** The schemas of a table's fields, by name. */
export function toFields<T extends AnyTable>(table: T): FieldsOf<T> {
  const fields = Object.entries(table).map((
    [name, { field }],
  ) => [name, field]);
  // Each name has its own field.
  return Object.fromEntries(fields) as FieldsOf<T>;
}

/** A table with an example of each field. */
type ExemplaryTable = Readonly<Record<string, { readonly example: JsonValue }>>;

/** The examples of a table's fields. */
export type ExampleOf<T extends ExemplaryTable> = {
  readonly [Name in keyof T]: T[Name]["example"];
};

/** An example of a record, for the document. */
export function tableExample<T extends ExemplaryTable>(
  table: T,
): ExampleOf<T> {
  const examples = Object.entries(table)
    .map(([name, { example }]) => [name, example]);
  // Each name has its own example.
  return Object.fromEntries(examples) as ExampleOf<T>;
}

/** A record as the API shows it. */
export type RecordView = Readonly<Record<string, unknown>>;

/** Makes the function that shows records of a table. */
export function createViewer<Value, Facts = void>(
  table: RecordTable<Value, Facts>,
): (value: Value, facts: Facts) => RecordView {
  const fields = Object.entries(table);
  return (value, facts) => {
    const view: Record<string, unknown> = {};
    for (const [name, { key, show }] of fields) {
      const shown = show === undefined ? key && value[key] : show(value, facts);
      if (shown !== undefined) view[name] = shown;
    }
    return view;
  };
}

/**
 * The schema of records that are read whole, as a file has them: a record has
 * a member for each field.
 */
export function toStoredSchema<Value>(
  table: RecordTable<Value>,
): Schema<Value> {
  const keys = Object.entries(table).map(([name, { key }]) => [name, key]);
  return parsed(object(toFields(table)), (given: Record<string, unknown>) => {
    const members = keys.map(([name = "", key = name]) => [key, given[name]]);
    // Each member has the type that the schema of its field reads.
    return { kind: "ok", value: Object.fromEntries(members) as Value };
  });
}

/**
 * The schema of a body that changes a record, as a named component of the
 * document.
 */
export function changesSchema<F extends Fields>(
  name: string,
  fields: F,
  example: JsonObject,
): Schema<ObjectOf<ChangesOf<F>>> {
  return named(name, object(toChanges(fields)), {
    description: "Given fields are changed, others stay, and " +
      "null resets to the default",
    examples: [example],
  });
}

/** A record, and the names of the fields that were changed. */
interface ChangedRecord<Value> {
  readonly record: Value;
  readonly changed: readonly string[];
}

/**
 * Applies the changes that a client sent to a record; the same record when no
 * value differs. Fields that are absent or undefined stay. Null stands for the
 * field's default, or, in a field without one, for its value in `resets`;
 * without either it changes nothing.
 */
export function changeRecord<Value extends object, Facts>(
  table: RecordTable<Value, Facts>,
  record: Value,
  { changes, resets = {} }: {
    readonly changes: Readonly<Record<string, unknown>>;
    readonly resets?: Readonly<Record<string, unknown>>;
  },
): ChangedRecord<Value> {
  const next: Partial<Record<keyof Value, unknown>> = { ...record };
  const changed: string[] = [];
  for (const [name, { field, key }] of Object.entries(table)) {
    const given = changes[name];
    if (key === undefined || given === undefined || isReadOnly(field)) continue;
    const value = given === null
      ? valueOfNull(name, { field, resets, kept: record[key] })
      : given;
    if (value === record[key]) continue;
    next[key] = value;
    changed.push(name);
  }
  // A member has the type that the schema of its field reads.
  return { record: changed.length === 0 ? record : next as Value, changed };
}

function isReadOnly(field: Field): boolean {
  return "kind" in field && field.kind === "read_only";
}

function valueOfNull(
  name: string,
  { field, resets, kept }: {
    readonly field: Field;
    readonly resets: Readonly<Record<string, unknown>>;
    readonly kept: unknown;
  },
): unknown {
  if ("kind" in field && field.kind === "default") return field.fallback;
  return Object.hasOwn(resets, name) ? resets[name] : kept;
}

/** The schema of an id that begins with a prefix. */
export function shownId(prefix: string): Schema<string> {
  return described(
    text({ minLength: 1, maxLength: 64 }),
    `Its id, which begins with \`${prefix}_\``,
  );
}

/**
 * The schema of a time as the API shows it: RFC 3339 in UTC with milliseconds.
 */
export function shownTime(description: string): Schema<string> {
  return described(text({ maxLength: 27, format: "date-time" }), description);
}
