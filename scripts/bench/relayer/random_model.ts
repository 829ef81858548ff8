/**
 * A static model in a file whose weights carry no meaning: each token has a
 * random vector. Recall with it must find nearly as much as without.
 *
 * @module
 */

import {
  bertTokenizer,
  writeModel,
} from "../../../services/relayer/embed/file/testing/model_folder.ts";
import { randomNumbers } from "../kit/numbers.ts";

/** The folder of a model; it is removed when it is disposed of. */
export interface RandomModel extends AsyncDisposable {
  /** The folder's path. */
  readonly folder: string;
}

/** The words that become tokens; rarer ones are split into pieces. */
const MOST_WORDS = 30_000;
const WORD = /[\p{L}\p{M}\p{N}]+/gu;

/**
 * Writes a model whose vocabulary is the words of texts, and their letters.
 *
 * @param options.seed Another seed gives other vectors.
 * @param options.width Number of dimensions of the vectors; 256 unless given.
 */
export async function writeRandomModel(
  texts: readonly string[],
  { seed, width = 256 }: { readonly seed: number; readonly width?: number },
): Promise<RandomModel> {
  const vocabulary = new Map<string, number>();
  const add = (token: string): void => {
    if (!vocabulary.has(token)) vocabulary.set(token, vocabulary.size);
  };
  for (const token of ["[PAD]", "[UNK]"]) add(token);
  const counts = new Map<string, number>();
  for (const text of texts) {
    const plain = text.toLowerCase().normalize("NFD").replace(/\p{Mn}/gu, "");
    for (const [word] of plain.matchAll(WORD)) {
      counts.set(word, (counts.get(word) ?? 0) + 1);
      for (const letter of word) {
        add(letter);
        add(`##${letter}`);
      }
    }
  }
  [...counts].sort(([, one], [, other]) => other - one).slice(0, MOST_WORDS)
    .forEach(([word]) => add(word));
  const next = randomNumbers(seed);
  // The sum of three uniform numbers is close enough to a normal distribution.
  const data = Float32Array.from(
    { length: vocabulary.size * width },
    () => next() + next() + next() - 1.5,
  );
  const folder = await Deno.makeTempDir({ prefix: "tercet-bench-" });
  await writeModel(folder, {
    tensors: {
      embeddings: { dtype: "F32", shape: [vocabulary.size, width], data },
    },
    tokenizer: bertTokenizer(Object.fromEntries(vocabulary)),
  });
  return {
    folder,
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}
