import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertRejects,
} from "@std/assert";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import { FileEmbedder } from "./file_embedder.ts";
import {
  bertTokenizer,
  floatRows,
  type ModelFiles,
  toSafetensors,
  unigramTokenizer,
  writeModel,
} from "./testing/model_folder.ts";

const VOCAB = { "[PAD]": 0, "[UNK]": 1, tea: 2, cup: 3, "##s": 4, of: 5 };
const ROWS = [[9, 9, 9], [9, 9, 9], [1, 0, 0], [0, 2, 0], [0, 0, 1], [0, 0, 0]];
const FILES: ModelFiles = {
  tensors: { embeddings: floatRows(ROWS) },
  tokenizer: bertTokenizer(VOCAB),
};

async function withFolder<Result>(
  use: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = await Deno.makeTempDir({ prefix: "relayer_test_" });
  try {
    return await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function opened(files: ModelFiles): Promise<FileEmbedder> {
  return withFolder(async (folder) => {
    await writeModel(folder, files);
    return await FileEmbedder.open(folder);
  });
}

async function embedOne(
  embedder: FileEmbedder,
  text: string,
): Promise<readonly number[]> {
  const outcome = await embedder.embed([text]);
  assert(outcome.kind === "ok");
  return [...outcome.vectors[0]!];
}

function assertNear(
  vector: readonly number[],
  direction: readonly number[],
): void {
  const length = Math.hypot(...direction);
  direction.forEach((number, at) =>
    assertAlmostEquals(vector[at]!, number / length, 0.01)
  );
}

Deno.test("embed() gives the direction of the mean of the known tokens", async () => {
  const embedder = await opened(FILES);
  assertEquals(embedder.width, 3);
  assertNear(await embedOne(embedder, "Tea cups"), [1, 2, 1]);
  assertNear(await embedOne(embedder, "tea zzz tea cup"), [2, 2, 0]);
});

Deno.test("embed() gives the mean of a Unigram model's tokens", async () => {
  const embedder = await opened({
    tensors: { embeddings: floatRows([[9, 9], [1, 0], [0, 1], [5, 5]]) },
    tokenizer: unigramTokenizer([
      ...[["<unk>", 0], ["▁te", -3], ["a", -3], ["▁t", -9]] as const,
    ]),
  });
  assertNear(await embedOne(embedder, "tea tea"), [1, 1]);
});

Deno.test("embed() counts the first 512 known tokens, of as many characters as they usually have, when a text has more", async () => {
  // Half of the tokens have 5 characters or less, so 2,560 characters count.
  const embedder = await opened({
    tensors: {
      embeddings: floatRows([[9, 9], [1, 0], [0, 99], [9, 9], [9, 9]]),
    },
    tokenizer: bertTokenizer({
      ...{ "[UNK]": 0, tea: 1, cup: 2 },
      ...{ otherwise: 3, nevertheless: 4 },
    }),
  });
  const after = async (text: string): Promise<readonly number[]> =>
    await embedOne(embedder, `${text}cup cup`);
  assertNear(await after("tea ".repeat(511)), [511, 99]);
  assertNear(await after("tea ".repeat(512)), [1, 0]);
  assertNear(await after("zzz ".repeat(638)), [0, 1]);
  const cut = await after("zzz ".repeat(640));
  assert(Math.abs(cut[1]! - 1) > 0.01 || Math.abs(cut[0]!) > 0.01);
});

Deno.test("embed() gives equal texts without a known token a direction that others do not have", async () => {
  const embedder = await opened(FILES);
  const [one, same, other] = await Promise.all(
    ["🎉 fête", "🎉 fête", "🎊 of"].map((text) => embedOne(embedder, text)),
  );
  assertEquals(one, same);
  assert(JSON.stringify(one) !== JSON.stringify(other));
  assertAlmostEquals(Math.hypot(...one!), 1, 1e-6);
  assertAlmostEquals(Math.hypot(...await embedOne(embedder, "")), 1, 1e-6);
});

Deno.test("embed() is unavailable for a while when its signal is aborted", async () => {
  const embedder = await opened(FILES);
  const outcome = await embedder.embed(["tea"], {
    signal: AbortSignal.abort(),
  });
  assert(outcome.kind === "unavailable" && outcome.isPassing);
});

Deno.test("open() names a model by what its files say and not by where they lie", async () => {
  const { model } = await opened(FILES);
  assertEquals((await opened(FILES)).model, model);
  const rows = ROWS.with(2, [1, 1, 0]);
  const others: readonly ModelFiles[] = [
    { ...FILES, tensors: { embeddings: floatRows(rows) } },
    { ...FILES, tokenizer: bertTokenizer({ ...VOCAB, tea: 3, cup: 2 }) },
  ];
  for (const other of others) assert((await opened(other)).model !== model);
});

Deno.test("open() names setting, file and fault when a folder is no model", async () => {
  const cases: readonly (readonly [
    change: (folder: string) => Promise<void>,
    told: string,
  ])[] = [
    [
      (folder) => Deno.remove(`${folder}/config.json`),
      "config.json: there is no such file",
    ],
    [
      (folder) => Deno.remove(`${folder}/tokenizer.json`),
      "tokenizer.json: there is no",
    ],
    [
      (folder) => Deno.writeTextFile(`${folder}/config.json`, "[]"),
      "config.json: the whole is not an object",
    ],
    [
      (folder) =>
        Deno.writeTextFile(`${folder}/config.json`, '{"normalize":1}'),
      '"normalize" is not true or false',
    ],
    [
      (folder) => Deno.truncate(`${folder}/config.json`, 1_048_577),
      "more than 1048576",
    ],
    [
      (folder) => Deno.truncate(`${folder}/tokenizer.json`, 67_108_865),
      "tokenizer.json: it has 67108865 bytes",
    ],
    [
      (folder) => Deno.truncate(`${folder}/model.safetensors`, 40),
      "model.safetensors: its head is said",
    ],
    [async (folder) => {
      await Deno.remove(`${folder}/model.safetensors`);
      await Deno.symlink("model.safetensors", `${folder}/model.safetensors`);
    }, "model.safetensors: "],
    [async (folder) => {
      await Deno.remove(`${folder}/model.safetensors`);
      await Deno.mkdir(`${folder}/model.safetensors`);
    }, "model.safetensors: it is not a file"],
    [(folder) =>
      writeModel(folder, {
        ...FILES,
        tensors: { embeddings: floatRows(ROWS.slice(1)) },
      }), "it has vectors of 5 tokens, and tokenizer.json has 6 tokens"],
  ];
  for (const [change, told] of cases) {
    await withFolder(async (folder) => {
      await writeModel(folder, FILES);
      await change(folder);
      const error = await assertRejects(
        () => FileEmbedder.open(folder),
        Error,
        told,
      );
      assert(
        error.message.startsWith(`Cannot use EMBEDDER_FILE "${folder}": `),
      );
    });
  }
});

Deno.test("open() refuses or embeds and never breaks when bytes of the weights' file change", async () => {
  const random = new SeededRandom(40);
  const next = (): number => random.next();
  const whole = toSafetensors({ embeddings: floatRows(ROWS) });
  let taken = 0;
  for (let round = 0; round < 200; round++) {
    const bytes = whole.slice(
      0,
      next() < 0.2 ? next() * whole.length : undefined,
    );
    for (let change = 0; change < 3 && bytes.length > 0; change++) {
      bytes[Math.floor(next() * bytes.length)] = Math.floor(next() * 256);
    }
    try {
      const embedder = await opened({ ...FILES, tensors: bytes });
      assertAlmostEquals(
        Math.hypot(...await embedOne(embedder, "tea cups")),
        1,
        1e-6,
      );
      taken++;
    } catch (error) {
      assert(error instanceof Error);
      assert(
        error.message.startsWith("Cannot use EMBEDDER_FILE"),
        error.message,
      );
    }
  }
  // Changed numbers of a vector are still numbers.
  assert(taken > 0 && taken < 200, String(taken));
});
