/**
 * Whole numbers that JavaScript cannot hold to the last digit (RFC 8259, 6).
 * They would come back as others.
 *
 * @module
 */

/** No number of fewer digits is beyond 2^53. */
const LONG = /\d{16}/;
const WHOLE = /^-?\d+$/;

/**
 * Finds a whole number of a JSON text that would change; undefined when there
 * is none. Fractions are approximations anyway.
 */
export function inexactNumber(text: string): string | undefined {
  // Hardly any text has one, and looking closer costs as much as reading it.
  if (!LONG.test(text)) return undefined;
  let found: string | undefined;
  JSON.parse(text, (_, value: unknown, context?: { source?: string }) => {
    const source = context?.source;
    if (
      found === undefined && typeof value === "number" &&
      !Number.isSafeInteger(value) && source !== undefined &&
      WHOLE.test(source) && String(BigInt(value)) !== String(BigInt(source))
    ) found = source.slice(0, 40);
    return value;
  });
  return found;
}
