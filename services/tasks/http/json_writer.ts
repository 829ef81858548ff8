/**
 * Writes JSON in pieces, so that no large value holds up other requests.
 *
 * @module
 */

import type { Pausing } from "../../shared/slices.ts";
import type { MaybePromise } from "../../shared/settled.ts";

/** About how many values are written in one go. */
const PIECE = 1_024;
/** How many characters of a string count as one value. */
const CHARS_OF_VALUE = 256;
/** Up to so many member names, listing an object's names is quick. */
const FEW_NAMES = 64;

/**
 * Writes a value that was parsed from JSON, as `JSON.stringify` does.
 *
 * @returns A text at once when the value is small, otherwise a promise.
 */
export function writeJson(
  value: unknown,
  pausing: Pausing,
): MaybePromise<string> {
  const writer = new Writer(pausing);
  return writer.weigh(value) < PIECE
    ? JSON.stringify(value)
    : writer.write(value);
}

class Writer {
  readonly #pausing: Pausing;
  readonly #pieces: string[] = [];
  /**
   * Member names of large objects, kept because listing them takes time and
   * they are needed again.
   */
  #names: Map<object, readonly string[]> | undefined;

  constructor(pausing: Pausing) {
    this.#pausing = pausing;
  }

  async write(value: unknown): Promise<string> {
    await this.#add(value);
    return this.#pieces.join("");
  }

  /**
   * How many values there are, where a long string counts as several; at most
   * `limit`.
   */
  weigh(value: unknown, limit = PIECE): number {
    if (typeof value === "string") {
      return Math.min(limit, 1 + value.length / CHARS_OF_VALUE);
    }
    if (typeof value !== "object" || value === null) return 1;
    let weight = 1;
    if (Array.isArray(value)) {
      for (let at = 0; at < value.length && weight < limit; at++) {
        weight += this.weigh(value[at], limit - weight);
      }
      return Math.min(limit, weight);
    }
    for (const name of this.#listNames(value)) {
      if (weight >= limit) break;
      weight += name.length / CHARS_OF_VALUE +
        this.weigh(getMember(value, name), limit - weight);
    }
    return Math.min(limit, weight);
  }

  async #add(value: unknown): Promise<void> {
    if (typeof value !== "object" || value === null) {
      this.#pieces.push(JSON.stringify(value));
      return;
    }
    const isList = Array.isArray(value);
    let piece = isList ? "[" : "{";
    let weight = 0;
    let isFirst = true;
    for (const name of isList ? value.keys() : this.#listNames(value)) {
      if (!isFirst) piece += ",";
      isFirst = false;
      if (typeof name === "string") piece += `${JSON.stringify(name)}:`;
      const member = getMember(value, name);
      const more = this.weigh(member);
      weight += more;
      if (more < PIECE) piece += JSON.stringify(member);
      else {
        this.#pieces.push(piece);
        piece = "";
        await this.#add(member);
      }
      if (weight < PIECE) continue;
      weight = 0;
      const pause = this.#pausing.pause();
      if (pause !== undefined) await pause;
    }
    this.#pieces.push(piece, isList ? "]" : "}");
  }

  #listNames(value: object): readonly string[] {
    const known = this.#names?.get(value);
    if (known !== undefined) return known;
    const names = Object.keys(value);
    if (names.length > FEW_NAMES) (this.#names ??= new Map()).set(value, names);
    return names;
  }
}

/** A member by its name, or an entry of a list by its index. */
function getMember(value: object, name: string | number): unknown {
  return (value as Readonly<Record<string | number, unknown>>)[name];
}
