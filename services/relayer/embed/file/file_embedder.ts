/**
 * An embedder whose model is a folder on this machine: a static embedding model
 * in the form that model2vec publishes (https://github.com/MinishLab/model2vec).
 * Such a model is a table with a vector for each token; the vector of a text is
 * the mean of its tokens' vectors. It needs no network and some microseconds.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { quote } from "../../../shared/quote.ts";
import { describeError } from "../../../shared/settled.ts";
import { NEVER_PAUSING } from "../../../shared/slices.ts";
import {
  finishInSlices,
  type WorkOptions,
} from "../../concurrency/bounded_work.ts";
import {
  type Embedder,
  EMBEDDING_ENDED,
  type EmbedOutcome,
} from "../embedder.ts";
import { hashingSteps } from "../hashed_embedder.ts";
import { ModelFileError, parseObject, readFlag } from "./model_json.ts";
import { type ByteFile, readTensors } from "./safetensors.ts";
import { TokenVectors } from "./token_vectors.ts";
import { Tokenizer } from "./tokenizer.ts";

/**
 * Names the way in which texts become vectors here. Another version makes other
 * vectors of the same files, so that those of an earlier one are made again.
 */
const VERSION = 1;
/**
 * As many tokens count as in model2vec, of as many characters as that many
 * tokens usually have.
 */
const MAX_TOKENS = 512;
const MAX_TOKENIZER_BYTES = 67_108_864;
const MAX_CONFIG_BYTES = 1_048_576;
/** Characters of the model's name: 64 bits tell any two models apart. */
const HASH_CHARS = 16;

/** The tokenizer and the vectors of a model. */
interface FileModel {
  readonly tokenizer: Tokenizer;
  readonly vectors: TokenVectors;
  /** Names the model by what its files say. */
  readonly model: string;
}

/** Makes vectors with the model of a folder. */
export class FileEmbedder implements Embedder {
  /** Number of values in each vector, as the file has it. */
  readonly width: number;
  /** Names the model by what its files say, wherever they lie. */
  readonly model: string;
  readonly #tokenizer: Tokenizer;
  readonly #vectors: TokenVectors;

  private constructor({ tokenizer, vectors, model }: FileModel) {
    this.width = vectors.width;
    this.model = model;
    this.#tokenizer = tokenizer;
    this.#vectors = vectors;
  }

  /**
   * Reads `config.json`, `tokenizer.json` and `model.safetensors` of a folder.
   * Nothing is read later.
   *
   * @throws {Error} when a file is missing, damaged or of another form; it names
   * the setting, the folder, the file and what is wrong
   */
  static async open(folder: string): Promise<FileEmbedder> {
    const hash = createHash("sha256");
    await readFile(folder, "config.json", async (file) => {
      const bytes = await readWhole(file, MAX_CONFIG_BYTES);
      // All vectors are scaled to length 1 here, whatever the model says. That
      // changes no cosine, but the file has to be of the form.
      readFlag(parseObject(bytes), "normalize", true);
    });
    const tokenizer = await readFile(folder, "tokenizer.json", async (file) => {
      const bytes = await readWhole(file, MAX_TOKENIZER_BYTES);
      hash.update(bytes);
      return new Tokenizer(bytes);
    });
    const vectors = await readFile(
      folder,
      "model.safetensors",
      async (file) => {
        const read = await TokenVectors.read(file, await readTensors(file));
        if (read.tokens === tokenizer.tokens) return read;
        throw new ModelFileError(
          `it has vectors of ${read.tokens} tokens, and tokenizer.json has ` +
            `${tokenizer.tokens} tokens`,
        );
      },
    );
    for (const part of vectors.parts) hash.update(part);
    const model = `static-${VERSION}-${
      hash.digest("hex").slice(0, HASH_CHARS)
    }`;
    return new FileEmbedder({ tokenizer, vectors, model });
  }

  /**
   * Returns one vector of length 1 for each text; `unavailable` only when the
   * signal is aborted.
   */
  async embed(
    texts: readonly string[],
    { signal, pausing = NEVER_PAUSING }: WorkOptions = {},
  ): Promise<EmbedOutcome> {
    const vectors: Float32Array[] = [];
    for (const text of texts) {
      if (signal?.aborted === true) return EMBEDDING_ENDED;
      // A text without a known token still gets a direction that equal texts
      // share.
      vectors.push(
        this.#mean(text) ??
          await finishInSlices(hashingSteps(text, this.width), { pausing }),
      );
      const wait = pausing.pause();
      if (wait !== undefined) await wait;
    }
    return { kind: "ok", vectors };
  }

  /** The direction of the tokens' mean; undefined where it has none. */
  #mean(text: string): Float32Array | undefined {
    const { width } = this;
    const { unknown, medianChars } = this.#tokenizer;
    const sums = new Float64Array(width);
    const head = text.slice(0, MAX_TOKENS * medianChars);
    let left = MAX_TOKENS;
    for (const token of this.#tokenizer.split(head, MAX_TOKENS)) {
      if (token === unknown) continue;
      if (left-- === 0) break;
      this.#vectors.addTo(sums, token);
    }
    let squares = 0;
    for (let at = 0; at < width; at++) squares += sums[at]! ** 2;
    const length = Math.sqrt(squares);
    if (length === 0 || !Number.isFinite(length)) return undefined;
    const vector = new Float32Array(width);
    for (let at = 0; at < width; at++) vector[at] = sums[at]! / length;
    return vector;
  }
}

/** Reads a file of the folder; an error names it. */
async function readFile<Result>(
  folder: string,
  name: string,
  read: (file: ByteFile) => Promise<Result>,
): Promise<Result> {
  try {
    const path = `${folder}/${name}`;
    // Opening what is no file, such as a pipe, may wait for ever.
    const { isFile, size } = await Deno.stat(path);
    if (!isFile) throw new ModelFileError("it is not a file");
    using file = await Deno.open(path);
    return await read({
      sizeBytes: size,
      readAt: (offset, into) => readAt(file, { offset, into }),
    });
  } catch (error) {
    throw new Error(
      `Cannot use EMBEDDER_FILE ${quote(folder)}: ${name}: ` +
        describeFault(error),
      { cause: error },
    );
  }
}

function describeFault(error: unknown): string {
  if (error instanceof ModelFileError) return error.message;
  if (error instanceof Deno.errors.NotFound) {
    return "there is no such file; name the folder of a model2vec model, with " +
      "config.json, tokenizer.json and model.safetensors";
  }
  return describeError(error);
}

async function readAt(
  file: Deno.FsFile,
  { offset, into }: { readonly offset: number; readonly into: Uint8Array },
): Promise<void> {
  await file.seek(offset, Deno.SeekMode.Start);
  for (let filled = 0; filled < into.length;) {
    const count = await file.read(into.subarray(filled));
    if (count === null) throw new ModelFileError("it became shorter");
    filled += count;
  }
}

async function readWhole(
  file: ByteFile,
  maxBytes: number,
): Promise<Uint8Array> {
  if (file.sizeBytes > maxBytes) {
    throw new ModelFileError(
      `it has ${file.sizeBytes} bytes, more than ${maxBytes}`,
    );
  }
  const bytes = new Uint8Array(file.sizeBytes);
  await file.readAt(0, bytes);
  return bytes;
}
