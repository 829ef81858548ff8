/**
 * The command line options of the soak tests that repeatedly harm a service, on
 * SQLite or on PostgreSQL.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { type Harm, HARMS } from "./postgres_cluster.ts";

/** The options of a soak test. */
export interface SoakOptions {
  /** Number of times that the service is harmed. */
  readonly kills: number;
  /** The seed of all random choices. */
  readonly seed: number;
  /** What keeps the data. */
  readonly store: "sqlite" | "postgres";
  /** The only harms, on PostgreSQL; undefined for all of them. */
  readonly harms: readonly Harm[] | undefined;
  /** The service's own options, by name. */
  readonly own: Readonly<Record<string, number>>;
}

/** An option that a service has beside the common ones: a count. */
export interface OwnOption {
  /** Its line of `--help`, without the name. */
  readonly help: string;
  /** Its value when it is not given. */
  readonly usual: number;
}

/** The lines of `--help` about all options. */
export function soakHelp(own: Readonly<Record<string, OwnOption>>): string {
  const lines = Object.entries(own).map(([name, { help, usual }]) =>
    `  ${`--${name}=<n>`.padEnd(14)} ${help} (${usual})\n`
  );
  return `  --kills=<n>   how often it is harmed (50)
  --seed=<n>    what chance begins with (drawn, and told)
  --store=<s>   sqlite: one process, which is killed; or postgres: several, and
                a primary with two standbys that fails over (sqlite)
  --harm=<h>    on postgres, only this harm: ${HARMS.slice(0, 3).join(", ")},
                ${HARMS.slice(3).join(", ")} (all)
${lines.join("")}  --help        this text`;
}

/**
 * Reads the arguments; `undefined` when help is requested.
 *
 * @throws {TypeError} when an argument is unknown
 * @throws {RangeError} when a value does not fit
 */
export function readSoakOptions(
  args: readonly string[],
  own: Readonly<Record<string, OwnOption>> = {},
): SoakOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      kills: { type: "string", default: "50" },
      seed: { type: "string" },
      store: { type: "string", default: "sqlite" },
      harm: { type: "string" },
      help: { type: "boolean", default: false },
      ...Object.fromEntries(
        Object.keys(own).map((name) => [name, { type: "string" as const }]),
      ),
    },
  });
  const given: Readonly<Record<string, unknown>> = values;
  if (given["help"] === true) return undefined;
  const drawn = String(crypto.getRandomValues(new Uint32Array(1))[0]);
  const read = (name: string, usual = ""): string =>
    String(given[name] ?? usual);
  const [store, harm] = [read("store"), read("harm")];
  if (store !== "sqlite" && store !== "postgres") {
    throw new RangeError(
      `Cannot take --store "${store}": it is neither sqlite nor postgres`,
    );
  }
  const harms = HARMS.filter((name) => name === harm);
  if (harm !== "" && harms.length === 0) {
    throw new RangeError(
      `Cannot take --harm "${harm}": it is none of ${HARMS.join(", ")}`,
    );
  }
  if (harm !== "" && store === "sqlite") {
    throw new RangeError(`Cannot take --harm: it needs --store=postgres`);
  }
  return {
    kills: parseCount("kills", read("kills")),
    seed: parseCount("seed", read("seed", drawn)),
    store,
    harms: harm === "" ? undefined : harms,
    own: Object.fromEntries(
      Object.entries(own).map(([name, { usual }]) => [
        name,
        parseCount(name, read(name, String(usual))),
      ]),
    ),
  };
}

function parseCount(name: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 0 && value < 2 ** 32) return value;
  throw new RangeError(`Cannot take --${name} "${text}": it is not a count`);
}

/** The median and the greatest of some figures, rounded; undefined for none. */
export function summarize(
  figures: readonly number[],
): { readonly median: number; readonly longest: number } | undefined {
  if (figures.length === 0) return undefined;
  const sorted = figures.toSorted((one, other) => one - other);
  return {
    median: Math.round(sorted[Math.floor(sorted.length / 2)] ?? 0),
    longest: Math.round(sorted.at(-1) ?? 0),
  };
}
