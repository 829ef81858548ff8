/**
 * Entity tags of what is shown.
 *
 * @module
 */

import { sha256 } from "../store/digest.ts";
import { etagOf } from "./etag.ts";

/** Characters of a hash that tell two contents apart: 132 bits. */
const TAG_LENGTH = 22;

/** The strong entity tag of a text. */
export function tagOfText(text: string): string {
  return etagOf(sha256(text).slice(0, TAG_LENGTH));
}

/**
 * The strong entity tag of a record without some of its members: those that
 * change by mere use, such as when it was last seen, must not make a client's
 * version outdated.
 */
export function tagOfRecord<T extends object>(
  record: T,
  without: readonly (keyof T & string)[],
): string {
  const left: readonly string[] = without;
  return tagOfText(
    JSON.stringify(
      Object.entries(record)
        .filter(([name, value]) => value !== undefined && !left.includes(name))
        .sort(([one], [other]) => one < other ? -1 : 1),
    ),
  );
}
