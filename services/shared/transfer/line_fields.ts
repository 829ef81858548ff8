/**
 * Reads the fields of a line of an export, which is a JSON object.
 *
 * @module
 */

/** A line that is none of an export. */
export class LineError extends Error {
  /** The name in logs. */
  override readonly name = "LineError";
}

/** The fields of a line. */
export class Fields {
  readonly #fields: Readonly<Record<string, unknown>>;

  /**
   * Takes the line or an object in it.
   *
   * @throws {LineError} when it is no JSON object
   */
  constructor(of: string | object) {
    let value: unknown = of;
    if (typeof of === "string") {
      try {
        value = JSON.parse(of);
      } catch {
        throw new LineError("it is not JSON");
      }
    }
    this.#fields = demandObject(value, "it");
  }

  /** A text. */
  text(name: string): string {
    const value = this.#fields[name];
    if (typeof value === "string") return value;
    throw new LineError(`"${name}" is not a text`);
  }

  /** A text that may be left out. */
  textIfAny(name: string): string | undefined {
    return this.#fields[name] === undefined ? undefined : this.text(name);
  }

  /** A whole number. */
  integer(name: string): number {
    const value = this.#fields[name];
    if (Number.isSafeInteger(value)) return Number(value);
    throw new LineError(`"${name}" is not a whole number`);
  }

  /** A list. */
  list(name: string): readonly unknown[] {
    const value = this.#fields[name];
    if (Array.isArray(value)) return value;
    throw new LineError(`"${name}" is not a list`);
  }

  /** An object. */
  object(name: string): Readonly<Record<string, unknown>> {
    return demandObject(this.#fields[name], `"${name}"`);
  }

  /** An object of texts. */
  texts(name: string): Readonly<Record<string, string>> {
    const fields = this.object(name);
    const texts: Record<string, string> = {};
    for (const [key, value] of Object.entries(fields)) {
      if (typeof value !== "string") {
        throw new LineError(`"${name}" does not only hold texts`);
      }
      texts[key] = value;
    }
    return texts;
  }
}

function demandObject(
  value: unknown,
  name: string,
): Readonly<Record<string, unknown>> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Readonly<Record<string, unknown>>;
  }
  throw new LineError(`${name} is not an object`);
}
