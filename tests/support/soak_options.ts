/**
 * The command line options of the soak tests that repeatedly kill a service.
 *
 * @module
 */

import { parseArgs } from "node:util";

/** The options of a soak test. */
export interface SoakOptions {
  /** Number of times that the service is killed. */
  readonly kills: number;
  /** The seed of all random choices. */
  readonly seed: number;
}

/** The lines of `--help` about these options. */
export const SOAK_OPTIONS = `  --kills=<n>   how often it is killed (50)
  --seed=<n>    what chance begins with (drawn, and told)
  --help        this text`;

/**
 * Reads the arguments; `undefined` when help is requested.
 *
 * @throws {TypeError} when an argument is unknown
 * @throws {RangeError} when a value is not a number
 */
export function readSoakOptions(
  args: readonly string[],
): SoakOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      kills: { type: "string", default: "50" },
      seed: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return undefined;
  const drawn = String(crypto.getRandomValues(new Uint32Array(1))[0]);
  return {
    kills: parseCount("kills", values.kills),
    seed: parseCount("seed", values.seed ?? drawn),
  };
}

function parseCount(name: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value < 2 ** 32) return value;
  throw new RangeError(`Cannot take --${name} "${text}": it is not a count`);
}
