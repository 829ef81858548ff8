/**
 * Cuts normalized texts into what is split into tokens one by one, as the file
 * of a tokenizer says, in the same way as huggingface/tokenizers
 * `pre_tokenizers`.
 *
 * @module
 */

import { quote } from "../../../shared/quote.ts";
import {
  type JsonObject,
  ModelFileError,
  readFlag,
  toObject,
  toText,
} from "./model_json.ts";
import { readPattern } from "./text_pattern.ts";
import { type PartKind, readPart } from "./tokenizer_part.ts";

/**
 * Cuts a text into words. `isFirst` tells whether the text's beginning is that
 * of the whole.
 */
export type PreTokenizer = (
  text: string,
  isFirst: boolean,
) => readonly string[];

/** What becomes of the places where a text is cut. */
const BEHAVIORS = [
  "Removed",
  "Isolated",
  "MergedWithPrevious",
  "MergedWithNext",
  "Contiguous",
] as const;
type Behavior = typeof BEHAVIORS[number];

const PUNCTUATION = String.raw`!-\/:-@\[-\x60{-~\p{P}`;
const LETTERS = String.raw`\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}`;
const BERT_WORD = new RegExp(
  `[${PUNCTUATION}]|[^\\p{White_Space}${PUNCTUATION}]+`,
  "gu",
);
const WORD = new RegExp(
  `[${LETTERS}]+|[^${LETTERS}\\p{White_Space}]+`,
  "gu",
);
const UNBLANK = /[^\p{White_Space}]+/gu;

const KIND: PartKind<PreTokenizer> = {
  what: "pre-tokenizer",
  list: "pretokenizers",
  join: (parts) => (text, isFirst) =>
    parts.reduce<readonly string[]>(
      (words, cut) =>
        words.flatMap((word, at) => cut(word, isFirst && at === 0)),
      [text],
    ),
  readers: {
    BertPreTokenizer: () => finding(BERT_WORD),
    Whitespace: () => finding(WORD),
    WhitespaceSplit: () => finding(UNBLANK),
    Metaspace: readMetaspace,
    Punctuation: (part) =>
      cutting(
        new RegExp(`[${PUNCTUATION}]`, "gu"),
        readBehavior(part.behavior ?? "Isolated"),
      ),
    Digits: (part) =>
      cutting(
        /\p{N}/gu,
        readFlag(part, "individual_digits", false) ? "Isolated" : "Contiguous",
      ),
    Split: (part) => {
      const pattern = readPattern(toObject(part.pattern, "a pattern"));
      const behavior = readBehavior(part.behavior);
      if (!readFlag(part, "invert", false)) return cutting(pattern, behavior);
      if (behavior === "Removed") return finding(pattern);
      throw new ModelFileError(
        'a pre-tokenizer "Split" is inverted and does not remove what is between',
      );
    },
  },
};

/**
 * Reads the pre-tokenizer of a tokenizer; null where it has none.
 *
 * @throws {ModelFileError} when a part is of another type or form
 */
export function readPreTokenizer(value: unknown): PreTokenizer {
  if (value === null || value === undefined) return (text) => [text];
  return readPart(value, KIND);
}

function readMetaspace(part: JsonObject): PreTokenizer {
  const mark = toText(part.replacement ?? "▁", "a replacement");
  // Files of earlier versions say it with a flag.
  const scheme = part.prepend_scheme ??
    (readFlag(part, "add_prefix_space", true) ? "always" : "never");
  if (
    [...mark].length !== 1 ||
    (scheme !== "always" && scheme !== "first" && scheme !== "never")
  ) {
    throw new ModelFileError(
      `a pre-tokenizer "Metaspace" puts ${quote(mark, { maxChars: 20 })} by ` +
        `the unknown scheme ${quote(String(scheme), { maxChars: 20 })}`,
    );
  }
  const cut = readFlag(part, "split", true)
    ? cutting(
      readPattern({ String: mark }),
      "MergedWithNext",
    )
    : (text: string) => [text];
  return (text, isFirst) => {
    const marked = text.replaceAll(" ", mark);
    const isPrepended = !marked.startsWith(mark) &&
      (scheme === "always" || (scheme === "first" && isFirst));
    return cut(isPrepended ? mark + marked : marked, isFirst);
  };
}

function readBehavior(value: unknown): Behavior {
  const behavior = BEHAVIORS.find((one) => one === value);
  if (behavior !== undefined) return behavior;
  throw new ModelFileError(
    `a pre-tokenizer has the behavior ${
      quote(String(value), { maxChars: 40 })
    }; known are ${BEHAVIORS.join(", ")}`,
  );
}

/** Keeps what an expression finds. */
function finding(expression: RegExp): PreTokenizer {
  return (text) => text.match(expression) ?? [];
}

/** Cuts where an expression finds something. */
function cutting(expression: RegExp, behavior: Behavior): PreTokenizer {
  return (text) => {
    const words: string[] = [];
    let from = 0;
    const keepUpTo = (end: number): void => {
      if (end > from) words.push(text.slice(from, end));
      from = end;
    };
    let lastEnd = -1;
    for (const { 0: found, index } of text.matchAll(expression)) {
      const end = index + found.length;
      switch (behavior) {
        case "Removed":
          keepUpTo(index);
          from = end;
          break;
        case "Isolated":
          keepUpTo(index);
          keepUpTo(end);
          break;
        case "MergedWithPrevious":
          keepUpTo(end);
          break;
        case "MergedWithNext":
          keepUpTo(index);
          break;
        case "Contiguous":
          if (index !== lastEnd) keepUpTo(index);
          else from = index - (words.pop()?.length ?? 0);
          keepUpTo(end);
          lastEnd = end;
      }
    }
    keepUpTo(text.length);
    return words;
  };
}
