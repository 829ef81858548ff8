/**
 * Checks the arguments of callers, which may not have a type checker: a wrong
 * argument throws before any request is sent.
 *
 * @module
 */

/**
 * Returns a text as it is.
 *
 * @throws {TypeError} When the value is something else.
 */
export function requireText(value: unknown, name: string): string {
  if (typeof value === "string") return value;
  throw new TypeError(
    `Cannot use ${name}: it is ${describe(value)} instead of a string`,
  );
}

/**
 * Returns a text with at least one character as it is.
 *
 * @throws {TypeError} When the value is something else.
 */
export function requireName(value: unknown, name: string): string {
  const text = requireText(value, name);
  if (text !== "") return text;
  throw new TypeError(`Cannot use ${name}: it is empty`);
}

/**
 * Returns a text with at least one character, or undefined, as it is.
 *
 * @throws {TypeError} When the value is something else.
 */
export function optionalName(
  value: unknown,
  name: string,
): string | undefined {
  return value === undefined ? undefined : requireName(value, name);
}

/**
 * Returns a finite number, or undefined, as it is.
 *
 * @throws {TypeError} When the value is something else.
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
 * Returns options, where a text stands for the namespace: `f(text, "notes")` is
 * `f(text, { namespace: "notes" })`.
 *
 * @throws {TypeError} When the value is something else.
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

/**
 * Describes a value in a few words for an error, without content that may be
 * secret.
 */
export function describe(value: unknown): string {
  if (value === null) return "null";
  if (typeof value === "number") return String(value);
  if (Array.isArray(value)) return "a list";
  return value === undefined
    ? "undefined"
    : `${typeof value === "object" ? "an" : "a"} ${typeof value}`;
}
