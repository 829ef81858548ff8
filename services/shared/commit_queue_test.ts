import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { StoreBusyError } from "./store_failed.ts";
import { CommitQueue, type QueuedBatch } from "./commit_queue.ts";
import type { Applied } from "./commit_queue.ts";

interface Batch extends QueuedBatch {
  readonly name: string;
}

function batch(name: string, over: Partial<Batch> = {}): Batch {
  return { name, tenant: "", transactions: 1, rows: 1, chars: 1, ...over };
}

/** A queue whose turns and writes a test ends by hand. */
class Bench {
  readonly groups: string[] = [];
  nowMs = 0;
  readonly queue: CommitQueue<Batch>;
  #turn: (() => void) | undefined;
  readonly #writes: PromiseWithResolvers<Applied>[] = [];

  constructor(
    bounds: {
      rows?: number;
      chars?: number;
      queued?: number;
      ahead?: number;
    } = {},
    onWritten?: (batch: Batch, waitedMs: number) => void,
  ) {
    const { rows = 100, chars = 1_000, queued = 1_000, ahead = 1_000 } = bounds;
    this.queue = new CommitQueue<Batch>({
      write: (group) => {
        this.groups.push(group.map(({ name }) => name).join(""));
        const write = Promise.withResolvers<Applied>();
        this.#writes.push(write);
        return write.promise;
      },
      atEndOfTurn: (callback) => this.#turn = callback,
      monotonicMs: () => this.nowMs,
      maxGroupRows: rows,
      maxGroupChars: chars,
      aheadRows: ahead,
      maxQueuedRows: queued,
      maxQueuedChars: queued,
      ...(onWritten === undefined ? {} : { onWritten }),
    });
  }

  endTurn(): void {
    const turn = this.#turn;
    this.#turn = undefined;
    turn?.();
  }

  /** Ends the first write; the clock advances by the time that it took. */
  async endWrite(
    { codes = [], workMs = 0, commitMs = 0 }: Partial<Applied> = {},
  ): Promise<void> {
    this.nowMs += workMs + commitMs;
    this.#writes.shift()?.resolve({ codes, workMs, commitMs });
    await settled();
  }

  async failWrite(error: Error): Promise<void> {
    this.#writes.shift()?.reject(error);
    await settled();
  }
}

/** Waits until all pending promises are processed. */
async function settled(): Promise<void> {
  for (let hop = 0; hop < 20; hop++) await Promise.resolve();
}

Deno.test("CommitQueue writes what came in one turn together", async () => {
  const bench = new Bench();
  const answers = ["a", "b", "c"].map((name) => bench.queue.add([batch(name)]));
  assertEquals(bench.groups, []);
  bench.endTurn();
  assertEquals(bench.groups, ["abc"]);
  await bench.endWrite();
  assertEquals(await Promise.all(answers), [[[]], [[]], [[]]]);
});

Deno.test("CommitQueue gathers what comes while a group is written", async () => {
  const bench = new Bench();
  const first = bench.queue.add([batch("a")]);
  bench.endTurn();
  const rest = ["b", "c"].map((name) => bench.queue.add([batch(name)]));
  assertEquals(bench.groups, ["a"]);
  await bench.endWrite();
  await first;
  assertEquals(bench.groups, ["a", "bc"]);
  await bench.endWrite();
  await Promise.all(rest);
  await bench.queue.idle();
});

Deno.test("CommitQueue gives each batch the results of its transactions", async () => {
  const bench = new Bench();
  const first = bench.queue.add([batch("a", { transactions: 2 })]);
  const second = bench.queue.add([batch("b"), batch("c", { transactions: 3 })]);
  bench.endTurn();
  await bench.endWrite({ codes: [1, 2, 3, 4, 5, 6] });
  assertEquals(await first, [[1, 2]]);
  assertEquals(await second, [[3], [4, 5, 6]]);
});

Deno.test("CommitQueue writes a batch that is alone in a group of its own", async () => {
  const bench = new Bench();
  const all = bench.queue.add([
    batch("a"),
    batch("b", { isAlone: true }),
    batch("c", { isAlone: true }),
    batch("d"),
    batch("e"),
  ]);
  bench.endTurn();
  for (let group = 0; group < 4; group++) await bench.endWrite();
  assertEquals(bench.groups, ["a", "b", "c", "de"]);
  await all;
});

Deno.test("CommitQueue bounds groups by rows and characters", async () => {
  const bench = new Bench({ rows: 5, chars: 50 });
  const all = bench.queue.add([
    batch("a", { rows: 3 }),
    batch("b", { rows: 3 }),
    batch("c", { chars: 45 }),
    batch("d", { chars: 45 }),
    batch("e", { rows: 99 }),
    batch("f"),
  ]);
  bench.endTurn();
  for (let group = 0; group < 6; group++) await bench.endWrite();
  await all;
  assertEquals(bench.groups, ["a", "bc", "d", "e", "f"]);
});

Deno.test("CommitQueue fails a group and goes on with the next", async () => {
  const bench = new Bench();
  const first = bench.queue.add([batch("a")]);
  const failed = assertRejects(() => first, Error, "disk");
  bench.endTurn();
  const second = bench.queue.add([batch("b")]);
  await bench.failWrite(new Error("the disk is full"));
  await failed;
  await bench.endWrite();
  assertEquals(await second, [[]]);
});

Deno.test("CommitQueue refuses what there is no room for", async () => {
  const bench = new Bench({ queued: 10 });
  const first = bench.queue.add([batch("a", { rows: 4 })]);
  await assertRejects(
    () => bench.queue.add([batch("b", { rows: 2 }), batch("c")]),
    StoreBusyError,
  );
  await assertRejects(
    () => bench.queue.add([batch("d", { chars: 10 })]),
    StoreBusyError,
  );
  const last = bench.queue.add([batch("e")]);
  const error = assertThrows(
    () => bench.queue.demandRoom({ rows: 1, chars: 0 }, ""),
    StoreBusyError,
  );
  assert(error.retryAfterMs > 0 && error.retryAfterMs <= 5_000);
  bench.endTurn();
  await bench.endWrite();
  await Promise.all([first, last]);
  assertEquals(bench.groups, ["ae"]);
  bench.queue.demandRoom({ rows: 10, chars: 10 });
});

Deno.test("CommitQueue leaves room beside what one tenant may have waiting", async () => {
  const bench = new Bench({ queued: 100 });
  const tenants = ["a", "b", "c", "d"];
  const held = new Map(tenants.map((tenant) => [tenant, 0]));
  const answers: Promise<unknown>[] = [];
  // Each tenant asks for as much as it can get.
  for (let round = 0; round < 100; round++) {
    for (const tenant of round < 50 ? ["a"] : tenants) {
      try {
        bench.queue.demandRoom({ rows: 1, chars: 1 }, tenant);
      } catch (error) {
        assert(error instanceof StoreBusyError);
        continue;
      }
      answers.push(bench.queue.add([batch(tenant, { tenant })]));
      held.set(tenant, (held.get(tenant) ?? 0) + 1);
    }
  }
  assertEquals([...held.values()], [50, 13, 13, 12]);
  // Batches of several tenants use no tenant's share.
  bench.queue.demandRoom({ rows: 2, chars: 2 });
  await assertRejects(
    () =>
      bench.queue.add([
        batch("x", { tenant: "x", rows: 12 }),
        batch("y", { tenant: "y" }),
      ]),
    StoreBusyError,
  );
  bench.endTurn();
  for (let group = 0; group < 4; group++) await bench.endWrite();
  await Promise.all(answers);
});

Deno.test("CommitQueue lets tenants take turns, each of them in order", async () => {
  const bench = new Bench({ rows: 200 });
  const answers: Promise<unknown>[] = [];
  const add = (tenant: string, name: string, rows: number): void =>
    void answers.push(bench.queue.add([batch(name, { tenant, rows })]));
  add("busy", "0", 40);
  bench.endTurn();
  // The tenant's batches would fill the queue for long.
  for (const name of "1234567") add("busy", name, 40);
  add("other", "a", 1);
  add("other", "b", 1);
  add("third", "x", 40);
  add("third", "y", 40);
  for (let group = 0; group < 20; group++) await bench.endWrite();
  await Promise.all(answers);
  const order = bench.groups.join("");
  assertEquals(order.replaceAll(/\D/g, ""), "01234567");
  assertEquals(order.replaceAll(/[^abxy]/g, ""), "abxy");
  // Only the rest of one group, and 100 rows of each tenant, come before.
  assert(order.indexOf("b") <= 6, order);
  assert(order.indexOf("y") <= 9, order);
});

Deno.test("CommitQueue keeps large batches out of groups that others wait for", async () => {
  const bench = new Bench({ rows: 5_000, queued: 100_000 });
  const answers = [
    batch("0", { tenant: "busy", rows: 900 }),
    batch("1", { tenant: "busy", rows: 900 }),
    batch("2", { tenant: "busy", rows: 900 }),
    batch("a", { tenant: "other" }),
  ].map((one) => {
    const answer = bench.queue.add([one]);
    bench.endTurn();
    return answer;
  });
  for (let group = 0; group < 4; group++) {
    await bench.endWrite({ workMs: 90 });
  }
  await Promise.all(answers);
  assertEquals(bench.groups, ["0", "a", "1", "2"]);
});

Deno.test("CommitQueue starts no group behind one that takes long", async () => {
  const bench = new Bench({ ahead: 1, rows: 5_000, queued: 100_000 });
  const answers = ["a", "b"].map((name) => {
    const answer = bench.queue.add([batch(name, { rows: 400 })]);
    bench.endTurn();
    return answer;
  });
  assertEquals(bench.groups, ["a"]);
  await bench.endWrite();
  assertEquals(bench.groups, ["a", "b"]);
  await bench.endWrite();
  await Promise.all(answers);
});

Deno.test("CommitQueue makes groups of as many rows as are written in ten milliseconds", async () => {
  const bench = new Bench({ rows: 5_000, queued: 100_000 });
  const answers: Promise<unknown>[] = [];
  for (let count = 0; count < 400; count++) {
    answers.push(bench.queue.add([batch("a", { rows: 20 })]));
  }
  bench.endTurn();
  const written: number[] = [];
  while (bench.groups.length > written.length) {
    const rows = 20 * (bench.groups.at(-1)?.length ?? 0);
    written.push(rows);
    // The speed is 40 rows in a millisecond.
    await bench.endWrite({ workMs: rows / 40, commitMs: 1 });
  }
  await Promise.all(answers);
  assert(
    written[0] === 100 && written.every((rows) => rows <= 400),
    `${written}`,
  );
  assert((written.at(-2) ?? 0) >= 380, `${written}`);
});

Deno.test("CommitQueue tells how long each batch waited", async () => {
  const told: string[] = [];
  const bench = new Bench({}, ({ name }, ms) => told.push(`${name} ${ms}`));
  const first = bench.queue.add([batch("a")]);
  bench.nowMs += 2;
  const second = bench.queue.add([batch("b")]);
  bench.endTurn();
  bench.nowMs += 3;
  await bench.endWrite();
  await Promise.all([first, second]);
  assertEquals(told, ["a 5", "b 3"]);
});

Deno.test("CommitQueue takes one that is larger than itself when nothing waits", async () => {
  const bench = new Bench({ queued: 10, rows: 100 });
  const large = bench.queue.add([batch("a", { rows: 50, chars: 50 })]);
  await assertRejects(() => bench.queue.add([batch("b")]), StoreBusyError);
  bench.endTurn();
  await bench.endWrite();
  await large;
});

Deno.test("CommitQueue.idle() waits for all that was added", async () => {
  const bench = new Bench();
  await bench.queue.idle();
  const added = bench.queue.add([batch("a")]);
  let isIdle = false;
  const idle = bench.queue.idle().then(() => isIdle = true);
  await settled();
  assertEquals(isIdle, false);
  bench.endTurn();
  await bench.endWrite();
  await Promise.all([added, idle]);
});

Deno.test("CommitQueue starts a group that is large enough while another one is written", async () => {
  const bench = new Bench({ ahead: 3 });
  const first = bench.queue.add([batch("a")]);
  bench.endTurn();
  const small = bench.queue.add([batch("b"), batch("c")]);
  bench.endTurn();
  assertEquals(bench.groups, ["a"]);
  const large = bench.queue.add([batch("d")]);
  bench.endTurn();
  assertEquals(bench.groups, ["a", "bcd"]);
  await bench.endWrite({ codes: [1] });
  await bench.endWrite({ codes: [2, 3, 4] });
  assertEquals(await Promise.all([first, small, large]), [
    [[1]],
    [[2], [3]],
    [[4]],
  ]);
});

Deno.test("CommitQueue has no more than two groups under way", async () => {
  const bench = new Bench({ ahead: 1 });
  const answers = ["a", "b", "c", "d"].map((name) => {
    const answer = bench.queue.add([batch(name)]);
    bench.endTurn();
    return answer;
  });
  assertEquals(bench.groups, ["a", "b"]);
  await bench.endWrite();
  assertEquals(bench.groups, ["a", "b", "cd"]);
  await bench.endWrite();
  await bench.endWrite();
  await Promise.all(answers);
});

Deno.test("CommitQueue writes the group behind one that fails", async () => {
  const bench = new Bench({ ahead: 1 });
  const failing = bench.queue.add([batch("a")]);
  bench.endTurn();
  const other = bench.queue.add([batch("b")]);
  bench.endTurn();
  const refused = assertRejects(() => failing, Error, "disk full");
  await bench.failWrite(new Error("disk full"));
  await refused;
  let isIdle = false;
  const idle = bench.queue.idle().then(() => isIdle = true);
  await settled();
  assertEquals(isIdle, false);
  await bench.endWrite({ codes: [7] });
  assertEquals(await other, [[7]]);
  await idle;
});

Deno.test("CommitQueue answers a commit in two groups when both are over", async () => {
  const bench = new Bench({ rows: 3, ahead: 1 });
  const commit = bench.queue.add([
    batch("a", { rows: 3 }),
    batch("b", { rows: 3 }),
  ]);
  let isOver = false;
  const refused = assertRejects(() => commit, Error, "disk full")
    .then(() => isOver = true);
  bench.endTurn();
  assertEquals(bench.groups, ["a", "b"]);
  await bench.failWrite(new Error("disk full"));
  assertEquals(isOver, false);
  await bench.endWrite();
  await refused;
});

Deno.test("CommitQueue tells those that it refuses how long what waits will take", async () => {
  const bench = new Bench({ ahead: 1, queued: 1_000, rows: 100 });
  const answers: Promise<unknown>[] = [];
  function add(name: string): void {
    answers.push(bench.queue.add([batch(name, { rows: 50 })]));
    bench.endTurn();
  }
  // 50 rows take 50 ms, and two groups are always under way.
  add("a");
  for (let round = 0; round < 40; round++) {
    add("b");
    await bench.endWrite({ workMs: 50 });
  }
  add("c");
  const error = assertThrows(
    () => bench.queue.demandRoom({ rows: 1_000, chars: 0 }),
    StoreBusyError,
  );
  assert(Math.abs(error.retryAfterMs - 100) < 5, String(error.retryAfterMs));
  await bench.endWrite();
  await bench.endWrite();
  await Promise.all(answers);
});

Deno.test("CommitQueue sends a group before the turn ends while several tenants write", async () => {
  const bench = new Bench();
  const add = (tenant: string): Promise<unknown> =>
    bench.queue.add([batch(tenant, { tenant })]);
  const first = add("a");
  await settled();
  assertEquals(bench.groups, []);
  bench.endTurn();
  await bench.endWrite();
  const second = add("b");
  await settled();
  assertEquals(bench.groups, ["a", "b"]);
  await bench.endWrite();
  bench.nowMs += 1_000;
  const third = add("b");
  await settled();
  assertEquals(bench.groups, ["a", "b"]);
  bench.endTurn();
  await bench.endWrite();
  await Promise.all([first, second, third]);
});

Deno.test("CommitQueue makes short groups while several tenants write", async () => {
  const bench = new Bench({ rows: 5_000, queued: 100_000 });
  const answers: Promise<unknown>[] = [];
  const add = (tenant: string, rows: number): void =>
    void answers.push(bench.queue.add([batch(tenant, { tenant, rows })]));
  let largest = 0;
  async function writeAll(until: () => boolean): Promise<void> {
    while (!until()) {
      const { length } = bench.groups.at(-1) ?? "";
      largest = Math.max(largest, length * 50);
      await bench.endWrite({ workMs: length * 50 / 100, commitMs: 0.5 });
    }
  }
  for (let count = 0; count < 400; count++) add("a", 50);
  bench.endTurn();
  await writeAll(() => bench.groups.length >= 12);
  // At 100 rows in a millisecond, a group takes ten milliseconds.
  assert(largest >= 900 && largest <= 1_000, String(largest));
  add("b", 1);
  await bench.endWrite({ workMs: 10 });
  largest = 0;
  const isEnd = bench.groups.length + 20;
  await writeAll(() => bench.groups.length >= isEnd);
  // The other tenant may send batches again.
  assert(largest <= 250, String(largest));
  bench.nowMs += 1_000;
  await writeAll(() => bench.queue.isIdle);
  await Promise.all(answers);
  assert(largest >= 900, String(largest));
});

Deno.test("CommitQueue makes groups worth the wait for a slow disk", async () => {
  const bench = new Bench({ rows: 5_000, queued: 100_000 });
  const answers: Promise<unknown>[] = [];
  const add = (tenant: string, rows: number): void =>
    void answers.push(bench.queue.add([batch(tenant, { tenant, rows })]));
  for (let count = 0; count < 400; count++) add("a", 50);
  add("b", 1);
  bench.endTurn();
  for (let group = 0; group < 8; group++) {
    const { length } = bench.groups.at(-1) ?? "";
    await bench.endWrite({ workMs: length * 50 / 100, commitMs: 20 });
  }
  // At 100 rows in a millisecond, a group takes at least twice as long as the
  // disk.
  assert((bench.groups.at(-1)?.length ?? 0) * 50 > 2_000, `${bench.groups}`);
  while (!bench.queue.isIdle) await bench.endWrite({ workMs: 1 });
  await Promise.all(answers);
});
