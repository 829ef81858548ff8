/**
 * Checks read-only members that a client sends back: they may not differ.
 *
 * @module
 */

import { type Fault, MAX_FAULTS, pointerTo } from "./fault.ts";
import { jsonEquals } from "./json_value.ts";
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
      detail: `Cannot change field "${name}": the service sets it; leave it ` +
        "out or send it as it is",
    });
  }
  return faults.slice(0, MAX_FAULTS);
}
