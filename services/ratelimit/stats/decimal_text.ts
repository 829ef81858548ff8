/**
 * Numbers as statsd and people read them: decimal, never with an exponent.
 *
 * @module
 */

/**
 * Writes a finite number in plain decimal form with at most six places after
 * the point (`1e21` becomes `1000000000000000000000`, `-0` becomes `0`).
 */
export function decimalText(value: number): string {
  if (Math.abs(value) >= 1e21) return BigInt(Math.round(value)).toString();
  return String(Number.isInteger(value) ? value : Number(value.toFixed(6)));
}
