import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  bertTokenizer,
  floatRows,
  writeModel,
} from "../../services/relayer/embed/file/testing/model_folder.ts";
import { runRelayer } from "../support/relayer_process.ts";
import { onStores } from "./on_stores.ts";
import { RelayerHome } from "./relayer_home.ts";

const WORDS = ["[PAD]", "[UNK]", "ada", "car", "automobile", "tulip", "red"];

/** A model that knows that a car is an automobile; `turn` makes it another. */
async function writeWords(folder: string, turn = 0): Promise<void> {
  const rows = [[0, 0, 0], [0, 0, 0], [1, 0, 0], [0, 1, 0.1], [0, 1, 0], [
    ...[0, 0, 1],
  ], [0.1, 0.1, 0.1]];
  const turned = rows.map((row) => [...row.slice(turn), ...row.slice(0, turn)]);
  await writeModel(folder, {
    tensors: { embeddings: floatRows(turned) },
    tokenizer: bertTokenizer(
      Object.fromEntries(WORDS.map((word, id) => [word, id])),
    ),
  });
}

async function makeFolder(): Promise<AsyncDisposable & { path: string }> {
  const path = await Deno.makeTempDir({ prefix: "relayer_test_" });
  return {
    path,
    [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }),
  };
}

onStores({
  name:
    "relayer finds by meaning with the model of EMBEDDER_FILE, and makes vectors again when its files change",
  timeout: 240_000,
  fn: async (storage) => {
    await using folder = await makeFolder();
    await writeWords(folder.path);
    const env = { EMBEDDER_FILE: folder.path };
    await using home = await RelayerHome.open({ storage, env });
    const texts = ["Ada has a red automobile", "Ada has a red tulip"];
    for (const text of texts) await home.mem().rememberAndWait(text);
    const health = await (await fetch(`${home.url}/health`)).json();
    assertEquals(health.embedder, { state: "ready" });
    for (const ranking of ["semantic", "fused"] as const) {
      const { results } = await home.mem().recall({
        ...{ query: "car", ranking, explain: ranking === "fused" },
      });
      assertEquals(results[0]?.text, texts[0], ranking);
      assert((results[0]?.distance ?? 1) < 0.5);
      // At the weight of the built-in embedder's vectors it would be .01.
      if (ranking === "fused") assert((results[0]?.relevance ?? 0) > 0.1);
    }

    await home.stop();
    await writeWords(folder.path, 1);
    await home.start(env);
    await home.service.waitForLine("Renewed entries of the index");
    const { results } = await home.mem().recall({ query: "car" });
    assertEquals(results.map(({ text }) => text), texts);
  },
});

Deno.test("relayer refuses to start and says what is wrong when EMBEDDER_FILE names no model", async () => {
  await using folder = await makeFolder();
  const cases: readonly (readonly [
    env: Readonly<Record<string, string>>,
    told: string,
  ])[] = [
    [{ EMBEDDER_FILE: folder.path }, "config.json: there is no such file"],
    [
      {
        EMBEDDER_FILE: folder.path,
        EMBEDDING_API_BASE: "http://127.0.0.1:1/v1",
      },
      "Cannot use EMBEDDER_FILE and EMBEDDING_API_BASE together",
    ],
  ];
  for (const [env, told] of cases) {
    const run = await runRelayer({ dataDir: `${folder.path}/data`, env });
    assertEquals([run.code, run.stdout], [1, ""]);
    assertStringIncludes(run.stderr, told);
    assertEquals(run.stderr.includes("    at "), false, run.stderr);
  }
});
