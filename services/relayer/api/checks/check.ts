/**
 * Checks of what strangers send: each gives the value with its type, or says
 * what is wrong with it.
 *
 * @module
 */

import { nearest } from "../../../shared/did_you_mean.ts";
import { quote } from "../../../shared/quote.ts";

/** What checking a value comes to. */
export type Checked<T> =
  | { readonly kind: "ok"; readonly value: T }
  | {
    readonly kind: "bad";
    /** What is wrong, as the second half of a message. */
    readonly fault: string;
  };

/** Checks a value, undefined when it was not sent; `name` is for the message. */
export type Check<T> = (value: unknown, name: string) => Checked<T>;

/** Checks by the names of members. */
export type Checks = Readonly<Record<string, Check<unknown>>>;

/** The values that {@linkcode Checks} give. */
export type CheckedFields<C extends Checks> = {
  readonly [Name in keyof C]: C[Name] extends Check<infer T> ? T : never;
};

/** A good value. */
export function good<T>(value: T): Checked<T> {
  return { kind: "ok", value };
}

/** A bad value: its name and what is wrong with it, such as `is blank`. */
export function bad(name: string, fault: string): Checked<never> {
  return { kind: "bad", fault: `${quote(name)} ${fault}` };
}

/**
 * Takes nothing, or null, for undefined: clients in other languages send null
 * for what they have not.
 */
export function optional<T>(check: Check<T>): Check<T | undefined> {
  return (value, name) =>
    value === undefined || value === null
      ? good(undefined)
      : check(value, name);
}

/** Takes nothing, or null, for a default. */
export function withDefault<T>(check: Check<T>, fallback: T): Check<T> {
  return (value, name) =>
    value === undefined || value === null ? good(fallback) : check(value, name);
}

/**
 * Checks the members of an object. Members that nobody asks for are left alone:
 * newer clients may send more than is known here.
 */
export function fields<C extends Checks>(
  checks: C,
): Check<CheckedFields<C>> {
  const entries = Object.entries(checks);
  return (value, name) => {
    if (!isJsonObject(value)) return bad(name, "is no object");
    const values: [string, unknown][] = [];
    for (const [key, check] of entries) {
      const member = Object.hasOwn(value, key) ? value[key] : undefined;
      const checked = check(member, name === "" ? key : `${name}.${key}`);
      if (checked.kind === "bad") return checked;
      values.push([key, checked.value]);
    }
    // The names and their checks are those of `checks`, so the types are too.
    return good(Object.fromEntries(values) as CheckedFields<C>);
  };
}

/**
 * Checks the members of an object that has no others: one that is misspelt would
 * have no effect, without a word about why.
 */
export function closedFields<C extends Checks>(
  checks: C,
): Check<CheckedFields<C>> {
  const known = Object.keys(checks);
  const check = fields(checks);
  return (value, name) => {
    const unknown = isJsonObject(value)
      ? Object.keys(value).find((key) => !known.includes(key))
      : undefined;
    if (unknown === undefined) return check(value, name);
    const meant = nearest(unknown, known);
    const advice = meant === undefined
      ? `, but ${known.map((key) => quote(key)).join(", ")}`
      : `; did you mean ${quote(meant)}?`;
    return bad(name, `has no member ${quote(unknown)}${advice}`);
  };
}

/** Checks each item of a list of a bounded length. */
export function list<T>(
  check: Check<T>,
  { minItems, maxItems }: {
    readonly minItems: number;
    readonly maxItems: number;
  },
): Check<readonly T[]> {
  return (value, name) => {
    if (!Array.isArray(value)) return bad(name, "is no list");
    if (value.length < minItems || value.length > maxItems) {
      return bad(
        name,
        `has ${value.length} items, but ${minItems} to ${maxItems} are taken`,
      );
    }
    const values: T[] = [];
    for (const [index, item] of value.entries()) {
      const checked = check(item, `${name}[${index}]`);
      if (checked.kind === "bad") return checked;
      values.push(checked.value);
    }
    return good(values);
  };
}

/** Whether a value is an object as JSON means it. */
export function isJsonObject(
  value: unknown,
): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
