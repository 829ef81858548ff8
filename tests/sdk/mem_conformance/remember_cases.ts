/**
 * Conformance cases about remembering: jobs, several texts at once, idempotency
 * keys, and memories that supersede others.
 *
 * @module
 */

import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertRejects,
} from "@std/assert";
import { type Mem, RememberJobNotFound } from "../../../mod.ts";
import {
  type ConformanceCase,
  createCases,
  expectRefusal,
  expectStatuses,
  listedSince,
  type Trial,
} from "./trial.ts";

const MEBIBYTE = 1_048_576;
const UNKNOWN = "0198c0de-0000-7000-8000-000000000000";

async function remembersOne(
  mem: Mem,
  { account, namespace }: Trial,
): Promise<void> {
  const accepted = await mem.remember("Ada drinks tea");
  assertEquals(accepted.status, "running");
  const memory = await mem.waitForRememberJob(accepted.job_id);
  const { blob_id, receipt, content_salt } = memory;
  assertMatch(blob_id, /./);
  assert(receipt !== undefined && content_salt !== undefined);
  assertMatch(content_salt, /^[0-9a-f]{64}$/);
  assertEquals(memory, {
    id: accepted.job_id,
    job_id: accepted.job_id,
    blob_id,
    owner: account.owner,
    namespace,
    ...{ receipt, content_salt },
  });
  assertEquals(await mem.getRememberStatus(accepted.job_id), {
    job_id: accepted.job_id,
    status: "done",
    owner: account.owner,
    namespace,
    blob_id,
    ...{ receipt, content_salt },
  });
}

async function signsReceipts(
  mem: Mem,
  { account: { owner }, namespace }: Trial,
): Promise<void> {
  const text = "Ada drinks tea";
  const { id, blob_id, receipt, content_salt: contentSalt } = await mem
    .rememberAndWait(text);
  assert(receipt !== undefined && contentSalt !== undefined);
  const { kind, memory_id } = receipt;
  assertEquals(
    [kind, receipt.owner, receipt.namespace, memory_id, receipt.blob_id],
    ["remember", owner, namespace, id, blob_id],
  );
  const ok = { kind: "ok", isPinned: false } as const;
  assertEquals(await mem.verifyReceipt(receipt), ok);
  assertEquals(
    await mem.verifyReceipt(receipt, { text, contentSalt, owner }),
    ok,
  );
  assertEquals(
    await mem.verifyReceipt(receipt, { text: `${text}!`, contentSalt }),
    { kind: "invalid", reason: "other_content" },
  );
  assertEquals(
    await mem.verifyReceipt({ ...receipt, namespace: "other" }),
    { kind: "invalid", reason: "bad_signature" },
  );
  const [several] = (await mem.rememberBulkAndWait([{ text }])).results;
  assert(several?.receipt !== undefined);
  assertEquals(await mem.verifyReceipt(several.receipt), ok);
  const encryptedData = Uint8Array.of(1, 2, 3);
  const vector = await mem.embed(text);
  const manual = await mem.rememberManual({ encryptedData, vector });
  assert(manual.receipt !== undefined);
  assertEquals(
    await mem.verifyReceipt(manual.receipt, { bytes: encryptedData }),
    ok,
  );
  const deleted = await mem.deleteMemory(id);
  assertEquals(deleted.receipt?.kind, "delete");
  assert(deleted.receipt !== undefined);
  assertEquals(await mem.verifyReceipt(deleted.receipt, { owner }), ok);
  const forgotten = await mem.forget(namespace);
  assertEquals([forgotten.receipt?.kind, forgotten.receipt?.count], [
    "forget",
    2,
  ]);
  assert(forgotten.receipt !== undefined);
  assertEquals(await mem.verifyReceipt(forgotten.receipt), ok);
}

async function takesNamespaces(mem: Mem, { namespace }: Trial): Promise<void> {
  const other = `${namespace}-other`;
  const kept = [
    await mem.rememberAndWait("Ada drinks tea", other),
    await mem.rememberAndWait("Ben drinks coffee", { namespace: other }),
    await mem.rememberAndWait("Carla drinks milk", other, {
      metadata: { person: "Carla" },
    }),
  ];
  assertEquals(kept.map((memory) => memory.namespace), [other, other, other]);
  const { job_id } = await mem.rememberAsync("Dora drinks water");
  const { namespace: own } = await mem.waitForRememberJob(job_id, {
    pollIntervalMs: 100,
    timeoutMs: 50_000,
  });
  assertEquals(own, namespace);
  const { memory_count } = await mem.stats(other);
  assertEquals(memory_count, 3);
}

async function knowsNoOtherJobs(mem: Mem): Promise<void> {
  assertEquals(await mem.getRememberStatus(UNKNOWN), {
    job_id: UNKNOWN,
    status: "not_found",
  });
  for (const id of [UNKNOWN, "no such id"]) {
    const error = await assertRejects(
      () => mem.waitForRememberJob(id),
      RememberJobNotFound,
    );
    assertEquals([error.status, error.jobId], [404, id]);
  }
}

async function remembersSeveral(mem: Mem, { namespace }: Trial): Promise<void> {
  const other = `${namespace}-other`;
  const outcome = await mem.rememberBulkAndWait([
    { text: "Ada drinks tea", metadata: { person: "Ada" }, importance: 1 },
    { text: "Ben drinks coffee", namespace: other },
  ]);
  const { results, ...counts } = outcome;
  assertEquals(counts, { total: 2, succeeded: 2, failed: 0, timedOut: 0 });
  assertEquals(
    results.map((one) => [one.status, one.namespace, one.id === one.job_id]),
    [["done", namespace, true], ["done", other, true]],
  );
  assert(results.every(({ blob_id }) => blob_id !== ""));

  const accepted = await mem.rememberBulk([{ text: "Carla drinks milk" }]);
  assertEquals([accepted.total, accepted.status], [1, "running"]);
  const [id = ""] = accepted.job_ids;
  const waited = await mem.waitForRememberJobs([id, UNKNOWN], [namespace], {
    timeoutMs: 50_000,
  });
  assertEquals(
    [waited.succeeded, waited.failed, waited.total],
    [1, 1, 2],
  );
  const { results: seen } = await mem.getRememberBulkStatus([UNKNOWN, id]);
  const [first] = waited.results;
  assert(first?.receipt !== undefined && first.content_salt !== undefined);
  const { blob_id, receipt, content_salt } = first;
  assertEquals(seen, [
    { job_id: UNKNOWN, status: "not_found" },
    {
      ...{ job_id: id, status: "done", namespace, blob_id },
      ...{ receipt, content_salt },
    },
  ]);
}

async function refusesTooMany(mem: Mem): Promise<void> {
  const items = Array.from({ length: 21 }, (_, at) => ({ text: `Fact ${at}` }));
  for (const wrong of [items, []]) {
    await assertRejects(() => mem.rememberBulk(wrong), TypeError, "1 to 20");
  }
}

async function keepsKeys(mem: Mem): Promise<void> {
  const options = { idempotencyKey: `key of ${UNKNOWN}` };
  const first = await mem.remember("Ada drinks tea", options);
  const again = await mem.remember("Ada drinks tea", options);
  assertEquals(again.job_id, first.job_id);
  const error = await expectRefusal(mem.remember("Ben drinks coffee", options));
  assertEquals(error.status, 409);
  await mem.waitForRememberJob(first.job_id);

  const key = { idempotencyKey: `other key of ${UNKNOWN}` };
  const texts = [{ text: "Carla drinks milk" }, { text: "Dora drinks water" }];
  const bulk = await mem.rememberBulkAsync(texts, key);
  const bulkAgain = await mem.rememberBulkAsync(texts, key);
  assertEquals(bulkAgain.job_ids, bulk.job_ids);
  const reversed = mem.rememberBulk(texts.toReversed(), key);
  assertEquals((await expectRefusal(reversed)).status, 409);
  await mem.waitForRememberJobs(bulk.job_ids);

  // Without a key, remembering the same text with the same metadata counts as
  // one write within half an hour; other metadata makes it another write. A
  // half hour may end between two calls, so all three calls are made at once.
  const plain = await Promise.all(
    ["a", "a", "b"].map((person) =>
      mem.remember("Eva drinks soda", { metadata: { person } })
    ),
  );
  const [one, same, other] = plain.map(({ job_id }) => job_id);
  assertEquals(one, same);
  assertNotEquals(one, other);
  await mem.waitForRememberJobs([one ?? "", other ?? ""]);
  assertEquals((await mem.stats()).memory_count, 5);
}

async function supersedes(mem: Mem, { namespace }: Trial): Promise<void> {
  const { id: old } = await mem.rememberAndWait("Ada lives in London");
  const { id: young } = await mem.rememberAndWait("Ada lives in Paris", {
    supersedes: old,
  });
  const { results } = await mem.recall({ query: "Where does Ada live?" });
  assertEquals(results.map(({ id }) => id), [young]);
  assertEquals((await mem.stats()).memory_count, 1);
  assert((await mem.stats()).storage_bytes > 0);
  const { memories } = await listedSince(mem, { namespace });
  assertEquals(
    memories.map((entry) => [
      entry.memory_id,
      entry.status,
      entry.supersedes,
      entry.superseded_by,
    ]).toSorted(),
    [
      [old, "superseded", undefined, young],
      [young, "active", old, undefined],
    ].toSorted(),
  );
  const missing = mem.remember("Ada lives in Rome", { supersedes: UNKNOWN });
  assertEquals((await expectRefusal(missing)).status, 404);
  // Deleting the newer memory does not bring back the one that it superseded.
  await mem.deleteMemory(young);
  assertEquals((await mem.recall("Ada")).total, 0);
}

async function refusesWhatIsOutOfBounds(mem: Mem): Promise<void> {
  const many = Object.fromEntries(
    Array.from({ length: 33 }, (_, at) => [`name${at}`, at]),
  );
  const statuses = await expectStatuses([
    mem.remember(""),
    mem.remember(" \n"),
    mem.remember("half a pair: \ud800"),
    mem.remember("t".repeat(MEBIBYTE + 1)),
    mem.remember("t", { importance: 1.1 }),
    mem.remember("t", { importance: -0.1 }),
    mem.remember("t", { metadata: many }),
    mem.remember("t", { metadata: { "": 1 } }),
    mem.remember("t", { metadata: { ["n".repeat(65)]: 1 } }),
    mem.remember("t", { metadata: { name: "v".repeat(1_025) } }),
    mem.remember("t", { supersedes: "no id!" }),
    mem.remember("t", "n".repeat(256)),
    mem.remember("t", "a\u0007bell"),
    mem.remember("t", { idempotencyKey: "k".repeat(256) }),
    mem.rememberBulk([{ text: "fine" }, { text: "" }]),
    mem.embed(" "),
    mem.embed("t".repeat(65_537)),
  ]);
  assertEquals(statuses, Array(statuses.length).fill(400));
  assertEquals((await mem.stats()).memory_count, 0);
}

async function storesWhatIsEncrypted(
  mem: Mem,
  { account, namespace }: Trial,
): Promise<void> {
  const vector = await mem.embed("Ada drinks tea");
  assertEquals(vector.length, 1_536);
  const length = Math.hypot(...vector);
  assertAlmostEquals(length, 1, 1e-5);
  const encryptedData = Uint8Array.of(1, 2, 3, 4, 5);
  const memory = await mem.rememberManual({
    encryptedData,
    vector: vector.map((one) => one * 7),
  });
  const { receipt: _, ...stored } = memory;
  const { id, blob_id } = stored;
  assertEquals(stored, { id, blob_id, owner: account.owner, namespace });
  const { total, results: [hit] } = await mem.recallManual({ vector });
  assertEquals([total, hit?.id, hit?.blob_id], [1, id, blob_id]);
  assertAlmostEquals(hit?.distance ?? 1, 0, 1e-5);
  assertEquals(hit?.importance, undefined);
  assertEquals(hit?.encrypted_data, undefined);
  const shown = await mem.recallManual({
    vector: Float32Array.from(vector),
    includeData: true,
    limit: 1,
    scoringWeights: { importance: 1 },
  });
  assertEquals(shown.results[0]?.encrypted_data, "AQIDBAU=");
  assertAlmostEquals(shown.results[0]?.score ?? 0, 1.5, 1e-5);
  // A recall by text matches the encrypted memory, but cannot show it.
  const found = await mem.recall("Ada drinks tea");
  assertEquals([found.total, found.dropped_count], [0, 1]);
  const statuses = await expectStatuses([
    mem.rememberManual({ encryptedData, vector: [1, 2] }),
    mem.rememberManual({ encryptedData, vector: Array(1_536).fill(0) }),
    mem.rememberManual({ encryptedData: "no base64!", vector }),
    mem.recallManual({ vector: [1] }),
    mem.recallManual({ vector, limit: 0 }),
  ]);
  assertEquals(statuses, Array(statuses.length).fill(400));
}

/** The cases by what the client does. */
export const REMEMBER_CASES: readonly ConformanceCase[] = createCases({
  "remembers a text and tells how far it is": remembersOne,
  "remembers in the namespace that is named, and waits": takesNamespaces,
  "knows no job that was never begun": knowsNoOtherJobs,
  "remembers several texts and tells what became of each": remembersSeveral,
  "refuses more than twenty texts, and none": refusesTooMany,
  "takes a key for one write": keepsKeys,
  "puts a memory in the place of another": supersedes,
  "refuses what is out of bounds": refusesWhatIsOutOfBounds,
  "stores what the application encrypted": storesWhatIsEncrypted,
  "signs receipts of what it stores and deletes": signsReceipts,
});
