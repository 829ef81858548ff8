/**
 * Checks read-only members that a client sends back: they may not differ.
 *
 * @module
 */

import { type Fault, MAX_FAULTS, pointerTo } from "./fault.ts";
import type { Fields } from "./object.ts";

/** What a client sent and the current object. */
interface ReadOnlyCheck {
  /** What was read of the client's object. */
  readonly given: Readonly<Record<string, unknown>>;
  /** The object as the client was told it; absent when there is none yet. */
  readonly current: Readonly<Record<string, unknown>> | undefined;
  /** The members of the object. */
  readonly fields: Fields;
  /**
   * The pointer of the object within the body.
   * @default "", the whole body
   */
  readonly at?: string;
}

/**
 * Compares read-only members that were sent with the current ones. An equal
 * value is accepted, so that an object can be read, changed and sent back
 * whole.
 */
export function readOnlyFaults(check: ReadOnlyCheck): readonly Fault[] {
  const { given, current, fields, at = "" } = check;
  const faults: Fault[] = [];
  for (const [name, field] of Object.entries(fields)) {
    if (!("kind" in field) || field.kind !== "read_only") continue;
    const sent = given[name];
    if (sent === undefined || jsonEquals(sent, current?.[name])) continue;
    faults.push({
      pointer: pointerTo(at, name),
      code: "read_only",
      detail: `Cannot change field "${name}": the service decides it; ` +
        "leave it out or send it as it is",
    });
  }
  return faults.slice(0, MAX_FAULTS);
}

/**
 * Tells whether two JSON values are equal, whatever the order of members.
 * What is absent equals null.
 */
export function jsonEquals(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (left === undefined || left === null) {
    return right === undefined || right === null;
  }
  if (typeof left !== "object" || typeof right !== "object") return false;
  if (right === null || Array.isArray(left) !== Array.isArray(right)) {
    return false;
  }
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length &&
      left.every((item, index) => jsonEquals(item, right[index]));
  }
  return areMembersEqual(left, right);
}

function areMembersEqual(left: object, right: object): boolean {
  for (const name of Object.keys(left)) {
    if (!jsonEquals(ownMember(left, name), ownMember(right, name))) {
      return false;
    }
  }
  for (const name of Object.keys(right)) {
    const isOther = !Object.hasOwn(left, name) &&
      !jsonEquals(undefined, ownMember(right, name));
    if (isOther) return false;
  }
  return true;
}

/** An own member of an object; not an inherited one such as `constructor`. */
function ownMember(value: object, name: string): unknown {
  return Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}
