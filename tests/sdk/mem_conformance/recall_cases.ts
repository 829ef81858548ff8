/**
 * Conformance cases about recall: order, limits, filters, and text for a
 * language model's prompt.
 *
 * @module
 */

import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import type { Mem, RecallParams, RecallResult } from "../../../mod.ts";
import {
  type ConformanceCase,
  createCases,
  expectStatuses,
  type Trial,
} from "./trial.ts";

const TEA = "Ada prefers oolong tea";
const COFFEE = "Ben prefers black coffee";
const BIKES = "Carla repairs bicycles";

/**
 * Remembers three texts one after the other; returns their ids, the oldest
 * first.
 */
async function rememberThree(
  mem: Mem,
  trial: Trial,
): Promise<readonly string[]> {
  const ids: string[] = [];
  const notes = [
    { text: TEA, metadata: { person: "Ada", cups: 3, isDaily: true } },
    { text: COFFEE, metadata: { person: "Ben", cups: 3 }, importance: 1 },
    { text: BIKES, importance: 0 },
  ];
  for (const { text, ...options } of notes) {
    ids.push((await mem.rememberAndWait(text, options)).id);
    trial.tick();
  }
  return ids;
}

async function recallTexts(
  mem: Mem,
  params: RecallParams,
): Promise<readonly string[]> {
  return (await mem.recall(params)).results.map(({ text }) => text);
}

async function findsTheClosest(mem: Mem, trial: Trial): Promise<void> {
  const [id] = await rememberThree(mem, trial);
  const { total, results } = await mem.recall({ query: TEA });
  assertEquals(total, 3);
  const [first] = results;
  assertEquals([first?.id, first?.text], [id, TEA]);
  assertEquals(first?.metadata, { person: "Ada", cups: 3, isDaily: true });
  assertAlmostEquals(first?.distance ?? 1, 0, 1e-5);
  assertEquals(first?.score, undefined);
  assert(!Number.isNaN(Date.parse(first?.created_at ?? "")));
  const distances = results.map(({ distance }) => distance);
  assertEquals(distances, distances.toSorted((a, b) => a - b));
  assertEquals(results.at(-1)?.text, BIKES);
  assertEquals(results.at(-1)?.metadata, undefined);
  assertEquals(
    await recallTexts(mem, { query: "Who drinks oolong?", limit: 1 }),
    [TEA],
  );
}

async function takesOlderForms(mem: Mem, trial: Trial): Promise<void> {
  await rememberThree(mem, trial);
  assertEquals((await mem.recall(TEA)).total, 3);
  assertEquals((await mem.recall(TEA, 2)).total, 2);
  assertEquals((await mem.recall(TEA, 2, trial.namespace)).total, 2);
  assertEquals((await mem.recall(TEA, { topK: 1, limit: 3 })).total, 1);
  assertEquals((await mem.recall(TEA, { limit: 1_000 })).total, 3);
  assertEquals(
    (await mem.recall(TEA, { namespace: `${trial.namespace}-none` })).total,
    0,
  );
}

async function filters(mem: Mem, trial: Trial): Promise<void> {
  await rememberThree(mem, trial);
  const query = "Who prefers what?";
  const texts = (filter: RecallParams["filter"]) =>
    recallTexts(mem, { query, filter });
  assertEquals((await texts({ cups: 3 })).toSorted(), [TEA, COFFEE]);
  assertEquals(await texts({ cups: 3, person: "Ben" }), [COFFEE]);
  assertEquals(await texts({ cups: "3" }), []);
  assertEquals(await texts({ toString: "x" }), []);
  assertEquals((await texts({})).length, 3);
}

async function looksAtGivenIds(mem: Mem, trial: Trial): Promise<void> {
  const ids = await rememberThree(mem, trial);
  const [tea = "", , bikes = ""] = ids;
  assertEquals(
    await recallTexts(mem, { query: TEA, ids: [bikes, tea] }),
    [TEA, BIKES],
  );
  assertEquals(await recallTexts(mem, { query: TEA, ids: ["unknown"] }), []);
  assertEquals(
    await recallTexts(mem, { query: TEA, ids: [bikes, tea], limit: 1 }),
    [TEA],
  );
}

async function putsTheNewestFirst(mem: Mem, trial: Trial): Promise<void> {
  await rememberThree(mem, trial);
  const query = TEA;
  assertEquals(
    await recallTexts(mem, { query, sort: "recent" }),
    [BIKES, COFFEE, TEA],
  );
  // `recent` takes the newest of the closest memories, five of which are
  // considered for each one that is wanted.
  assertEquals(await recallTexts(mem, { query, sort: "recent", limit: 1 }), [
    BIKES,
  ]);
  assertEquals((await recallTexts(mem, { query, sort: "relevance" }))[0], TEA);
}

async function weighs(mem: Mem, trial: Trial): Promise<void> {
  await rememberThree(mem, trial);
  const { results } = await mem.recall({
    query: TEA,
    scoringWeights: { semantic: 0, importance: 2 },
  });
  assertEquals(
    results.map(({ text, score }) => [text, score]),
    [[COFFEE, 2], [TEA, 1], [BIKES, 0]],
  );
  // Weights order the results, but the results were selected by distance
  // before.
  assertEquals(
    await recallTexts(mem, {
      query: TEA,
      limit: 1,
      scoringWeights: { importance: 100 },
    }),
    [TEA],
  );
  const fresh = await mem.recall({
    query: TEA,
    scoringWeights: { semantic: 0, recency: 1, recencyHalfLifeDays: 0.001 },
  });
  assertEquals(fresh.results.map(({ text }) => text), [BIKES, COFFEE, TEA]);
  for (const { score = 0 } of fresh.results) assert(score > 0 && score <= 1);
  const named = await mem.recall({
    query: TEA,
    sort: "relevance",
    scoringWeights: { importance: 100 },
  });
  assertEquals(named.results[0]?.text, TEA);
  assertEquals(named.results[0]?.score, undefined);
  const same = await mem.recall({
    query: TEA,
    scoringWeights: { semantic: 5 },
  });
  assertEquals(same.results[0]?.score, undefined);
}

async function ranksByWords(mem: Mem, trial: Trial): Promise<void> {
  await rememberThree(mem, trial);
  const query = "Who prefers oolong?";
  const { results } = await mem.recall({
    ...{ query, ranking: "fused", explain: true },
  });
  const [first, second] = results;
  assertEquals([first?.text, results.length], [TEA, 3]);
  const relevances = results.map(({ relevance = NaN }) => relevance);
  assertEquals(relevances, relevances.toSorted((a, b) => b - a));
  for (const relevance of relevances) {
    assert(relevance >= 0 && relevance <= 1, String(relevance));
  }
  assert((first?.relevance ?? 0) >= 0.3, String(first?.relevance));
  assert((results.at(-1)?.relevance ?? 1) < 0.3);
  assert((first?.distance ?? 1) < (second?.distance ?? 0));
  assertEquals(first?.explanation?.matched.toSorted(), ["oolong", "prefers"]);
  assertEquals(second?.explanation?.matched, ["prefers"]);
  const { words = 0, vector } = first?.explanation?.parts ?? {};
  assert(words > (second?.explanation?.parts["words"] ?? Infinity));
  assertEquals(typeof vector, "number");
  const { results: [unasked] } = await mem.recall({ query, ranking: "fused" });
  assertEquals(
    [unasked?.relevance, unasked?.explanation],
    [first?.relevance, undefined],
  );
  // Sorted by time, as all three are among the best results.
  assertEquals(
    await recallTexts(mem, { query, ranking: "fused", sort: "recent" }),
    [BIKES, COFFEE, TEA],
  );
  const weighed = await mem.recall({
    ...{ query, ranking: "fused" },
    scoringWeights: { semantic: 1, importance: 1e-6 },
  });
  assertEquals(weighed.results[0]?.text, TEA);
  assertAlmostEquals(
    weighed.results[0]?.score ?? 0,
    first?.relevance ?? 1,
    1e-3,
  );
  assertEquals(
    await recallTexts(mem, {
      ...{ query, ranking: "fused" },
      filter: { person: "Ben" },
    }),
    [COFFEE],
  );
}

async function ranksAsTheClientSays(mem: Mem, trial: Trial): Promise<void> {
  await rememberThree(mem, trial);
  const fused = trial.mem({ ranking: "fused" });
  const relevance = async (call: Promise<RecallResult>) =>
    typeof (await call).results[0]?.relevance;
  assertEquals(await relevance(fused.recall(TEA)), "number");
  assertEquals(
    await relevance(fused.recall(TEA, { ranking: "semantic" })),
    "undefined",
  );
  assertEquals(await relevance(mem.recall(TEA)), "undefined");
  const { results: [plain] } = await mem.recall(TEA, { explain: true });
  assertEquals(plain?.explanation?.matched, []);
  assertAlmostEquals(plain?.explanation?.parts["vector"] ?? 0, 1, 1e-3);
  const asked = await mem.ask("Who prefers oolong?", { limit: 1 });
  assertEquals(typeof asked.memories[0]?.relevance, "number");
  const semantic = trial.mem({ ranking: "semantic" });
  const plainly = await semantic.ask("Who prefers oolong?", { limit: 1 });
  assertEquals(plainly.memories[0]?.text, TEA);
  assertEquals(plainly.memories[0]?.relevance, undefined);
}

async function toldNoRanking(mem: Mem, trial: Trial): Promise<void> {
  await rememberThree(mem, trial);
  const older = trial.older(["recall.ranking"]);
  const { results } = await older.mem.recall({
    ...{ query: TEA, ranking: "fused", explain: true },
  });
  assertEquals(results[0]?.text, TEA);
  assertEquals(
    [results[0]?.relevance, results[0]?.explanation],
    [undefined, undefined],
  );
  const { memories } = await older.mem.ask("Who prefers oolong?");
  assertEquals(memories[0]?.relevance, undefined);
  assertEquals(older.bodies.length, 2);
  for (const body of older.bodies) {
    assert(!/ranking|explain/.test(body), body);
  }
}

async function leavesOutWhatIsFar(mem: Mem, trial: Trial): Promise<void> {
  await rememberThree(mem, trial);
  const near = await mem.recall({ query: TEA, maxDistance: 0.1 });
  assertEquals([near.total, near.results[0]?.text], [1, TEA]);
  assertEquals((await mem.recall({ query: TEA, maxDistance: 0 })).total, 0);
  const short = await mem.recall({
    query: TEA,
    maxTokens: mem.countTokens(TEA),
  });
  assertEquals(short.results.map(({ text }) => text), [TEA]);
  assertEquals(short.meta, {
    tokenEstimate: mem.countTokens(TEA),
    truncated: true,
  });
}

async function keepsNamespacesApart(mem: Mem, trial: Trial): Promise<void> {
  await rememberThree(mem, trial);
  const other = trial.mem({ namespace: `${trial.namespace}-other` });
  assertEquals((await other.recall({ query: TEA })).total, 0);
  await other.rememberAndWait("Dora drinks water");
  assertEquals(await recallTexts(other, { query: TEA }), ["Dora drinks water"]);
  assertEquals((await mem.recall({ query: TEA })).total, 3);
}

async function namesWhatHasNoRoom(mem: Mem): Promise<void> {
  const long = (word: string) => `${word} `.repeat(100_000);
  await mem.rememberBulkAndWait([
    { text: long("oolong") },
    { text: long("coffee") },
    { text: TEA },
  ]);
  const { results, omitted_ids = [], ...rest } = await mem.recall(
    "oolong tea and coffee",
  );
  assertEquals([results.length, omitted_ids.length, rest.truncated], [
    2,
    1,
    true,
  ]);
  assertEquals(rest.total, 2);
  const others = await mem.recall({
    query: "oolong tea and coffee",
    ids: omitted_ids,
  });
  assertEquals(others.results.map(({ id }) => id), [...omitted_ids]);
  assertEquals(others.truncated, undefined);
}

async function findsFacts(
  mem: Mem,
  { account, namespace }: Trial,
): Promise<void> {
  const text = "What is new? My name is Ada. I live in London.";
  const facts = ["My name is Ada.", "I live in London."];
  const found = await mem.analyze(text, {
    occurredAt: new Date("2026-07-01T12:00:00Z"),
  });
  assertEquals(found.facts.map((fact) => fact.text), facts);
  assertEquals(found.facts.map(({ id }) => id), found.job_ids);
  assertEquals(
    [found.fact_count, found.status, found.owner],
    [2, "pending", account.owner],
  );
  const { succeeded } = await mem.waitForRememberJobs(found.job_ids);
  assertEquals(succeeded, 2);
  assertEquals(
    (await recallTexts(mem, { query: "name, live" })).toSorted(),
    facts.toSorted(),
  );
  const other = `${namespace}-other`;
  const waited = await mem.analyzeAndWait("I work in Paris.", other);
  assertEquals(waited.facts.map((fact) => fact.text), ["I work in Paris."]);
  assertEquals([waited.succeeded, waited.owner], [1, account.owner]);
  assertEquals(waited.results[0]?.namespace, other);
  const none = await mem.analyzeAndWait("What is new?");
  assertEquals([none.facts, none.total], [[], 0]);
}

async function answers(mem: Mem, trial: Trial): Promise<void> {
  await rememberThree(mem, trial);
  const known = await mem.ask("What does Carla repair?", { limit: 1 });
  assert(known.answer.includes(BIKES), known.answer);
  assertEquals(known.memories_used, 1);
  assertEquals(known.memories.map(({ text }) => text), [BIKES]);
  const unknown = await mem.ask(
    "What does Carla repair?",
    `${trial.namespace}-none`,
  );
  assertEquals([unknown.memories_used, unknown.memories], [0, []]);
  assert(unknown.answer.startsWith("I do not know"), unknown.answer);
}

async function refusesWhatIsOutOfBounds(mem: Mem): Promise<void> {
  const query = "tea";
  const statuses = await expectStatuses([
    mem.recall({ query: "" }),
    mem.recall({ query: " " }),
    mem.recall({ query: "t".repeat(65_537) }),
    mem.recall({ query, limit: 0 }),
    mem.recall({ query, limit: -1 }),
    mem.recall({ query, limit: 2.5 }),
    mem.recall({ query, namespace: "n".repeat(256) }),
    mem.recall({ query, ids: ["i".repeat(65)] }),
    mem.recall({ query, ids: Array.from({ length: 101 }, (_, at) => `${at}`) }),
    mem.recall({ query, scoringWeights: { importance: 101 } }),
    mem.recall({ query, scoringWeights: { recency: -1 } }),
    mem.recall({
      query,
      scoringWeights: { recency: 1, recencyHalfLifeDays: 0 },
    }),
    mem.recall({ query, filter: { ["n".repeat(65)]: 1 } }),
    mem.ask(" "),
    mem.ask("tea?", { limit: 0 }),
    mem.analyze(""),
    mem.analyze("I live in London.", { occurredAt: "2026-02-30T00:00:00Z" }),
  ]);
  assertEquals(statuses, Array(statuses.length).fill(400));
}

/** The cases by what the client does. */
export const RECALL_CASES: readonly ConformanceCase[] = createCases({
  "finds the closest first, with what was said of it": findsTheClosest,
  "takes the older forms of a recall": takesOlderForms,
  "filters by what was said of memories": filters,
  "looks at given ids only": looksAtGivenIds,
  "puts the newest of the closest first": putsTheNewestFirst,
  "weighs similarity, newness and importance": weighs,
  "ranks by words and vectors, and says why": ranksByWords,
  "ranks as the call says, or the client": ranksAsTheClientSays,
  "tells a relayer without rankings of none": toldNoRanking,
  "leaves out what is far or too long": leavesOutWhatIsFar,
  "keeps namespaces apart": keepsNamespacesApart,
  "names what an answer has no room for": namesWhatHasNoRoom,
  "finds facts in a text": findsFacts,
  "answers a question from memories": answers,
  "refuses recalls that are out of bounds": refusesWhatIsOutOfBounds,
});
