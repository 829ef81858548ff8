import { assert } from "@std/assert";
import {
  type CorpusNamespace,
  readOwnSet,
} from "../../scripts/bench/relayer/corpus.ts";
import { serveRandomVectors } from "../../scripts/bench/relayer/random_vectors.ts";
import { rememberCorpus } from "../../scripts/bench/relayer/rankings.ts";
import { computeScore } from "../../scripts/bench/relayer/scores.ts";

/**
 * One namespace of each kind: notes, tickets, near-duplicates, and
 * conversations.
 */
const NAMES = [
  "engineering notes",
  "support tickets",
  "trips",
  "group chat",
  "german chat",
];

async function recallAtTen(
  namespaces: readonly CorpusNamespace[],
  env: Readonly<Record<string, string>> = {},
): Promise<number> {
  await using corpus = await rememberCorpus(namespaces, { env });
  const { found } = await corpus.ask("fused");
  return computeScore(found).recallAt[10] ?? 0;
}

Deno.test(
  "relayer finds hardly less by words beside an embedding endpoint whose vectors are random",
  { timeout: 240_000 },
  async () => {
    const namespaces = (await readOwnSet("notes")).filter(({ name }) =>
      NAMES.includes(name)
    );
    const without = await recallAtTen(namespaces);
    assert(without >= 0.8, `${without} without an endpoint`);
    await using endpoint = serveRandomVectors({ seed: 7 });
    const beside = await recallAtTen(namespaces, endpoint.env);
    assert(beside >= without - 0.02, `${beside}, and ${without} without`);
  },
);
