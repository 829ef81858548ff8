/**
 * Normalizes texts as the file of a tokenizer says, in the same way as
 * huggingface/tokenizers `normalizers`.
 *
 * @module
 */

import { withBoundedMarks } from "../words.ts";
import {
  type JsonObject,
  ModelFileError,
  readFlag,
  toObject,
  toText,
} from "./model_json.ts";
import { PrecompiledMap } from "./precompiled_map.ts";
import { MAX_PATTERN_CHARS, readPattern } from "./text_pattern.ts";
import { type PartKind, readPart } from "./tokenizer_part.ts";

/** Changes a text. */
export type Normalizer = (text: string) => string;

/** The longest text after a step; what a step adds beyond that is cut. */
const MAX_TEXT_CHARS = 65_536;

/** Texts that no step of BERT but lower case changes. */
const PLAIN = /^[ -~]*$/;
const CONTROL = /[\0\ufffd]|(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}]/gu;
const BLANK = /\p{White_Space}/gu;
/** Ideographs as BERT knows them, which stand for words. */
const IDEOGRAPH =
  /[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]/gu;
const MARK = /\p{Mn}/gu;
const BLANKS_BEFORE = /^\p{White_Space}+/u;

const KIND: PartKind<Normalizer> = {
  what: "normalizer",
  list: "normalizers",
  join: (parts) => (text) =>
    parts.reduce(
      (done, normalize) => normalize(done).slice(0, MAX_TEXT_CHARS),
      text,
    ),
  readers: {
    BertNormalizer: readBert,
    NFC: () => (text) => text.normalize("NFC"),
    NFD: () => (text) => text.normalize("NFD"),
    NFKC: () => (text) => text.normalize("NFKC"),
    NFKD: () => (text) => text.normalize("NFKD"),
    Lowercase: () => toLower,
    StripAccents: () => withoutMarks,
    Strip: readStrip,
    Prepend: (part) => {
      const prefix = shortText(part.prepend, "a prepended text");
      return (text) => text === "" ? "" : prefix + text;
    },
    Replace: (part) => {
      const pattern = readPattern(toObject(part.pattern, "a pattern"));
      const content = shortText(part.content, "a replacement");
      return (text) => text.replace(pattern, () => content);
    },
    Precompiled: (part) => {
      const map = new PrecompiledMap(part.precompiled_charsmap);
      return (text) => map.apply(text);
    },
  },
};

/**
 * Reads the normalizer of a tokenizer; null where it has none.
 *
 * @throws {ModelFileError} when a part is of another type or form
 */
export function readNormalizer(value: unknown): Normalizer {
  if (value === null || value === undefined) return (text) => text;
  const normalize = readPart(value, KIND);
  // Sorting the marks of a character takes the square of their number.
  return (text) => normalize(PLAIN.test(text) ? text : withBoundedMarks(text));
}

function readBert(part: JsonObject): Normalizer {
  const isCleaned = readFlag(part, "clean_text", true);
  const hasIdeographs = readFlag(part, "handle_chinese_chars", true);
  const isLower = readFlag(part, "lowercase", true);
  const isStripped = readFlag(part, "strip_accents", isLower);
  return (text) => {
    if (PLAIN.test(text)) return isLower ? text.toLowerCase() : text;
    let done = text;
    if (isCleaned) done = done.replace(CONTROL, "").replace(BLANK, " ");
    if (hasIdeographs) done = done.replace(IDEOGRAPH, " $& ");
    if (isStripped) done = withoutMarks(done.normalize("NFD"));
    return isLower ? toLower(done) : done;
  };
}

function readStrip(part: JsonObject): Normalizer {
  const isLeft = readFlag(part, "strip_left", true);
  const isRight = readFlag(part, "strip_right", true);
  return (text) => {
    const left = isLeft ? text.replace(BLANKS_BEFORE, "") : text;
    return isRight ? withoutBlanksAfter(left) : left;
  };
}

/** An expression would look at each run of blanks again and again. */
function withoutBlanksAfter(text: string): string {
  let end = text.length;
  while (end > 0 && /\p{White_Space}/u.test(text[end - 1]!)) end--;
  return text.slice(0, end);
}

function withoutMarks(text: string): string {
  return text.replace(MARK, "");
}

/** The runtime alone would make the last sigma of a word another letter. */
function toLower(text: string): string {
  return text.replaceAll("Σ", "σ").toLowerCase();
}

function shortText(value: unknown, what: string): string {
  const text = toText(value, what);
  if (text.length <= MAX_PATTERN_CHARS) return text;
  throw new ModelFileError(`${what} is too long`);
}
