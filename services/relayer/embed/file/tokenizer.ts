/**
 * Turns texts into the ids of tokens as a `tokenizer.json` says, the form of
 * huggingface/tokenizers: added tokens are found first, what is between them is
 * normalized, cut into words, and split into tokens of the vocabulary.
 *
 * Left out is what static models do not use: templates that put tokens around a
 * text, truncation, padding and decoding.
 *
 * @module
 */

import {
  type JsonObject,
  ModelFileError,
  parseObject,
  readFlag,
  toCount,
  toList,
  toObject,
  toText,
} from "./model_json.ts";
import { type Normalizer, readNormalizer } from "./normalizer.ts";
import { type PreTokenizer, readPreTokenizer } from "./pre_tokenizer.ts";
import { MAX_TOKENS, readTokenModel, type TokenModel } from "./token_models.ts";
import { NO_NODE, NO_TOKEN, ROOT, TokenTrie } from "./token_trie.ts";

/** A token that stands in texts as it is. */
interface AddedToken {
  readonly id: number;
  readonly content: string;
  readonly isNormalized: boolean;
  /** Whether it counts only between characters that are no letters. */
  readonly isWord: boolean;
  /** Whether blanks before it belong to it. */
  readonly takesBefore: boolean;
  /** Whether blanks after it belong to it. */
  readonly takesAfter: boolean;
}

/** A part of a text: the id of an added token, or what is between two. */
type Part = number | string;

const MAX_ADDED = 65_536;
const LETTER = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u;
const BLANK = /\p{White_Space}/u;

/** Turns texts into ids of tokens. */
export class Tokenizer {
  /** How many ids there are; they go from 0 on. */
  readonly tokens: number;
  /** The id of what has no token. */
  readonly unknown: number | undefined;
  /** How many UTF-16 units the tokens have in the middle. */
  readonly medianChars: number;
  readonly #model: TokenModel;
  readonly #normalize: Normalizer;
  readonly #cut: PreTokenizer;
  /** Added tokens that are searched in the text as it comes. */
  readonly #raw: AddedTokens;
  /** Added tokens that are searched in the normalized text. */
  readonly #normalized: AddedTokens;

  /**
   * Reads a tokenizer.
   *
   * @throws {ModelFileError} when it is of an unknown type or form
   */
  constructor(json: Uint8Array) {
    const file = parseObject(json);
    this.#normalize = readNormalizer(file.normalizer);
    this.#cut = readPreTokenizer(file.pre_tokenizer);
    this.#model = readTokenModel(toObject(file.model, "the model"));
    const added = toList(file.added_tokens ?? [], "the added tokens")
      .map((one) => readAdded(toObject(one, "an added token")));
    if (added.length > MAX_ADDED) {
      throw new ModelFileError(`there are more than ${MAX_ADDED} added tokens`);
    }
    this.#raw = new AddedTokens(added.filter((one) => !one.isNormalized));
    this.#normalized = new AddedTokens(
      added.filter((one) => one.isNormalized)
        .map((one) => ({ ...one, content: this.#normalize(one.content) })),
    );
    const { vocabulary } = this.#model;
    this.tokens = countIds(vocabulary, added);
    this.medianChars = medianLength(vocabulary);
    this.unknown = this.#model.unknown;
  }

  /**
   * The ids of a text's tokens; the text's rest is not looked at once there are
   * `most` known ones.
   */
  split(text: string, most: number = Infinity): readonly number[] {
    const ids: number[] = [];
    let known = 0;
    for (const word of this.#words(text.toWellFormed())) {
      const before = ids.length;
      if (typeof word === "number") ids.push(word);
      else this.#model.split(word, ids);
      for (let at = before; at < ids.length; at++) {
        if (ids[at] !== this.unknown) known++;
      }
      if (known >= most) break;
    }
    return ids;
  }

  /** What is split one by one, and the ids of added tokens between. */
  *#words(text: string): Generator<string | number> {
    let isFirst = true;
    for (const raw of this.#raw.parts(text)) {
      if (typeof raw === "number") yield raw;
      else {
        for (const part of this.#normalized.parts(this.#normalize(raw))) {
          if (typeof part === "number") yield part;
          else yield* this.#cut(part, isFirst);
          isFirst = false;
        }
      }
      isFirst = false;
    }
  }
}

/** Finds added tokens in texts. */
class AddedTokens {
  readonly #tokens: readonly AddedToken[];
  readonly #trie: TokenTrie | undefined;

  constructor(tokens: readonly AddedToken[]) {
    this.#tokens = tokens;
    this.#trie = tokens.length === 0 ? undefined : new TokenTrie(
      new Map(tokens.map(({ content }, at) => [content, at])),
    );
  }

  /** The parts of a text, in order; none is empty. */
  parts(text: string): readonly Part[] {
    const trie = this.#trie;
    if (trie === undefined) return text === "" ? [] : [text];
    const parts: Part[] = [];
    let from = 0;
    for (let at = 0; at < text.length;) {
      const found = this.#findAt(text, { trie, at, from });
      if (found === undefined) {
        at++;
        continue;
      }
      if (found.from > from) parts.push(text.slice(from, found.from));
      parts.push(found.id);
      from = at = found.to;
    }
    if (from < text.length) parts.push(text.slice(from));
    return parts;
  }

  #findAt(
    text: string,
    { trie, at, from }: {
      readonly trie: TokenTrie;
      readonly at: number;
      /** Where the text begins that no token has taken. */
      readonly from: number;
    },
  ):
    | { readonly id: number; readonly from: number; readonly to: number }
    | undefined {
    let node = ROOT;
    let best = NO_TOKEN;
    let to = at;
    for (let end = at; end < text.length;) {
      node = trie.step(node, text.charCodeAt(end++));
      if (node === NO_NODE) break;
      const token = trie.tokenAt(node);
      if (token !== NO_TOKEN) [best, to] = [token, end];
    }
    const token = this.#tokens[best];
    if (token === undefined) return undefined;
    if (
      token.isWord &&
      (LETTER.test(text[at - 1] ?? "") || LETTER.test(text[to] ?? ""))
    ) return undefined;
    let begin = at;
    while (token.takesBefore && begin > from && BLANK.test(text[begin - 1]!)) {
      begin--;
    }
    while (token.takesAfter && to < text.length && BLANK.test(text[to]!)) to++;
    return { id: token.id, from: begin, to };
  }
}

function readAdded(token: JsonObject): AddedToken {
  return {
    id: toCount(token.id, "the id of an added token", MAX_TOKENS),
    content: toText(token.content, "an added token"),
    isNormalized: readFlag(token, "normalized", false),
    isWord: readFlag(token, "single_word", false),
    takesBefore: readFlag(token, "lstrip", false),
    takesAfter: readFlag(token, "rstrip", false),
  };
}

/** The number of ids, which must go from 0 on without a gap. */
function countIds(
  vocabulary: ReadonlyMap<string, number>,
  added: readonly AddedToken[],
): number {
  const ids = new Set(vocabulary.values());
  for (const { id } of added) ids.add(id);
  for (const id of ids) {
    if (id < ids.size) continue;
    throw new ModelFileError(
      `there are ${ids.size} tokens, and one has the id ${id}`,
    );
  }
  if (ids.size > 0) return ids.size;
  throw new ModelFileError("the vocabulary is empty");
}

/** The length in the middle of all; of two, their mean without its fraction. */
function medianLength(vocabulary: ReadonlyMap<string, number>): number {
  const lengths = Uint16Array.from(vocabulary.keys(), ({ length }) => length)
    .sort();
  const { length } = lengths;
  const middle = (lengths[(length - 1) >> 1] ?? 0) +
    (lengths[length >> 1] ?? 0);
  return Math.floor(middle / 2);
}
