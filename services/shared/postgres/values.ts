/**
 * How values travel to PostgreSQL and back: as text, whatever their type.
 *
 * @module
 */

/** A value of a parameter. Text of JSON is given as text. */
export type SqlValue = string | number | bigint | boolean | Uint8Array | null;

/** A parameter: a value, or a list of them for an array. */
export type SqlParameter = SqlValue | readonly SqlValue[];

/** Most parameters of a statement. */
const MAX_PARAMETERS = 65_533;

/**
 * Values go as text, so that a statement has the same types, and one plan,
 * whatever its values are.
 *
 * @throws {TypeError} when there are too many, or one is undefined
 */
export function encodeParameters(
  parameters: readonly SqlParameter[],
): (string | null)[] {
  if (parameters.length > MAX_PARAMETERS) {
    throw new TypeError(
      `Cannot send ${parameters.length} parameters: at most ${MAX_PARAMETERS}`,
    );
  }
  return parameters.map(encodeParameter);
}

function encodeParameter(value: SqlParameter): string | null {
  if (typeof value === "string" || value === null) return value;
  if (value instanceof Uint8Array) return `\\x${value.toHex()}`;
  if (value === undefined) {
    throw new TypeError("Cannot send a parameter: it is undefined");
  }
  if (typeof value !== "object") return String(value);
  return `{${value.map(encodeElement).join(",")}}`;
}

function encodeElement(value: SqlValue): string {
  // Nothing in it needs an escape but the first character.
  if (value instanceof Uint8Array) return `"\\\\x${value.toHex()}"`;
  const text = encodeParameter(value);
  if (text === null) return "NULL";
  return typeof value === "number" || typeof value === "bigint"
    ? text
    : `"${/["\\]/.test(text) ? text.replace(/["\\]/g, "\\$&") : text}"`;
}

const asItIs = (text: string): string => text;
const parseBoolean = (text: string): boolean => text === "t";
const parseBytes = (text: string): Uint8Array =>
  Uint8Array.fromHex(text.slice(2));

function parseInteger(text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value)) return value;
  throw new RangeError(`Cannot read "${text}": it is above 2^53`);
}

/** Reads a list as PostgreSQL writes it: `{a,"b c",NULL}`. */
function listOf<T>(parse: (text: string) => T): (text: string) => (T | null)[] {
  return (text) =>
    [...text.matchAll(/"((?:[^"\\]|\\.)*)"|[^{},]+/gs)].map(
      ([whole, quoted]) => {
        if (quoted !== undefined) return parse(quoted.replace(/\\(.)/gs, "$1"));
        return whole === "NULL" ? null : parse(whole);
      },
    );
}

/** A type as the npm client takes it. */
interface ClientType {
  readonly to: number;
  readonly from: number[];
  readonly serialize: (text: string) => string;
  readonly parse: (text: string) => unknown;
}

/** How the client writes and reads types, by their ids in PostgreSQL. */
export const TYPES: Readonly<Record<string, ClientType>> = Object.fromEntries(
  ([
    [[16], parseBoolean],
    [[17], parseBytes],
    [[20], parseInteger],
    [[114, 3802], asItIs],
    [[1000], listOf(parseBoolean)],
    [[1001], listOf(parseBytes)],
    [[1005, 1007, 1016], listOf(parseInteger)],
    [[1021, 1022], listOf(Number)],
    [[1009, 1015, 199, 3807], listOf(asItIs)],
  ] as const).map(([from, parse]) => [
    `type${from[0]}`,
    { to: from[0], from: [...from], serialize: asItIs, parse },
  ]),
);
