/**
 * Generates texts, keys and metadata with words that occur nowhere else, so
 * that a search of the files finds leaks.
 *
 * @module
 */

import type { SeededRandom } from "../../support/seeded_random.ts";
import type {
  KeyedRequest,
  KnownMemories,
  SentText,
} from "./known_memories.ts";

/** The least length of the words that files are searched for. */
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

/** Generates requests; every text is different. */
export class ChaosTexts {
  readonly #random: SeededRandom;
  readonly #known: KnownMemories;
  #made = 0;

  /**
   * Creates a generator with a source of random choices; the words it generates
   * are added to the secrets of `known`.
   */
  constructor(random: SeededRandom, known: KnownMemories) {
    this.#random = random;
    this.#known = known;
  }

  /** Returns a name of a namespace that was not used before. */
  namespace(): string {
    return `passing-${this.#token()}`;
  }

  /** Returns a request with a number of texts. */
  request(
    texts: number,
    options: Partial<Pick<SentText, "supersedes" | "namespace">> = {},
  ): KeyedRequest {
    const key = `tangerine-${this.#token()}`;
    this.#known.secrets.push(key);
    return {
      key,
      texts: Array.from({ length: texts }, () => this.#text(options)),
    };
  }

  #text(
    options: Partial<Pick<SentText, "supersedes" | "namespace">>,
  ): SentText {
    const token = this.#token();
    const text = `${token} ${this.#random.pick(WORDS)} and ` +
      `${this.#random.pick(WORDS)} near ${this.#random.pick(WORDS)}`;
    const colour = `vermilion-${this.#token()}`;
    // A short word could occur by chance among so many random ids.
    const words = text.split(" ").filter((word) => word.length >= LONG_ENOUGH);
    this.#known.secrets.push(...words, colour);
    return {
      text,
      namespace: this.#random.pick(NAMESPACES),
      metadata: { colour, weight: this.#made },
      ...options,
    };
  }

  /** Returns a word that was not used before. */
  #token(): string {
    const digits = (this.#made++).toString(26).padStart(5, "0");
    const letters = [...digits].map((digit) =>
      String.fromCharCode(97 + parseInt(digit, 26))
    );
    return `qz${letters.join("")}x`;
  }
}
