/**
 * Splits words into tokens of a vocabulary: WordPiece takes the longest token
 * at each place; Unigram takes the tokens whose chances together are greatest
 * (Kudo 2018), found by Viterbi's algorithm.
 *
 * Both do as the library that such models are made with: huggingface/tokenizers
 * `models/wordpiece` and `models/unigram`.
 *
 * @module
 */

import {
  type JsonObject,
  ModelFileError,
  readFlag,
  toCount,
  toList,
  toObject,
  toText,
  typeOf,
  unknownType,
} from "./model_json.ts";
import { NO_NODE, NO_TOKEN, ROOT, TokenTrie } from "./token_trie.ts";

/** Splits words into tokens. */
export interface TokenModel {
  /** The id of each token of the vocabulary. */
  readonly vocabulary: ReadonlyMap<string, number>;
  /** The id of what the vocabulary has no token for. */
  readonly unknown: number | undefined;
  /** Appends the ids of a word's tokens to `ids`. */
  split(word: string, ids: number[]): void;
}

/** More tokens than any published vocabulary has. */
export const MAX_TOKENS = 4_194_304;
const MAX_TOKEN_CHARS = 1_024;
const MAX_CHARS = 16_777_216;
/** What an unknown character scores below the worst token. */
const UNKNOWN_PENALTY = 10;

/**
 * Reads the model of a tokenizer.
 *
 * @throws {ModelFileError} when it is of another type or form
 */
export function readTokenModel(model: JsonObject): TokenModel {
  switch (typeOf(model)) {
    case "WordPiece":
      return readWordPiece(model);
    case "Unigram":
      return readUnigram(model);
    default:
      throw unknownType("tokenizer's model", model, ["WordPiece", "Unigram"]);
  }
}

function readWordPiece(model: JsonObject): TokenModel {
  const entries = Object.entries(toObject(model.vocab, "the vocabulary"))
    .map(([token, id]) => [token, toId(id)] as const);
  const prefix = toText(
    model.continuing_subword_prefix ?? "##",
    "continuing_subword_prefix",
  );
  const maxChars = toCount(
    model.max_input_chars_per_word ?? 100,
    "max_input_chars_per_word",
    MAX_TOKEN_CHARS,
  );
  const vocabulary = checkedVocabulary(entries);
  const unknown = vocabulary.get(toText(model.unk_token, "unk_token"));
  const trie = new TokenTrie(vocabulary);
  const inner = trie.walk(prefix);
  return {
    vocabulary,
    unknown,
    split(word, ids) {
      const before = ids.length;
      const isLong = word.length > maxChars && [...word].length > maxChars;
      for (let from = 0; from < word.length && !isLong;) {
        let node = from === 0 ? ROOT : inner;
        let token = NO_TOKEN;
        let end = from;
        for (let at = from; at < word.length && node !== NO_NODE;) {
          node = trie.step(node, word.charCodeAt(at++));
          const found = node === NO_NODE ? NO_TOKEN : trie.tokenAt(node);
          if (found !== NO_TOKEN) [token, end] = [found, at];
        }
        if (token === NO_TOKEN) break;
        ids.push(token);
        from = end;
        if (from === word.length) return;
      }
      // A word with one place that no token fits is unknown as a whole.
      ids.length = before;
      if (unknown !== undefined) ids.push(unknown);
    },
  };
}

function readUnigram(model: JsonObject): TokenModel {
  if (readFlag(model, "byte_fallback", false)) {
    throw new ModelFileError(
      "the tokenizer splits unknown characters into bytes (byte_fallback), " +
        "which is not supported",
    );
  }
  const list = toList(model.vocab, "the vocabulary");
  const scores = new Float64Array(list.length);
  const entries = list.map((pair, id) => {
    const [token, score] = toList(pair, "an entry of the vocabulary");
    if (typeof score !== "number" || !Number.isFinite(score)) {
      throw new ModelFileError("the score of a token is not a number");
    }
    scores[id] = score;
    return [toText(token, "a token"), id] as const;
  });
  const vocabulary = checkedVocabulary(entries);
  const { unk_id: unk } = model;
  const unknown = unk === undefined || unk === null
    ? undefined
    : toCount(unk, "unk_id", entries.length - 1);
  const trie = new TokenTrie(vocabulary);
  const unknownScore =
    scores.reduce((one, other) => Math.min(one, other), Infinity) -
    UNKNOWN_PENALTY;
  return {
    vocabulary,
    unknown,
    split: (word, ids) =>
      splitUnigram(word, { ids, trie, scores, unknownScore, unknown }),
  };
}

function splitUnigram(
  word: string,
  { ids, trie, scores, unknownScore, unknown }: {
    readonly ids: number[];
    readonly trie: TokenTrie;
    readonly scores: Float64Array;
    readonly unknownScore: number;
    readonly unknown: number | undefined;
  },
): void {
  const { length } = word;
  // The best way to each place: its score, the token that ends there (or none
  // for an unknown character), and where that begins.
  const best = new Float64Array(length + 1).fill(-Infinity);
  const tokens = new Int32Array(length + 1);
  const begins = new Int32Array(length + 1);
  best[0] = 0;
  for (let from = 0; from < length;) {
    const width = word.codePointAt(from)! > 0xffff ? 2 : 1;
    const score = best[from]!;
    let hasSingle = false;
    let node = ROOT;
    for (let at = from; at < length;) {
      node = trie.step(node, word.charCodeAt(at++));
      if (node === NO_NODE) break;
      const token = trie.tokenAt(node);
      if (token === NO_TOKEN) continue;
      hasSingle ||= at === from + width;
      const candidate = score + scores[token]!;
      if (candidate <= best[at]!) continue;
      best[at] = candidate;
      tokens[at] = token;
      begins[at] = from;
    }
    const next = from + width;
    if (!hasSingle && score + unknownScore > best[next]!) {
      best[next] = score + unknownScore;
      tokens[next] = NO_TOKEN;
      begins[next] = from;
    }
    from = next;
  }
  const backwards: number[] = [];
  let isAfterUnknown = false;
  for (let end = length; end > 0; end = begins[end]!) {
    const token = tokens[end]!;
    // Unknown characters beside each other count as one.
    if (token !== NO_TOKEN) backwards.push(token);
    else if (!isAfterUnknown && unknown !== undefined) backwards.push(unknown);
    isAfterUnknown = token === NO_TOKEN;
  }
  for (let at = backwards.length - 1; at >= 0; at--) ids.push(backwards[at]!);
}

/** The vocabulary by its texts, once its size is known to be fair. */
function checkedVocabulary(
  entries: readonly (readonly [text: string, id: number])[],
): ReadonlyMap<string, number> {
  let chars = 0;
  for (const [token] of entries) {
    chars += token.length;
    if (token.length > MAX_TOKEN_CHARS || !token.isWellFormed()) {
      throw new ModelFileError(
        `a token has more than ${MAX_TOKEN_CHARS} characters, or half of one`,
      );
    }
  }
  if (entries.length > MAX_TOKENS || chars > MAX_CHARS) {
    throw new ModelFileError(
      `the vocabulary has ${entries.length} tokens of ${chars} characters; ` +
        `${MAX_TOKENS} of ${MAX_CHARS} are allowed`,
    );
  }
  return new Map(entries);
}

function toId(value: unknown): number {
  return toCount(value, "the id of a token", MAX_TOKENS);
}
