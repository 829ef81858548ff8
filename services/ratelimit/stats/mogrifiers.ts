/**
 * Mogrifiers of tagged statsd: patterns that move parts of a dotted name into
 * tags (`USE_TAGGED_STATSD_MOGRIFIERS`).
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";
import type { ReadVariable } from "../../shared/settings.ts";
import { MOGRIFIER_PREFIXES } from "../statistics_settings.ts";
import { expanded, goPattern, type NamePattern } from "./go_pattern.ts";
import { splitTags, type StatsdName } from "./statsd_line.ts";

/** One pattern, with the name and tags that names which match it get. */
interface Mogrifier {
  /** The pattern, which may match anywhere in the name. */
  readonly pattern: NamePattern;
  /** The name that is sent; `$1` stands for what the first group matched. */
  readonly name: string;
  /** Tags that are sent with it; `$1` in a value works as in `name`. */
  readonly tags: readonly (readonly [key: string, value: string])[];
}

/** The outcome of reading mogrifiers. */
type MogrifiersOutcome =
  | { readonly kind: "ok"; readonly mogrifiers: readonly Mogrifier[] }
  | { readonly kind: "invalid"; readonly problems: readonly string[] };

const FIELDS = ["PATTERN", "NAME", "TAGS"] as const;

/**
 * Reads the variables `TAGGED_STATSD_MOGRIFIERS_<NAME>_PATTERN`, `_NAME` and
 * `_TAGS` of each name. The order of the names is the order in which the
 * mogrifiers are tried.
 */
export async function readMogrifiers(
  names: readonly string[],
  readVariable: ReadVariable,
): Promise<MogrifiersOutcome> {
  const problems: string[] = [];
  const mogrifiers: Mogrifier[] = [];
  for (const name of names) {
    const read = (field: typeof FIELDS[number]): string => {
      const set = variables(name, field).flatMap((variable) => {
        const text = readVariable(variable) ?? "";
        return text === "" ? [] : [{ variable, text }];
      });
      const [first] = set;
      const other = set.find(({ text }) => text !== first?.text);
      if (first !== undefined && other !== undefined) {
        problems.push(
          `${first.variable} and ${other.variable} differ; keep one`,
        );
      }
      return first?.text ?? "";
    };
    const source = read("PATTERN");
    const target = read("NAME");
    const tags = read("TAGS");
    const missing = source === "" ? "PATTERN" : target === "" ? "NAME" : "";
    if (missing !== "") {
      problems.push(
        `the mogrifier ${quote(name)} needs ${variables(name, missing)[0]}`,
      );
      continue;
    }
    const pattern = await goPattern(source);
    const pairs = parseTags(tags);
    if (typeof pattern === "string") {
      problems.push(`${variables(name, "PATTERN")[0]}: ${pattern}`);
    } else if (pairs === undefined) {
      problems.push(
        `${variables(name, "TAGS")[0]} is ${quote(tags)}, ` +
          "expected key:value,key:value without empty ones",
      );
    } else mogrifiers.push({ pattern, name: target, tags: pairs });
  }
  return problems.length > 0
    ? { kind: "invalid", problems }
    : { kind: "ok", mogrifiers };
}

function variables(name: string, field: string): string[] {
  return MOGRIFIER_PREFIXES.map((prefix) =>
    `${prefix}${name.toUpperCase()}_${field}`
  );
}

/** Reads tags; undefined when a key or a value is empty. */
function parseTags(text: string): Mogrifier["tags"] | undefined {
  if (text.trim() === "") return [];
  const pairs = text.split(",").map((pair) => {
    const colon = pair.indexOf(":");
    return [pair.slice(0, colon).trim(), pair.slice(colon + 1).trim()] as const;
  });
  const isGood = pairs.every(([key, value], index) =>
    key !== "" && value !== "" && text.split(",")[index]!.includes(":")
  );
  return isGood ? pairs : undefined;
}

/**
 * Returns a function that gives a name its tagged form. The first mogrifier
 * that matches counts; `common` tags go with every name, and of two tags with
 * one key the more specific one stays. Results are kept, so that a flush runs
 * no pattern; there are as many as there are statistics.
 */
export function mogrified(
  mogrifiers: readonly Mogrifier[],
  common: Readonly<Record<string, string>>,
): (name: string) => StatsdName {
  const known = new Map<string, StatsdName>();
  return (name) => {
    let made = known.get(name);
    if (made === undefined) {
      made = taggedName(name, { mogrifiers, common });
      known.set(name, made);
    }
    return made;
  };
}

function taggedName(
  name: string,
  { mogrifiers, common }: {
    readonly mogrifiers: readonly Mogrifier[];
    readonly common: Readonly<Record<string, string>>;
  },
): StatsdName {
  const tags = new Map(Object.entries(common));
  // A name may bring tags of its own.
  const { bare, tags: own } = splitTags(name);
  for (const [key, value] of own) tags.set(key, value);
  let shown = bare;
  for (const mogrifier of mogrifiers) {
    const groups = mogrifier.pattern.exec(bare);
    if (groups === null) continue;
    shown = expanded(mogrifier.name, groups);
    for (const [key, value] of mogrifier.tags) {
      tags.set(key, expanded(value, groups));
    }
    break;
  }
  const list = [...tags].map(([key, value]) =>
    `${tagText(key)}:${tagText(value)}`
  );
  const ending = list.length === 0 ? "" : `|#${list.sort().join(",")}`;
  return { name: shown.replace(/[:|@#\p{Cc}]/gu, "_"), ending };
}

/** Replaces `,`, `|` and `#`, which separate tags, and line ends. */
function tagText(text: string): string {
  return text.replace(/[,|#\p{Cc}\p{Zl}\p{Zp}]/gu, "_");
}
