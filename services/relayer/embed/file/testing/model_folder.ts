/**
 * Writes small static models in the form that model2vec publishes, for tests
 * and benchmarks. No published weights are part of the project.
 *
 * @module
 */

/** A tensor to write. */
export interface WrittenTensor {
  /** The type's name in the file. */
  readonly dtype: string;
  /** Numbers in each dimension. */
  readonly shape: readonly number[];
  /** The numbers, in the file's own form. */
  readonly data: ArrayBufferView;
}

/** The files of a model. */
export interface ModelFiles {
  /** The tensors of `model.safetensors` by name, or all its bytes. */
  readonly tensors: Readonly<Record<string, WrittenTensor>> | Uint8Array;
  /** What is in `tokenizer.json`. */
  readonly tokenizer: unknown;
  /**
   * What is in `config.json`.
   *
   * @default what model2vec writes
   */
  readonly config?: unknown;
}

/** Writes a model into a folder, which must be there. */
export async function writeModel(
  folder: string,
  { tensors, tokenizer, config }: ModelFiles,
): Promise<void> {
  const bytes = tensors instanceof Uint8Array
    ? tensors
    : toSafetensors(tensors);
  await Deno.writeFile(`${folder}/model.safetensors`, bytes);
  await Deno.writeTextFile(
    `${folder}/tokenizer.json`,
    JSON.stringify(tokenizer),
  );
  await Deno.writeTextFile(
    `${folder}/config.json`,
    JSON.stringify(config ?? { model_type: "model2vec", normalize: true }),
  );
}

/** The bytes of a safetensors file. */
export function toSafetensors(
  tensors: Readonly<Record<string, WrittenTensor>>,
): Uint8Array<ArrayBuffer> {
  let offset = 0;
  const head: Record<string, unknown> = {};
  for (const [name, { dtype, shape, data }] of Object.entries(tensors)) {
    const from = offset;
    offset += data.byteLength;
    head[name] = { dtype, shape, data_offsets: [from, offset] };
  }
  return withHead(
    JSON.stringify(head),
    Object.values(tensors).map(({ data }) => data),
  );
}

/** The bytes of a file with any head and any data. */
export function withHead(
  head: string,
  data: readonly ArrayBufferView[],
): Uint8Array<ArrayBuffer> {
  const text = new TextEncoder().encode(head);
  const length = new BigUint64Array([BigInt(text.length)]);
  const parts = [length, text, ...data]
    .map((part) =>
      new Uint8Array(part.buffer, part.byteOffset, part.byteLength)
    );
  const bytes = new Uint8Array(
    parts.reduce((sum, part) => sum + part.length, 0),
  );
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** Rows of floats as a tensor. */
export function floatRows(
  rows: readonly (readonly number[])[],
): WrittenTensor {
  return {
    dtype: "F32",
    shape: [rows.length, rows[0]?.length ?? 0],
    data: Float32Array.from(rows.flat()),
  };
}

/** The tokenizer of BERT, uncased, with a vocabulary. */
export function bertTokenizer(
  vocab: Readonly<Record<string, number>>,
): Readonly<Record<string, unknown>> {
  return {
    added_tokens: Object.entries(vocab)
      .filter(([token]) => /^\[[A-Z]+\]$/.test(token))
      .map(([content, id]) => ({
        ...{ id, content, special: true, normalized: false },
        ...{ single_word: false, lstrip: false, rstrip: false },
      })),
    normalizer: {
      type: "BertNormalizer",
      ...{ clean_text: true, handle_chinese_chars: true },
      ...{ strip_accents: null, lowercase: true },
    },
    pre_tokenizer: { type: "BertPreTokenizer" },
    model: {
      ...{ type: "WordPiece", unk_token: "[UNK]", vocab },
      ...{ continuing_subword_prefix: "##", max_input_chars_per_word: 100 },
    },
  };
}

/** A tokenizer with pieces and scores as XLM-RoBERTa has it. */
export function unigramTokenizer(
  vocab: readonly (readonly [piece: string, score: number])[],
): Readonly<Record<string, unknown>> {
  return {
    added_tokens: [],
    normalizer: {
      type: "Sequence",
      normalizers: [
        { type: "NFKC" },
        { type: "Replace", pattern: { Regex: " {2,}" }, content: " " },
      ],
    },
    pre_tokenizer: {
      ...{ type: "Metaspace", replacement: "▁" },
      ...{ prepend_scheme: "always", split: true },
    },
    model: { type: "Unigram", unk_id: 0, vocab },
  };
}
