import { assert, assertEquals, assertThrows } from "@std/assert";
import { Tokenizer as Reference } from "npm:@huggingface/tokenizers@^0.2.0";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import { ModelFileError } from "./model_json.ts";
import { bertTokenizer, unigramTokenizer } from "./testing/model_folder.ts";
import { Tokenizer } from "./tokenizer.ts";

type Json = Readonly<Record<string, unknown>>;

function tokenizerOf(json: Json): Tokenizer {
  return new Tokenizer(new TextEncoder().encode(JSON.stringify(json)));
}

/** A vocabulary with tokens at their published ids, and fillers between. */
function published(tokens: Json): Record<string, number> {
  const ids = new Set(Object.values(tokens));
  const most = Math.max(...ids as Set<number>);
  const vocab: Record<string, number> = { ...tokens as Record<string, number> };
  for (let id = 0; id < most; id++) {
    if (!ids.has(id)) vocab[`[unused${id}]`] = id;
  }
  return vocab;
}

Deno.test("split() gives the published ids of bert-base-uncased when the vocabulary has them", () => {
  const tokenizer = tokenizerOf(bertTokenizer(published({
    ...{ "[PAD]": 0, "[UNK]": 100, "[CLS]": 101, "[SEP]": 102 },
    ...{ hello: 7592, world: 2088, i: 1045, "'": 1005, ve: 2310, been: 2042 },
    ...{ waiting: 3403, for: 2005, a: 1037, hugging: 17662, "##face": 12172 },
    ...{ course: 2607, my: 2026, whole: 2878, life: 2166, ".": 1012 },
  })));
  assertEquals(tokenizer.split("hello world"), [7592, 2088]);
  assertEquals(tokenizer.split(" Héllo\tWORLD\u0000 "), [7592, 2088]);
  assertEquals(
    tokenizer.split(
      "I've been waiting for a HuggingFace course my whole life.",
    ),
    [
      ...[1045, 1005, 2310, 2042, 3403, 2005, 1037, 17662, 12172],
      ...[2607, 2026, 2878, 2166, 1012],
    ],
  );
  assertEquals(tokenizer.split("[CLS]hello 世world[SEP]"), [
    ...[101, 7592, 100, 2088, 102],
  ]);
});

Deno.test("split() gives the published ids of bert-base-cased when letters keep their case", () => {
  const json = bertTokenizer(published({
    ...{ "[UNK]": 100, Using: 7993, a: 170, Trans: 13809, "##former": 23763 },
    ...{ network: 2443, is: 1110, simple: 3014 },
  }));
  const tokenizer = tokenizerOf({
    ...json,
    normalizer: { type: "BertNormalizer", lowercase: false },
  });
  assertEquals(
    tokenizer.split("Using a Transformer network is simple"),
    [7993, 170, 13809, 23763, 2443, 1110, 3014],
  );
  assertEquals(tokenizer.split("using"), [100]);
});

const SEED = 7;

/** Gives random numbers from 0 up to 1, the same ones each time. */
function toNumbers(seed: number): () => number {
  const random = new SeededRandom(seed);
  return () => random.next();
}

const LETTERS = [..."abcdeAB  \t\n.,!-'_1é\u0301ß中国🎉👍🏽\u200b▁#[]()"];

/** Random texts, the same ones each time. */
function* randomTexts(count: number, seed: number): Generator<string> {
  const next = toNumbers(seed);
  const parts = [...LETTERS, "e\u0301", "[UNK]", "[PAD]", " x ", "ab"];
  for (let text = 0; text < count; text++) {
    yield Array.from(
      { length: Math.floor(next() * 20) },
      () => parts[Math.floor(next() * parts.length)]!,
    ).join("");
  }
}

/** Random pieces of words; some begin with the mark of a blank. */
function randomPieces(seed: number): readonly string[] {
  const next = toNumbers(seed);
  const letters = [..."abcdeé.,!-1中国"];
  const pieces = new Set<string>(["▁"]);
  while (pieces.size < 150) {
    const begin = next() < 0.3 ? "▁" : "";
    const length = 1 + Math.floor(next() * 3);
    pieces.add(
      begin + Array.from(
        { length },
        () => letters[Math.floor(next() * letters.length)]!,
      ).join(""),
    );
  }
  return [...pieces];
}

function wordPieceJson(): Json {
  const pieces = randomPieces(SEED);
  const tokens = ["[PAD]", "[UNK]", ...pieces, ...pieces.map((p) => `##${p}`)];
  return bertTokenizer(
    Object.fromEntries([...new Set(tokens)].map((token, id) => [token, id])),
  );
}

function unigramJson(): Json {
  const next = toNumbers(SEED);
  return unigramTokenizer([
    ["<unk>", 0],
    ...randomPieces(SEED).map((piece) => [piece, -1 - 9 * next()] as const),
  ]);
}

const METASPACE = { type: "Metaspace", replacement: "▁" };

Deno.test("split() finds the tokens that the library's own JavaScript form finds when texts are random", () => {
  const bert = wordPieceJson();
  const unigram = unigramJson();
  const cut = (pretokenizer: Json): Json => ({
    ...bert,
    pre_tokenizer: pretokenizer,
  });
  const blanks = { type: "Split", pattern: { Regex: "\\s+" }, invert: false };
  const cases: Readonly<Record<string, Json>> = {
    bert,
    "bert with case": {
      ...bert,
      normalizer: {
        ...{ type: "BertNormalizer", lowercase: false, strip_accents: null },
        ...{ clean_text: true, handle_chinese_chars: true },
      },
    },
    unigram,
    "unigram over words": {
      ...unigram,
      pre_tokenizer: {
        ...{ ...METASPACE, prepend_scheme: "always", split: false },
      },
    },
    "unigram at the beginning": {
      ...unigram,
      pre_tokenizer: { ...METASPACE, prepend_scheme: "first", split: true },
    },
    "several normalizers": {
      ...unigram,
      normalizer: {
        type: "Sequence",
        normalizers: [
          { type: "NFD" },
          { type: "StripAccents" },
          { type: "Lowercase" },
          { type: "Replace", pattern: { String: "." }, content: " . " },
          { type: "Replace", pattern: { Regex: "\\s+" }, content: " " },
          { type: "Strip", strip_left: false, strip_right: true },
        ],
      },
    },
    removed: cut({ ...blanks, behavior: "Removed" }),
    isolated: cut({ ...blanks, behavior: "Isolated" }),
    contiguous: cut({ ...blanks, behavior: "Contiguous" }),
  };
  const rest = { truncation: null, padding: null, post_processor: null };
  for (const [name, json] of Object.entries(cases)) {
    const reference = new Reference({ ...rest, decoder: null, ...json }, {});
    const tokenizer = tokenizerOf(json);
    // That form joins unknown tokens of several words, so only known ones count.
    const known = (ids: readonly number[]): readonly number[] =>
      ids.filter((id) => id !== tokenizer.unknown);
    for (const text of randomTexts(500, SEED)) {
      assertEquals(
        known(tokenizer.split(text)),
        known(reference.encode(text, { add_special_tokens: false }).ids),
        `${name}: ${JSON.stringify(text)}`,
      );
    }
  }
});

Deno.test("split() finds the best tokens of all ways when a word is short", () => {
  const scores = new Map(
    (unigramJson().model as { vocab: [string, number][] }).vocab,
  );
  const unknown = Math.min(...scores.values()) - 10;
  const tokenizer = tokenizerOf({ ...unigramJson(), normalizer: null });
  const pieces = [...scores.keys()];
  const best = (word: string): number => {
    if (word === "") return 0;
    const [first = ""] = word;
    let most = scores.has(first)
      ? -Infinity
      : unknown + best(word.slice(first.length));
    for (const [piece, score] of scores) {
      if (word.startsWith(piece)) {
        most = Math.max(most, score + best(word.slice(piece.length)));
      }
    }
    return most;
  };
  for (const text of randomTexts(300, SEED)) {
    const word = `▁${text.replace(/[\s▁[\]<>]/g, "").slice(0, 6)}`
      .toWellFormed();
    const ids = tokenizer.split(word);
    // Unknown characters beside each other are one id, so only words without
    // them tell their score.
    if (ids.includes(0)) continue;
    const found = ids.reduce((sum, id) => sum + scores.get(pieces[id]!)!, 0);
    assert(Math.abs(found - best(word)) < 1e-9, word);
  }
});

Deno.test("split() takes the longest tokens when a plain search does", () => {
  const json = wordPieceJson();
  const { vocab } = json.model as { vocab: Record<string, number> };
  const tokenizer = tokenizerOf({ ...json, normalizer: null });
  const slow = (word: string): readonly number[] => {
    const ids: number[] = [];
    for (let from = 0; from < word.length;) {
      const prefix = from === 0 ? "" : "##";
      let end = word.length;
      while (
        end > from && vocab[prefix + word.slice(from, end)] === undefined
      ) {
        end--;
      }
      if (end === from) return [1];
      ids.push(vocab[prefix + word.slice(from, end)]!);
      from = end;
    }
    return ids;
  };
  for (const text of randomTexts(500, SEED)) {
    const words = text.replace(/\[(?:UNK|PAD)\]/g, "")
      .match(/[!-/:-@[-`{-~\p{P}]|[^\p{White_Space}!-/:-@[-`{-~\p{P}]+/gu) ??
      [];
    assertEquals(tokenizer.split(words.join(" ")), words.flatMap(slow));
  }
});

Deno.test("split() takes an unknown character only where no token fits when tokens have high scores", () => {
  const tokenizer = tokenizerOf({
    model: unigramTokenizer([["<unk>", 0], ["ab", -1], ["b", 2]]).model,
  });
  assertEquals(tokenizer.split("ab"), [1]);
  assertEquals(tokenizer.split("xxb"), [0, 2]);
});

Deno.test("split() takes a word as unknown when it has more than 100 characters", () => {
  const tokenizer = tokenizerOf(
    bertTokenizer({ "[UNK]": 0, a: 1, "##a": 2, "𝒂": 3, "##𝒂": 4 }),
  );
  assertEquals(tokenizer.split("a".repeat(100)).length, 100);
  assertEquals(tokenizer.split("a".repeat(101)), [0]);
  assertEquals(tokenizer.split("𝒂".repeat(100)).length, 100);
});

Deno.test("split() lowers a sigma in the same way wherever it stands", () => {
  const tokenizer = tokenizerOf(bertTokenizer({ "[UNK]": 0, "οδοσ": 1 }));
  assertEquals(tokenizer.split("ΟΔΟΣ"), [1]);
});

Deno.test("split() marks the beginning alone when the scheme is first", () => {
  const added = { id: 1, content: "[X]", normalized: false };
  const tokenizer = tokenizerOf({
    ...unigramTokenizer([["<unk>", 0], ["[X]", -9], ["▁a", -1], ["a", -1]]),
    added_tokens: [added],
    pre_tokenizer: { ...METASPACE, prepend_scheme: "first", split: true },
  });
  assertEquals(tokenizer.split("a[X]a a"), [2, 1, 3, 2]);
});

Deno.test("split() stops once there are enough known tokens", () => {
  const tokenizer = tokenizerOf(bertTokenizer({ "[UNK]": 0, a: 1 }));
  const ids = tokenizer.split("a ? ".repeat(100), 5);
  assertEquals(ids.filter((id) => id === 1).length, 5);
});

Deno.test("split() finds an added token by its flags when it stands in a text", () => {
  const token = {
    ...{ id: 2, content: "<tea>", normalized: false, special: false },
    ...{ single_word: true, lstrip: true, rstrip: true },
  };
  const json = bertTokenizer({ "[UNK]": 0, a: 1 });
  const tokenizer = tokenizerOf({ ...json, added_tokens: [token] });
  assertEquals(tokenizer.tokens, 3);
  assertEquals(tokenizer.split("a <tea> a"), [1, 2, 1]);
  assertEquals(tokenizer.split("x<tea>"), [0, 0, 0, 0]);
});

Deno.test("Tokenizer says what is wrong when a file is of another form", () => {
  const json = bertTokenizer({ "[UNK]": 0, a: 1 });
  const model = json.model as Json;
  const unigram = unigramTokenizer([["<unk>", 0]]).model as Json;
  const nested = (depth: number): Json =>
    depth === 0
      ? { type: "NFC" }
      : { type: "Sequence", normalizers: [nested(depth - 1)] };
  const cases: readonly (readonly [changes: Json, told: string])[] = [
    [{ model: { type: "BPE" } }, 'is of the type "BPE"; known are WordPiece'],
    [{ model: null }, "the model is not an object"],
    [{ model: { ...model, vocab: { a: 1.5 } } }, "the id of a token is not"],
    [{ model: { ...model, vocab: { a: 3 } } }, "there are 2 tokens, and one"],
    [{ model: { ...model, vocab: {} }, added_tokens: [] }, "is empty"],
    [{ model: { ...model, unk_token: 7 } }, "unk_token is not a text"],
    [{ model: { ...unigram, vocab: [["a", "b"]] } }, "the score of a token"],
    [
      { model: { ...unigram, vocab: [["\ud83d", 0]] } },
      "a token is not a text",
    ],
    [{ model: { ...unigram, unk_id: 1 } }, "unk_id is not a whole number"],
    [{ model: { ...unigram, byte_fallback: true } }, "byte_fallback"],
    [{ model: { ...unigram, vocab: [["a".repeat(1_025), 0]] } }, "1024"],
    [{ normalizer: { type: "ByteLevel" } }, 'is of the type "ByteLevel"'],
    [{ normalizer: { type: "toString" } }, 'is of the type "toString"'],
    [{ normalizer: nested(10) }, "nested too deeply"],
    [{
      normalizer: {
        type: "Replace",
        pattern: { Regex: "(a+)+b" },
        content: "",
      },
    }, 'the regular expression "(a+)+b" is not one kind'],
    [{
      normalizer: { type: "Replace", pattern: { String: "" }, content: "" },
    }, "a pattern is empty or too long"],
    [
      { normalizer: { type: "Precompiled", precompiled_charsmap: "AAAA" } },
      "its tree",
    ],
    [{ pre_tokenizer: { type: "ByteLevel" } }, 'is of the type "ByteLevel"'],
    [{
      pre_tokenizer: { ...METASPACE, prepend_scheme: "often" },
    }, 'the unknown scheme "often"'],
    [{
      pre_tokenizer: { type: "Punctuation", behavior: "Lost" },
    }, 'the behavior "Lost"'],
    [{ added_tokens: [{ id: -1, content: "x" }] }, "the id of an added token"],
  ];
  for (const [changes, told] of cases) {
    assertThrows(
      () => tokenizerOf({ ...json, ...changes }),
      ModelFileError,
      told,
    );
  }
});

Deno.test("Tokenizer refuses or splits and never breaks when bytes of its file change", () => {
  const next = toNumbers(SEED);
  for (const json of [wordPieceJson(), unigramJson()]) {
    const text = JSON.stringify(json);
    for (let round = 0; round < 300; round++) {
      const at = Math.floor(next() * text.length);
      const length = Math.floor(next() * 8);
      const put = ["", "9", '"', "null", "{}", "-1e9", "]"][
        Math.floor(next() * 7)
      ];
      const changed = text.slice(0, at) + put + text.slice(at + length);
      let tokenizer: Tokenizer;
      try {
        tokenizer = new Tokenizer(new TextEncoder().encode(changed));
      } catch (error) {
        assert(error instanceof ModelFileError, String(error));
        continue;
      }
      for (const id of tokenizer.split("abc de. 中 [PAD] xyz")) {
        assert(id >= 0 && id < tokenizer.tokens, `${id} of ${changed}`);
      }
    }
  }
});
