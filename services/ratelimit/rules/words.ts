/**
 * The words of a configuration file, and what is said of others.
 *
 * @module
 */

import { nearest } from "../../shared/did_you_mean.ts";
import { isNotText } from "./yaml_scalar.ts";

/** A place in a file that has words of its own. */
export type Place = "top" | "descriptor" | "rate_limit" | "replaces";

const WORDS: Readonly<Record<Place, readonly string[]>> = {
  top: ["domain", "descriptors"],
  descriptor: [
    "key",
    "value",
    "rate_limit",
    "descriptors",
    "shadow_mode",
    "quota_mode",
    "detailed_metric",
    "value_to_metric",
    "share_threshold",
    "metadata",
  ],
  rate_limit: [
    "unit",
    "requests_per_unit",
    "unlimited",
    "name",
    "replaces",
  ],
  replaces: ["name"],
};

const PLACES: readonly Place[] = [
  "top",
  "descriptor",
  "rate_limit",
  "replaces",
];
const PLACE_NAMES: Readonly<Record<Place, string>> = {
  top: "the top level",
  descriptor: "an item of descriptors",
  rate_limit: "rate_limit",
  replaces: "an item of replaces",
};

/** The words that may stand at a place. */
export function allowedWords(place: Place): readonly string[] {
  return WORDS[place];
}

/** What is wrong with a word, and what to write instead. */
export function unknownWord(word: string, place: Place): string {
  if (isNotText(word)) {
    return `config error, key is not of type string: ${word}`;
  }
  const home = PLACES.find((other) => WORDS[other].includes(word));
  if (home !== undefined) {
    return `config error, "${word}" does not belong into ${
      PLACE_NAMES[place]
    }; write it into ${PLACE_NAMES[home]}`;
  }
  const near = nearest(word, WORDS[place]);
  return `config error, unknown key '${word}'` +
    (near === undefined ? "" : `, did you mean '${near}'`);
}
