import { assert, assertEquals } from "@std/assert";
import { FileEmbedder } from "../../../services/relayer/embed/file/file_embedder.ts";
import { HashedEmbedder } from "../../../services/relayer/embed/hashed_embedder.ts";
import {
  BUILT_IN_VECTOR_WEIGHT,
  FILE_VECTOR_WEIGHT,
} from "../../../services/relayer/recall/memory_index.ts";
import { readOwnSet } from "./corpus.ts";
import { writeRandomModel } from "./random_model.ts";
import { measureIndex } from "./rankings.ts";
import { computeScore } from "./scores.ts";

Deno.test("writeRandomModel() writes a model that gives equal texts equal vectors and removes it at the end", async () => {
  let folder = "";
  {
    await using model = await writeRandomModel(["green tea"], { seed: 1 });
    folder = model.folder;
    const embedder = await FileEmbedder.open(folder);
    const made = await embedder.embed(["Green tea", "green tea", "tea"]);
    assert(made.kind === "ok");
    assertEquals(made.vectors[0], made.vectors[1]);
    assert(made.vectors[0]?.some((one, at) => one !== made.vectors[2]?.[at]));
  }
  const isThere = await Deno.stat(folder).then(() => true, () => false);
  assertEquals(isThere, false);
});

Deno.test("a model file of random vectors costs fused ranking at most .02 of recall@10 in chats", async () => {
  const chats = await readOwnSet("chats");
  const texts = chats.flatMap(({ memories }) => memories)
    .map(({ text }) => text);
  await using model = await writeRandomModel(texts, { seed: 16 });
  const [file, builtIn] = await Promise.all([
    measureIndex(chats, {
      embedder: await FileEmbedder.open(model.folder),
      vectorWeight: FILE_VECTOR_WEIGHT,
    }),
    measureIndex(chats, {
      embedder: new HashedEmbedder(),
      vectorWeight: BUILT_IN_VECTOR_WEIGHT,
    }),
  ].map(async (measured) => computeScore((await measured).found)));
  const change = (file?.recallAt[10] ?? 0) - (builtIn?.recallAt[10] ?? 0);
  assert(change >= -0.02, String(change));
});
