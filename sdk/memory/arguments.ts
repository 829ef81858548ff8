/**
 * Checks what callers pass, for those without a type checker: a slip is an
 * exception before anything is sent.
 *
 * @module
 */

/**
 * A text.
 *
 * @throws {TypeError} When it is something else.
 */
export function requireText(value: unknown, name: string): string {
  if (typeof value === "string") return value;
  throw new TypeError(
    `Cannot use ${name}: it is ${describe(value)} instead of a string`,
  );
}

/**
 * A text with at least one character.
 *
 * @throws {TypeError} When it is something else.
 */
export function requireName(value: unknown, name: string): string {
  const text = requireText(value, name);
  if (text !== "") return text;
  throw new TypeError(`Cannot use ${name}: it is empty`);
}

/**
 * A text with at least one character, or undefined.
 *
 * @throws {TypeError} When it is something else.
 */
export function optionalName(
  value: unknown,
  name: string,
): string | undefined {
  return value === undefined ? undefined : requireName(value, name);
}

/**
 * A finite number, or undefined.
 *
 * @throws {TypeError} When it is something else.
 */
export function optionalNumber(
  value: unknown,
  name: string,
): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new TypeError(
    `Cannot use ${name}: it is ${describe(value)} instead of a finite number`,
  );
}

/**
 * Options, where a text stands for the namespace: `f(text, "notes")` is
 * `f(text, { namespace: "notes" })`.
 *
 * @throws {TypeError} When it is something else.
 */
export function namespaceOrOptions<Options extends object>(
  value: string | Options | undefined,
  more?: Options,
): Options & { readonly namespace?: string | undefined } {
  if (value === undefined) return { ...more } as Options;
  if (typeof value === "string") {
    return { ...more, namespace: value } as Options;
  }
  if (typeof value === "object" && value !== null) return { ...value, ...more };
  throw new TypeError(
    `Cannot use the second argument: it is ${describe(value)} instead of a ` +
      `namespace or options`,
  );
}

/** A value in few words, without what may be secret. */
export function describe(value: unknown): string {
  if (value === null) return "null";
  if (typeof value === "number") return String(value);
  if (Array.isArray(value)) return "a list";
  return value === undefined
    ? "undefined"
    : `${typeof value === "object" ? "an" : "a"} ${typeof value}`;
}
