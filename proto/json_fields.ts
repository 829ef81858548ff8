/**
 * Reads the fields of a proto3 message from JSON values.
 *
 * @module
 */

/** What is wrong with a JSON value, and where. */
interface JsonFieldFault {
  /** What is wrong, with the place. */
  readonly what: string;
  /** The place, such as `descriptors[2].limit`; `$` is the whole. */
  readonly path: string;
}

const INT32_MIN = -0x8000_0000;
const INT32_MAX = 0x7fff_ffff;
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const QUOTED_LENGTH = 64;

/**
 * Reads the fields of JSON values and keeps the first fault. After a fault,
 * every read returns an empty value, so a reader of a message needs one check,
 * at its end. Absent fields, `null` included, are undefined.
 *
 * The reader keeps its path by `enter` and `leave`, so that a place is written
 * out only for a fault.
 */
export class JsonFields {
  /** The first fault; undefined while every value was valid. */
  invalid: JsonFieldFault | undefined;
  readonly #path: (string | number)[] = [];

  /** Appends the name of a field to the path, before its value is read. */
  enter(name: string): void {
    this.#path.push(name);
  }

  /** Removes the last step from the path, after its value was read. */
  leave(): void {
    this.#path.pop();
  }

  /**
   * Returns the fields of an object by name; a field that is null is undefined.
   *
   * @param names every accepted spelling, with the name the field is returned
   * by
   */
  object<Name extends string>(
    value: unknown,
    names: Readonly<Record<string, Name>>,
  ): Partial<Record<Name, unknown>> {
    const found: Partial<Record<Name, unknown>> = {};
    if (this.invalid !== undefined) return found;
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      this.#expected("an object", undefined, value);
      return found;
    }
    for (const spelling of Object.keys(value)) {
      const name = Object.hasOwn(names, spelling) ? names[spelling] : undefined;
      if (name === undefined) {
        this.#refuse(`unknown field ${quoted(spelling)} at`, undefined);
        return {};
      }
      if (name in found) {
        this.#refuse(
          `field ${quoted(name)} comes in two spellings at`,
          undefined,
        );
        return {};
      }
      const item: unknown = (value as Record<string, unknown>)[spelling];
      found[name] = item === null ? undefined : item;
    }
    return found;
  }

  /** Reads a list, each item by `read`; an absent list is empty. */
  list<Item>(
    name: string,
    value: unknown,
    read: (item: unknown) => Item,
  ): Item[] {
    if (value === undefined || this.invalid !== undefined) return [];
    if (!Array.isArray(value)) {
      this.#expected("a list", name, value);
      return [];
    }
    const items: Item[] = [];
    this.#path.push(name, 0);
    for (let index = 0; index < value.length; index++) {
      this.#path[this.#path.length - 1] = index;
      items.push(read(value[index]));
      if (this.invalid !== undefined) break;
    }
    this.#path.length -= 2;
    return items;
  }

  /** Reads a text. */
  text(name: string, value: unknown): string | undefined {
    if (value === undefined) return undefined;
    if (typeof value !== "string") return this.#expected("text", name, value);
    if (value.isWellFormed()) return value;
    return this.#refuse("half of a surrogate pair in the text at", name);
  }

  /** Reads a boolean. */
  bool(name: string, value: unknown): boolean | undefined {
    if (value === undefined || typeof value === "boolean") return value;
    return this.#expected("true or false", name, value);
  }

  /**
   * Reads an unsigned whole number up to `max`, as number or text: `5`, `5.0`,
   * `"5"`, `1e3`.
   */
  uint(name: string, value: unknown, max: number): number | undefined {
    if (value === undefined) return undefined;
    const number = toNumber(value);
    if (Number.isInteger(number) && number >= 0 && number <= max) {
      return number;
    }
    return this.#expected(`a whole number from 0 to ${max}`, name, value);
  }

  /** Reads an enum, by name or number; the number need not have a name. */
  enum(
    name: string,
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
    return this.#expected(`one of ${known} or its number`, name, value);
  }

  #expected(
    expected: string,
    name: string | undefined,
    value: unknown,
  ): undefined {
    const path = this.#formatPlace(name);
    const what = `"${path}" must be ${expected}, found ${described(value)}`;
    this.invalid ??= { what, path };
  }

  #refuse(what: string, name: string | undefined): undefined {
    const path = this.#formatPlace(name);
    this.invalid ??= { what: `${what} "${path}"`, path };
  }

  /**
   * Returns the path of the field `name` of the object that is read, or of that
   * object itself when no name is given.
   */
  #formatPlace(name: string | undefined): string {
    const steps = name === undefined ? this.#path : [...this.#path, name];
    const text = steps.map((step) =>
      typeof step === "number" ? `[${step}]` : `.${step}`
    ).join("");
    return text === "" ? "$" : text.slice(1);
  }
}

function toNumber(value: unknown): number {
  if (typeof value === "number") return value;
  return typeof value === "string" && JSON_NUMBER.test(value)
    ? Number(value)
    : NaN;
}

function described(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "string") return quoted(value);
  if (typeof value === "object") return "an object";
  return String(value);
}

/** Quotes text that a client sent, on one line and cut to a bounded length. */
function quoted(text: string): string {
  const isLong = text.length > QUOTED_LENGTH;
  return JSON.stringify(isLong ? `${text.slice(0, QUOTED_LENGTH)}…` : text);
}
