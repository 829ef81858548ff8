/**
 * Durations as the Go language writes them: `300ms`, `-1.5h`, `2h45m`. The
 * form that operators know from the settings of many network services, and the
 * short form of the grammar in `duration.ts`.
 *
 * @module
 */

/** Nanoseconds of each unit; both signs for micro are in use. */
const UNIT_NS: ReadonlyMap<string, bigint> = new Map([
  ["ns", 1n],
  ["us", 1_000n],
  ["\u00b5s", 1_000n],
  ["\u03bcs", 1_000n],
  ["ms", 1_000_000n],
  ["s", 1_000_000_000n],
  ["m", 60_000_000_000n],
  ["h", 3_600_000_000_000n],
]);

/**
 * One number with its unit; the unit is whatever stands before the next number.
 */
const TERM = /(\d*)(?:\.(\d*))?([^\d.]+)/y;

/** Nanoseconds are 64-bit with a sign in Go; beyond that it refuses. */
const MAX_NS = 2n ** 63n - 1n;

const NS_PER_MS = 1_000_000n;

/**
 * Reads a Go duration, with the rules of Go's `time.ParseDuration`: an
 * optional sign, then numbers with a unit each (`ns`, `us`, `µs`, `ms`, `s`,
 * `m`, `h`); `0` may stand without one. Blanks are not allowed.
 *
 * @returns Milliseconds, with a fraction below one millisecond; exact to the
 * nanosecond up to 52 days. `undefined` when `text` is no duration or exceeds
 * Go's range of about 292 years.
 */
export function parseGoDuration(text: string): number | undefined {
  const negative = text.startsWith("-");
  const body = negative || text.startsWith("+") ? text.slice(1) : text;
  if (body === "0") return 0;
  const total = sumTerms(body);
  if (total === undefined) return undefined;
  if (total > (negative ? MAX_NS + 1n : MAX_NS)) return undefined;
  return toMs(negative ? -total : total);
}

function sumTerms(body: string): bigint | undefined {
  if (body === "") return undefined;
  let total = 0n;
  let position = 0;
  while (position < body.length) {
    TERM.lastIndex = position;
    const match = TERM.exec(body);
    if (match === null) return undefined;
    const [term, whole = "", fraction = "", unit = ""] = match;
    const unitNs = UNIT_NS.get(unit);
    if (unitNs === undefined || whole + fraction === "") return undefined;
    if (whole.replace(/^0+/, "").length > 19) return undefined;
    total += BigInt(whole === "" ? 0 : whole) * unitNs +
      fractionNs(fraction, unitNs);
    if (total > MAX_NS + 1n) return undefined;
    position += term.length;
  }
  return total;
}

/**
 * Go computes the fraction in floating point and cuts it, so `0.333…h` with
 * nineteen digits is 20 minutes; the same is done here. Digits beyond 63 bits
 * are ignored.
 */
function fractionNs(digits: string, unitNs: bigint): bigint {
  let value = 0n;
  let scale = 1;
  for (const digit of digits) {
    const next = value * 10n + BigInt(digit);
    if (value > MAX_NS / 10n || next > MAX_NS + 1n) break;
    value = next;
    scale *= 10;
  }
  return BigInt(Math.trunc(Number(value) * (Number(unitNs) / scale)));
}

function toMs(ns: bigint): number {
  const exact = BigInt.asIntN(53, ns) === ns;
  if (exact) return Number(ns) / Number(NS_PER_MS);
  return Number(ns / NS_PER_MS) + Number(ns % NS_PER_MS) / Number(NS_PER_MS);
}
