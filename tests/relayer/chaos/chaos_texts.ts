/**
 * Texts, keys and metadata whose words are found nowhere else.
 *
 * @module
 */

import type { SeededRandom } from "../../support/seeded_random.ts";
import type {
  KeyedRequest,
  KnownMemories,
  SentText,
} from "./known_memories.ts";

/** Letters of the words that are searched for. */
const LONG_ENOUGH = 7;
const WORDS = [
  "albatross",
  "bergamot",
  "calliope",
  "dandelion",
  "eiderdown",
  "filigree",
  "gossamer",
  "hollyhock",
  "isinglass",
  "jacaranda",
  "kittiwake",
  "lodestone",
  "marzipan",
  "nightjar",
  "obsidian",
  "persimmon",
] as const;
const NAMESPACES = ["chaos-a", "chaos-b"] as const;

/** Makes them, each for the first time. */
export class ChaosTexts {
  readonly #random: SeededRandom;
  readonly #known: KnownMemories;
  #made = 0;

  /** Texts from a source of chance; what is made is noted as a secret. */
  constructor(random: SeededRandom, known: KnownMemories) {
    this.#random = random;
    this.#known = known;
  }

  /** A request with so many texts. */
  request(
    texts: number,
    options: { readonly supersedes?: string } = {},
  ): KeyedRequest {
    const key = `tangerine-${this.#token()}`;
    this.#known.secrets.push(key);
    return {
      key,
      texts: Array.from({ length: texts }, () => this.#text(options)),
    };
  }

  #text(options: { readonly supersedes?: string }): SentText {
    const token = this.#token();
    const text = `${token} ${this.#random.pick(WORDS)} and ` +
      `${this.#random.pick(WORDS)} near ${this.#random.pick(WORDS)}`;
    const colour = `vermilion-${this.#token()}`;
    // Among so many random ids a short word would stand by chance.
    const words = text.split(" ").filter((word) => word.length >= LONG_ENOUGH);
    this.#known.secrets.push(...words, colour);
    return {
      text,
      namespace: this.#random.pick(NAMESPACES),
      metadata: { colour, weight: this.#made },
      ...options,
    };
  }

  /** A word that there was not before. */
  #token(): string {
    const digits = (this.#made++).toString(26).padStart(5, "0");
    const letters = [...digits].map((digit) =>
      String.fromCharCode(97 + parseInt(digit, 26))
    );
    return `qz${letters.join("")}x`;
  }
}
