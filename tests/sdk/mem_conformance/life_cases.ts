/**
 * Conformance cases about memories after they are stored (lists, deletion,
 * whole namespaces), and about the client itself.
 *
 * @module
 */

import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import {
  type Mem,
  MemDestroyedError,
  MemRateLimitError,
} from "../../../mod.ts";
import {
  type ConformanceCase,
  createCases,
  expectRefusal,
  expectStatuses,
  listedSince,
  type Trial,
} from "./trial.ts";

const UNKNOWN = "0198c0de-0000-7000-8000-000000000000";

/**
 * Remembers some texts one after the other; returns their ids, the oldest
 * first.
 */
async function rememberSome(
  mem: Mem,
  { count, trial, namespace }: {
    readonly count: number;
    readonly trial: Trial;
    readonly namespace?: string;
  },
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let number = 1; number <= count; number++) {
    const text = `Fact number ${number}`;
    ids.push((await mem.rememberAndWait(text, { namespace })).id);
    trial.tick();
  }
  return ids;
}

async function listsMemories(mem: Mem, trial: Trial): Promise<void> {
  const { account, namespace } = trial;
  const { next_cursor } = await listedSince(mem, { namespace });
  const { id, blob_id } = await mem.rememberAndWait("Ada drinks tea", {
    importance: 0.75,
  });
  const page = await mem.listMemories({
    cursor: next_cursor ?? undefined,
    limit: 2,
  });
  const { memories: [entry], ...rest } = page;
  assertEquals(rest, {
    next_cursor: rest.next_cursor,
    has_more: false,
    snapshot_version: 2,
    deleted: [],
    must_resync: false,
  });
  const { created_at, updated_at, size, package_id, ...facts } = entry ?? {};
  assertEquals(facts, {
    memory_id: id,
    namespace_id: namespace,
    blob_id,
    agent_id: account.publicKey,
    status: "active",
    end_epoch: null,
    expires_at: null,
    importance: 0.75,
  });
  assert(size !== undefined && size > "Ada drinks tea".length);
  assertMatch(package_id ?? "", /^0x/);
  for (const time of [created_at, updated_at]) {
    assertMatch(time ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  }
  // Nothing is newer than that cursor, and the next cursor is the same.
  const end = await mem.listMemories({ cursor: page.next_cursor ?? "" });
  assertEquals([end.memories, end.next_cursor, end.has_more], [
    [],
    page.next_cursor,
    false,
  ]);
}

async function listsInPages(mem: Mem, trial: Trial): Promise<void> {
  const { namespace } = trial;
  const { next_cursor } = await listedSince(mem, { namespace });
  const cursor = next_cursor ?? undefined;
  const ids = await rememberSome(mem, { count: 5, trial });
  const first = await mem.listMemories({ cursor, limit: 2 });
  assertEquals(first.memories.map(({ memory_id }) => memory_id), [
    ...ids.slice(0, 2),
  ]);
  assertEquals(first.has_more, true);
  const { memories } = await listedSince(mem, { namespace, cursor, limit: 2 });
  assertEquals(memories.map(({ memory_id }) => memory_id), [...ids]);

  await mem.deleteMemory(ids[4] ?? "");
  await mem.deleteMemory(ids[0] ?? "");
  const changed = await mem.listMemories({
    cursor: first.next_cursor ?? undefined,
    limit: 2,
  });
  // The page ends both lists at the same change.
  assertEquals(changed.memories.map(({ memory_id }) => memory_id), [
    ...ids.slice(2, 4),
  ]);
  assertEquals(changed.deleted.map(({ memory_id }) => memory_id), [
    ids[4],
    ids[0],
  ]);
  assertEquals(
    changed.deleted.map(({ namespace_id }) => namespace_id),
    [namespace, namespace],
  );
  const one = await mem.listMemories({
    cursor: changed.next_cursor ?? undefined,
    limit: 1,
  });
  assertEquals([one.memories, one.deleted, one.has_more], [[], [], false]);
}

async function listsNamespaces(mem: Mem, trial: Trial): Promise<void> {
  const { namespace } = trial;
  const names = ["b", "a", "c"].map((name) => `${namespace}-${name}`);
  for (const name of names) {
    await mem.rememberAndWait("Ada drinks tea", name);
    trial.tick();
  }
  const all = [];
  let cursor: string | undefined;
  let pages = 0;
  for (let hasMore = true; hasMore; pages++) {
    const page = await mem.listNamespaces({ cursor, limit: 2 });
    assert(page.namespaces.length <= 2);
    all.push(...page.namespaces);
    cursor = page.next_cursor ?? undefined;
    hasMore = page.has_more;
    assertEquals(page.snapshot_version, 2);
  }
  assert(pages >= 2);
  const own = all.filter(({ name }) => names.includes(name));
  assertEquals(own.map(({ id }) => id), names);
  for (const { name, id, memory_count, storage_used, updated_at } of own) {
    assertEquals([id, memory_count], [name, 1]);
    assert(storage_used > 0 && !Number.isNaN(Date.parse(updated_at)));
  }
  // A namespace moves to the end of the list when it changes, and an emptied
  // namespace is no longer listed.
  await mem.rememberAndWait("Ben drinks coffee", names[0]);
  await mem.forget(names[1] ?? "");
  const { namespaces } = await mem.listNamespaces({ cursor });
  assertEquals(
    namespaces.map(({ name, memory_count }) => [name, memory_count]),
    [[names[0], 2]],
  );
}

async function refusesWrongPages(mem: Mem): Promise<void> {
  await mem.rememberAndWait("Ada drinks tea");
  const { next_cursor } = await mem.listMemories();
  const statuses = await expectStatuses([
    mem.listMemories({ limit: 0 }),
    mem.listMemories({ limit: 1.5 }),
    mem.listMemories({ cursor: "" }),
    mem.listMemories({ cursor: "no cursor!" }),
    mem.listNamespaces({ limit: -1 }),
    mem.listNamespaces({ cursor: next_cursor ?? "" }),
  ]);
  assertEquals(statuses, Array(statuses.length).fill(400));
  const { memories } = await mem.listMemories({ limit: 10_000 });
  assert(memories.length > 0);
}

async function deletesForGood(mem: Mem, { namespace }: Trial): Promise<void> {
  const { id, blob_id } = await mem.rememberAndWait("Ada drinks tea");
  const { receipt: _, ...deletion } = await mem.deleteMemory(id);
  assertEquals(deletion, { deleted: true, memory_id: id, blob_id });
  assertEquals((await mem.recall("tea")).total, 0);
  assertEquals((await mem.stats()).memory_count, 0);
  const { memories, deleted } = await listedSince(mem, { namespace });
  assertEquals(memories, []);
  assertEquals(deleted.map(({ memory_id }) => memory_id), [id]);
  assertEquals((await mem.getRememberStatus(id)).status, "failed");
  const gone = [id, UNKNOWN, "no%20id", "a.b"];
  assertEquals(
    await expectStatuses(gone.map((one) => mem.deleteMemory(one))),
    [404, 404, 404, 404],
  );
  assertEquals((await mem.restore(namespace)).restored, 0);
}

async function forgetsAndRestores(mem: Mem, trial: Trial): Promise<void> {
  const { account: { owner }, namespace } = trial;
  const ids = await rememberSome(mem, { count: 3, trial });
  const { id: young } = await mem.rememberAndWait("Fact that is better", {
    supersedes: ids[0],
  });
  trial.tick();
  const other = `${namespace}-other`;
  await mem.rememberAndWait("Ada drinks tea", other);
  const { receipt: _, ...forgotten } = await mem.forget(namespace);
  assertEquals(forgotten, { deleted: 3, namespace, owner });
  assertEquals((await mem.recall("fact")).total, 0);
  assertEquals(await mem.stats(), {
    memory_count: 0,
    storage_bytes: 0,
    namespace,
    owner,
  });
  assertEquals((await mem.stats(other)).memory_count, 1);
  const { deleted } = await listedSince(mem, { namespace });
  assertEquals(
    deleted.map(({ memory_id }) => memory_id).toSorted(),
    [...ids, young].toSorted(),
  );

  const counts = { failed: 0, missing: 0, total: 4, namespace, owner };
  assertEquals(await mem.restore(namespace, 1), {
    restored: 1,
    skipped: 0,
    ...counts,
    truncated: true,
    restored_ids: [young],
  });
  assertEquals(await mem.restore(namespace, 0), {
    restored: 1,
    skipped: 1,
    ...counts,
    truncated: true,
    restored_ids: [ids[2] ?? ""],
  });
  const last = await mem.restore(namespace);
  assertEquals(last, {
    restored: 2,
    skipped: 2,
    ...counts,
    truncated: false,
    restored_ids: [ids[1] ?? "", ids[0] ?? ""],
  });
  // The superseded memory is restored as superseded.
  const { results } = await mem.recall({ query: "fact" });
  assertEquals(
    results.map(({ id }) => id).toSorted(),
    [...ids.slice(1), young].toSorted(),
  );
  const { deleted: left } = await listedSince(mem, { namespace });
  assertEquals(left, []);
}

async function tellsOfItself(
  mem: Mem,
  { account, namespace }: Trial,
): Promise<void> {
  const { status, apiVersion, write_ready } = await mem.health();
  assertEquals([status, apiVersion, write_ready], ["ok", "1.0.0", true]);
  const { featureFlags } = await mem.compatibility();
  assertEquals(featureFlags["remember.statusWait"], true);
  const { account_id, owner } = await mem.whoami();
  assertEquals([account_id, owner], [account.accountId, account.owner]);
  assertEquals(await mem.getPublicKeyHex(), account.publicKey);
  assertEquals(mem.countTokens("Ada drinks tea"), 4);
  assertEquals(mem.namespace, namespace);
}

async function keepsToItsToken(mem: Mem, trial: Trial): Promise<void> {
  const { namespace } = trial;
  const other = `${namespace}-other`;
  const { id } = await mem.rememberAndWait("Ada drinks tea");
  const hidden = await mem.rememberAndWait("Ada plans a trip", other);
  const bounded = await trial.byToken({
    access: "write",
    namespaces: [namespace],
  });
  assertEquals(bounded.namespace, namespace);
  const { results } = await bounded.recall({ query: "What does Ada drink?" });
  assertEquals(results.map((memory) => memory.id), [id]);
  const { memories } = await bounded.listMemories({ limit: 500 });
  assertEquals(memories.map(({ memory_id }) => memory_id), [id]);
  const { namespaces } = await bounded.listNamespaces({ limit: 500 });
  assertEquals(namespaces.map(({ name }) => name), [namespace]);
  const { status } = await bounded.getRememberStatus(hidden.id);
  assertEquals(status, "not_found");
  const { results: jobs } = await bounded.getRememberBulkStatus(
    [id, hidden.id],
  );
  assertEquals(jobs.map((job) => job.status), ["done", "not_found"]);
  const refused = [
    bounded.deleteMemory(hidden.id),
    bounded.remember("Ada stays at home", { supersedes: hidden.id }),
  ];
  for (const refusal of await Promise.all(refused.map(expectRefusal))) {
    assertEquals(refusal.status, 404);
  }
  const reader = await trial.byToken({ access: "read" });
  const { results: found } = await reader.recall({
    ...{ query: "trip", namespace: other },
  });
  assertEquals(found.map((memory) => memory.id), [hidden.id]);
  assertEquals((await reader.whoami()).account_id, trial.account.accountId);
  const key = "5a".repeat(32);
  const stranger = await trial.byToken({ access: "read", key });
  const refusal = await expectRefusal(stranger.recall("trip"));
  assertEquals([refusal.status, refusal.authError, refusal.serverCode], [
    401,
    "ERR_KEY_NOT_DELEGATE",
    "AUTH_REJECTED",
  ]);
}

async function shutsStrangersOut(_mem: Mem, trial: Trial): Promise<void> {
  const stranger = trial.mem({ key: "5a".repeat(32) });
  assertEquals((await stranger.health()).status, "ok");
  const refused = [
    stranger.remember("t"),
    stranger.recall("t"),
    stranger.stats(),
    stranger.listMemories(),
    stranger.whoami(),
  ];
  for (const refusal of await Promise.all(refused.map(expectRefusal))) {
    assertEquals(
      [refusal.status, refusal.authError, refusal.serverCode],
      [401, "ERR_KEY_NOT_DELEGATE", "AUTH_REJECTED"],
    );
  }
  const lost = trial.mem({ accountId: `0x${"0".repeat(63)}1` });
  const refusal = await expectRefusal(lost.stats());
  assertEquals([refusal.status, refusal.authError], [
    401,
    "ERR_ACCOUNT_UNKNOWN",
  ]);
}

async function tellsOfLimits(_mem: Mem, trial: Trial): Promise<void> {
  const mem = await trial.limited();
  const error = await expectRefusal(mem.remember("Ada drinks tea"));
  assert(error instanceof MemRateLimitError);
  assertEquals(error.status, 429);
  const { retryAfterSeconds = 0 } = error;
  assert(retryAfterSeconds >= 1, String(retryAfterSeconds));
}

async function refusesWrongArguments(mem: Mem): Promise<void> {
  const wrong: unknown = 5;
  const calls: readonly (() => Promise<unknown>)[] = [
    () => mem.remember(wrong as string),
    () => mem.remember("t", ""),
    () => mem.recall("t", "habits" as unknown as number),
    () => mem.recall({ query: "t", sort: "newest" as "recent" }),
    () => mem.recall({ query: "t", ids: [] }),
    () => mem.forget(""),
    () => mem.listMemories({ limit: NaN }),
    () => mem.embed(wrong as string),
  ];
  for (const call of calls) await assertRejects(call, TypeError);
}

async function endsWithTheClient(mem: Mem): Promise<void> {
  const underWay = mem.recall("tea");
  mem.destroy();
  await assertRejects(() => underWay, MemDestroyedError);
  await assertRejects(() => mem.stats(), MemDestroyedError);
}

/** The cases by what the client does. */
export const LIFE_CASES: readonly ConformanceCase[] = createCases({
  "lists memories with what is known of them": listsMemories,
  "lists in pages what changed and what was deleted": listsInPages,
  "lists namespaces in pages": listsNamespaces,
  "refuses pages that there cannot be": refusesWrongPages,
  "deletes a memory for good": deletesForGood,
  "forgets a namespace and restores it": forgetsAndRestores,
  "tells of the relayer and of the caller": tellsOfItself,
  "keeps to what its access token permits": keepsToItsToken,
  "shuts strangers out": shutsStrangersOut,
  "tells of limits that were met": tellsOfLimits,
  "refuses wrong arguments by itself": refusesWrongArguments,
  "ends what is under way with the client": endsWithTheClient,
});
