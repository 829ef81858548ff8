/**
 * The fields of a kind of records as a table: a record is read, shown and changed
 * by it.
 *
 * @module
 */

import {
  type ChangesOf,
  changesOf,
  type Field,
  type Fields,
  object,
  type ObjectOf,
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
interface RecordField<Value, Facts> {
  /** What clients may send; read-only for what the service alone decides. */
  readonly field: Field;
  /**
   * The member of the record that the field is: a change of the one is a change of
   * the other, unless the field is read-only.
   * @default none, so it is not changed by itself
   */
  readonly key?: keyof Value & string;
  /**
   * What is shown of a record; a field that is undefined is left out.
   * @default the member, or nothing where there is none
   */
  readonly show?: (value: Value, facts: Facts) => unknown;
  /**
   * What a good record shows, for the document.
   * @default nothing
   */
  readonly example?: JsonValue;
}

/**
 * The fields of a record by name, in the order they are shown in. `Facts` is what
 * has to be known beside the record to show it.
 */
export type RecordTable<Value, Facts = void> = Readonly<
  Record<string, RecordField<Value, Facts>>
>;

/** What has a schema for each field. */
type AnyTable = Readonly<Record<string, { readonly field: Field }>>;

/** The fields of a table as an object's schema takes them. */
export type FieldsOf<T extends AnyTable> = {
  readonly [Name in keyof T]: T[Name]["field"];
};

/** The fields of a table as an object's schema takes them. */
export function fieldsOf<T extends AnyTable>(table: T): FieldsOf<T> {
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

/** The example of a table, for the document. */
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

/** Makes the function that shows a record by its table. */
export function viewOf<Value, Facts = void>(
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

/** The body that changes a record of these fields, as a component of that name. */
export function changesSchema<F extends Fields>(
  name: string,
  fields: F,
  example: JsonObject,
): Schema<ObjectOf<ChangesOf<F>>> {
  return named(name, object(changesOf(fields)), {
    description: "What is given is changed, what is not given stays, and " +
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
 * A record with the fields that a client sent; the record itself when none of
 * them is another one. What is not there or undefined stays. Null stands for the
 * default, in a field without one for what `resets` says; it changes nothing
 * where that says nothing either.
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
  // What was read by a field's schema is what its member holds.
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

/** An id that begins with this prefix. */
export function shownId(prefix: string): Schema<string> {
  return described(
    text({ minLength: 1, maxLength: 64 }),
    `Its id, which begins with \`${prefix}_\``,
  );
}

/** A time as the API shows it: RFC 3339 in UTC with milliseconds. */
export function shownTime(description: string): Schema<string> {
  return described(text({ maxLength: 27, format: "date-time" }), description);
}
