/**
 * Reading the fields of a proto3 message from JSON values.
 *
 * @module
 */

/** What is wrong with a JSON value, and where. */
interface JsonFieldFault {
  /** What is wrong; names the place too. */
  readonly what: string;
  /** The place, such as `descriptors[2].limit`; `$` is the whole. */
  readonly path: string;
}

const INT32_MIN = -0x8000_0000;
const INT32_MAX = 0x7fff_ffff;
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const QUOTED_LENGTH = 64;

/**
 * Reads values and keeps the first that is wrong; what is read after it is
 * empty, so a reader of a message needs one check, at its end. Absent fields,
 * `null` included, are undefined.
 */
export class JsonFields {
  /** The first thing that is wrong. */
  invalid: JsonFieldFault | undefined;

  /**
   * The fields of an object by name, without those that are null.
   *
   * @param names every accepted spelling, with the name the field is returned by
   */
  object<Name extends string>(
    path: string,
    value: unknown,
    names: Readonly<Record<string, Name>>,
  ): Partial<Record<Name, unknown>> {
    const found: Partial<Record<Name, unknown>> = {};
    if (this.invalid !== undefined) return found;
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      this.#expected("an object", path, value);
      return found;
    }
    const seen = new Set<Name>();
    for (const [spelling, item] of Object.entries(value)) {
      const name = Object.hasOwn(names, spelling) ? names[spelling] : undefined;
      if (name === undefined) {
        this.#refuse(`unknown field ${quoted(spelling)} at`, path);
        return {};
      }
      if (seen.has(name)) {
        this.#refuse(`field ${quoted(name)} comes in two spellings at`, path);
        return {};
      }
      seen.add(name);
      if (item !== null) found[name] = item;
    }
    return found;
  }

  /** The items of a list, each read given its path; none when it is absent. */
  list<Item>(
    path: string,
    value: unknown,
    read: (item: unknown, path: string) => Item,
  ): Item[] {
    const items: Item[] = [];
    if (value === undefined || this.invalid !== undefined) return items;
    if (!Array.isArray(value)) {
      this.#expected("a list", path, value);
      return items;
    }
    for (const [index, item] of value.entries()) {
      items.push(read(item, `${path}[${index}]`));
      if (this.invalid !== undefined) break;
    }
    return items;
  }

  /** Text. */
  text(path: string, value: unknown): string | undefined {
    if (value === undefined) return undefined;
    if (typeof value !== "string") return this.#expected("text", path, value);
    if (value.isWellFormed()) return value;
    return this.#refuse("half of a surrogate pair in the text at", path);
  }

  /** A boolean. */
  bool(path: string, value: unknown): boolean | undefined {
    if (value === undefined || typeof value === "boolean") return value;
    return this.#expected("true or false", path, value);
  }

  /**
   * An unsigned whole number up to `max`, as number or text: `5`, `5.0`, `"5"`,
   * `1e3`.
   */
  uint(path: string, value: unknown, max: number): number | undefined {
    if (value === undefined) return undefined;
    const number = numberOf(value);
    if (Number.isInteger(number) && number >= 0 && number <= max) {
      return number;
    }
    return this.#expected(`a whole number from 0 to ${max}`, path, value);
  }

  /** An enum, by name or number; the number need not have a name. */
  enum(
    path: string,
    value: unknown,
    numbers: Readonly<Record<string, number>>,
  ): number | undefined {
    if (value === undefined) return undefined;
    if (typeof value === "string") {
      if (Object.hasOwn(numbers, value)) return numbers[value];
    } else if (
      typeof value === "number" && Number.isInteger(value) &&
      value >= INT32_MIN && value <= INT32_MAX
    ) return value;
    const known = Object.keys(numbers).join(", ");
    return this.#expected(`one of ${known} or its number`, path, value);
  }

  #expected(expected: string, path: string, value: unknown): undefined {
    const place = placeOf(path);
    const what = `"${place}" must be ${expected}, found ${described(value)}`;
    this.invalid ??= { what, path: place };
  }

  #refuse(what: string, path: string): undefined {
    const place = placeOf(path);
    this.invalid ??= { what: `${what} "${place}"`, path: place };
  }
}

function numberOf(value: unknown): number {
  if (typeof value === "number") return value;
  return typeof value === "string" && JSON_NUMBER.test(value)
    ? Number(value)
    : NaN;
}

function placeOf(path: string): string {
  return path === "" ? "$" : path;
}

function described(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "string") return quoted(value);
  if (typeof value === "object") return "an object";
  return String(value);
}

/** What a stranger sent, on one line and never long. */
function quoted(text: string): string {
  const isLong = text.length > QUOTED_LENGTH;
  return JSON.stringify(isLong ? `${text.slice(0, QUOTED_LENGTH)}…` : text);
}
