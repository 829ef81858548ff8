import { assertEquals } from "@std/assert";
import { callbackWorker } from "./workers.ts";
import { WorkerRates } from "./worker_rates.ts";

function limited(per: "worker" | "group", count = 2) {
  const rate = { count, periodMs: 1_000, per };
  return { ...callbackWorker("t"), limits: { rate } };
}

Deno.test("WorkerRates bounds a worker, or each of its groups", () => {
  const all = new WorkerRates();
  const worker = limited("worker");
  assertEquals(all.room(worker, 0), 2);
  all.add("a", 0);
  all.add("b", 0);
  assertEquals(all.room(worker, 0), 0);
  assertEquals(all.nextAtMs(worker, 0), 1_000);
  assertEquals(all.groupRoom(worker, { group: "a", nowMs: 0 }), Infinity);
  const each = new WorkerRates();
  const grouped = limited("group");
  assertEquals(each.room(grouped, 0), Infinity);
  each.add("a", 0);
  assertEquals(each.groupRoom(grouped, { group: "a", nowMs: 0 }), 1);
  assertEquals(each.groupRoom(grouped, { group: "b", nowMs: 0 }), 2);
  assertEquals(each.nextAtMs(grouped, 0), 0);
  assertEquals(each.groupNextAtMs(grouped, { group: "a", nowMs: 0 }), 0);
  each.add("a", 300);
  assertEquals(each.groupNextAtMs(grouped, { group: "a", nowMs: 300 }), 1_000);
  assertEquals(each.groupNextAtMs(grouped, { group: "b", nowMs: 300 }), 300);
  assertEquals(all.groupNextAtMs(worker, { group: "a", nowMs: 0 }), 0);
});

Deno.test("WorkerRates counts nothing where there is no limit", () => {
  const rates = new WorkerRates();
  const worker = callbackWorker("t");
  assertEquals(rates.room(worker, 0), Infinity);
  rates.add("a", 0);
  assertEquals(rates.isIdle(0), true);
});

Deno.test("WorkerRates forgets groups rather than grow without a bound", () => {
  const rates = new WorkerRates();
  const worker = limited("group", 1);
  rates.room(worker, 0);
  for (let index = 0; index < 10_005; index++) rates.add(`g${index}`, 0);
  assertEquals(rates.groupRoom(worker, { group: "g0", nowMs: 0 }), 1);
  assertEquals(rates.groupRoom(worker, { group: "g10004", nowMs: 0 }), 0);
  assertEquals(rates.isIdle(0), false);
  assertEquals(rates.isIdle(1_000), true);
});
