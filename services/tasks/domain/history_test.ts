import { assert, assertEquals } from "@std/assert";
import { createHash } from "node:crypto";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import type { ChainEnd } from "./task.ts";
import {
  chain,
  foldDraft,
  foldThrough,
  type HistoryDraft,
  type HistoryRecord,
} from "./history.ts";
import { verifyHistory } from "./testing/verify_history.ts";

const digest = (text: string) =>
  createHash("sha256").update(text).digest("base64url");

const LINE: HistoryDraft = {
  atMs: 1,
  type: "log",
  status: "running",
  run: 0,
  actor: { type: "system", id: "system" },
};

interface Story {
  readonly records: readonly HistoryRecord[];
  readonly end: ChainEnd;
  readonly historyFolded?: ChainEnd;
}

/** Adds records to a history and folds it, as a change of a task does. */
function grow(
  story: Story,
  { added, limit }: { readonly added: number; readonly limit: number },
): Story {
  const { end, historyFolded } = story;
  const through = foldThrough({
    historyCount: end.count,
    ...(historyFolded === undefined ? {} : { historyFolded }),
  }, { added, limit });
  const drafts = new Array<HistoryDraft>(added).fill(LINE);
  const last = story.records.find(({ seq }) => seq === through);
  if (last === undefined) {
    assertEquals(through, undefined);
    const more = chain(drafts, end, digest);
    return { ...story, ...ended([...story.records, ...more]) };
  }
  const folded = { count: last.seq, hash: last.hash };
  const task = { status: "running", run: 0 } as const;
  const more = chain(
    [foldDraft(task, { folded, nowMs: 2 }), ...drafts],
    end,
    digest,
  );
  const left = story.records.filter(({ seq }) => seq > last.seq);
  return { ...ended([...left, ...more]), historyFolded: folded };
}

function ended(records: readonly HistoryRecord[]): Story {
  const { seq: count = 0, hash = "" } = records.at(-1) ?? {};
  return { records, end: { count, hash } };
}

Deno.test("foldThrough() keeps any history within its limit, and it can be checked", () => {
  const random = new SeededRandom(7);
  for (let round = 0; round < 40; round++) {
    const limit = 10 + Math.floor(random.next() * 300);
    let story = ended([]);
    let folds = 0;
    for (let count = 0; count < 400; count++) {
      const added = 1 + Math.floor(random.next() * 5);
      const before = story.historyFolded?.count;
      story = grow(story, { added, limit });
      if (story.historyFolded?.count !== before) folds++;
      assert(story.records.length <= limit, `${limit}`);
      assert(
        folds === 0 || story.records.length >= limit / 2,
        "not more than needed",
      );
    }
    const { end, records } = story;
    assert(folds > 0);
    // A fold adds a record, so it must not happen with each change.
    if (limit >= 100) assert(folds <= end.count / 15, `${folds} folds`);
    assertEquals(verifyHistory(records, { end, digest }), { kind: "ok", end });
  }
});

Deno.test("foldThrough() leaves short histories and changes without records alone", () => {
  const task = { historyCount: 97 };
  assertEquals(foldThrough(task, { added: 3, limit: 100 }), undefined);
  assertEquals(foldThrough(task, { added: 4, limit: 100 }), 27);
  assertEquals(foldThrough(task, { added: 900, limit: null }), undefined);
  const long = { historyCount: 1e6 };
  assertEquals(foldThrough(long, { added: 0, limit: 100 }), undefined);
});

Deno.test("foldThrough() shrinks to a smaller plan in bounded steps", () => {
  let folded = 0;
  let count = 5_500;
  let steps = 0;
  while (true) {
    const through = foldThrough({
      historyCount: count,
      historyFolded: { count: folded, hash: "h" },
    }, { added: 1, limit: 40 });
    if (through === undefined) break;
    assert(through - folded <= 1_000);
    folded = through;
    count += 2;
    steps++;
  }
  assertEquals(steps, 6);
  assert(count - folded <= 40);
});

Deno.test("foldThrough() never drops what is being added", () => {
  const task = { historyCount: 5 };
  assertEquals(foldThrough(task, { added: 50, limit: 10 }), 5);
  const again = { historyCount: 56, historyFolded: { count: 56, hash: "" } };
  assertEquals(foldThrough(again, { added: 50, limit: 10 }), undefined);
});

Deno.test("verifyHistory() finds what was changed, dropped or added in a folded history", () => {
  let story = ended([]);
  for (let count = 0; count < 30; count++) {
    story = grow(story, { added: 3, limit: 20 });
  }
  const { records, end } = story;
  const getReason = (forged: readonly HistoryRecord[], to = end) => {
    const verdict = verifyHistory(forged, { end: to, digest });
    return verdict.kind === "ok" ? "ok" : verdict.reason;
  };
  assertEquals(getReason(records), "ok");
  assertEquals(getReason(records.slice(1)), "others were before it");
  assertEquals(getReason(records.slice(0, -1)), "it is not the last one");
  assertEquals(
    getReason(records, { ...end, hash: "x" }),
    "it is not the last one",
  );
  assertEquals(getReason([]), "it is not the last one");
  for (const index of records.keys()) {
    const forge = (patch: Partial<HistoryRecord>) =>
      records.map((one, at) => at === index ? { ...one, ...patch } : one);
    const { text } = records[index] ?? { text: "" };
    const other = text.replace('"run":0', '"run":1');
    assert(other !== text);
    assert(getReason(forge({ text: other })) !== "ok");
    assert(getReason(forge({ prev: "x" })) !== "ok");
    assert(getReason(forge({ hash: "x" })) !== "ok");
    if (index > 0) assert(getReason(records.toSpliced(index, 1)) !== "ok");
  }
  const lie = records.map((one) =>
    one.text.includes('"folded"')
      ? { ...one, text: one.text.replace(/"count":\d+/, '"count":1') }
      : one
  );
  assert(getReason(lie) !== "ok");
});

Deno.test("verifyHistory() accepts a history that was never folded", () => {
  assertEquals(
    verifyHistory([], { end: { count: 0, hash: "" }, digest }).kind,
    "ok",
  );
  const { records, end } = ended(
    chain([LINE, { ...LINE, message: '"type":"folded"' }], {
      count: 0,
      hash: "",
    }, digest),
  );
  assertEquals(verifyHistory(records, { end, digest }).kind, "ok");
  assertEquals(verifyHistory(records.slice(1), { end, digest }), {
    kind: "broken",
    seq: 2,
    reason: "others were before it",
  });
});
