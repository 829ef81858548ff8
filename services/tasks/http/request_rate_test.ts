import { assertEquals } from "@std/assert";
import { RequestRate } from "./request_rate.ts";

const TEN = { perSecond: 10, nowMs: 0 };

/** How many of `times` requests are let through. */
function countOf(times: number, take: () => { readonly kind: string }): number {
  return Array.from({ length: times }, take)
    .filter(({ kind }) => kind === "ok").length;
}

Deno.test("RequestRate.take() lets two seconds' worth through at once, then the rate", () => {
  const rate = new RequestRate();
  assertEquals(countOf(30, () => rate.take("a", TEN)), 20);
  assertEquals(rate.take("a", TEN), { kind: "over", retryAfterMs: 100 });
  assertEquals(rate.take("b", TEN), { kind: "ok" });
  assertEquals(countOf(30, () => rate.take("a", { ...TEN, nowMs: 500 })), 5);
});

Deno.test("RequestRate.take() lets one part have all of it while the others do not ask", () => {
  for (const perSecond of [1, 2, 3, 10, 1_000]) {
    const rate = new RequestRate();
    const take = (nowMs: number) => () =>
      rate.take("a", { perSecond, nowMs, part: "one" });
    const kept = Math.floor(perSecond / 2);
    assertEquals(countOf(5_000, take(0)), perSecond * 2 - kept);
    // It goes on at the rate, asking again and again.
    let through = 0;
    for (let nowMs = 1; nowMs <= 10_000; nowMs++) {
      through += countOf(3, take(nowMs));
    }
    assertEquals(Math.abs(through - perSecond * 10) <= 1, true, `${through}`);
  }
});

Deno.test("RequestRate.take() lets no part keep the others out", () => {
  const rate = new RequestRate();
  let others = 0;
  for (let nowMs = 0; nowMs < 10_000; nowMs += 10) {
    const options = { ...TEN, nowMs };
    countOf(5, () => rate.take("a", { ...options, part: "greedy" }));
    // Every second one request of somebody else, behind the greedy ones.
    if (nowMs % 1_000 === 500) {
      others += countOf(1, () => rate.take("a", { ...options, part: "quiet" }));
    }
  }
  assertEquals(others, 10);
});

Deno.test("RequestRate.take() tells when a part may ask again", () => {
  const rate = new RequestRate();
  const take = (nowMs: number) =>
    rate.take("a", { ...TEN, nowMs, part: "one" });
  countOf(20, () => take(0));
  let nowMs = 0;
  for (let turn = 0; turn < 20; turn++) {
    const verdict = take(nowMs);
    if (verdict.kind === "ok") continue;
    nowMs += Math.ceil(verdict.retryAfterMs);
    assertEquals(take(nowMs).kind, "ok", `turn ${turn}`);
  }
});

Deno.test("RequestRate.take() lets one through also at a rate below one in two seconds", () => {
  const rate = new RequestRate();
  const take = (nowMs: number) =>
    rate.take("a", { perSecond: 0.1, nowMs, part: "one" });
  assertEquals(take(0), { kind: "ok" });
  assertEquals(take(0), { kind: "over", retryAfterMs: 10_000 });
  assertEquals(take(10_000), { kind: "ok" });
});

Deno.test("RequestRate.charge() lets a part pay for what it did before it asks again", () => {
  const rate = new RequestRate();
  const one = { ...TEN, part: "one" };
  assertEquals(rate.take("a", one), { kind: "ok" });
  // Of 20 one is spent, and the last 5 are kept for others.
  rate.charge("a", 34, one);
  assertEquals(rate.take("a", one), { kind: "over", retryAfterMs: 2_100 });
  assertEquals(rate.take("a", { ...TEN, part: "other" }), { kind: "ok" });
  assertEquals(rate.take("a", { ...one, nowMs: 2_199 }).kind, "over");
  assertEquals(rate.take("a", { ...one, nowMs: 2_201 }), { kind: "ok" });
});

Deno.test("RequestRate.charge() lets ten seconds' worth be owed at most", () => {
  const rate = new RequestRate();
  const one = { ...TEN, part: "one" };
  for (let time = 0; time < 3; time++) rate.charge("a", 1_000_000, one);
  assertEquals(rate.take("a", one), { kind: "over", retryAfterMs: 10_600 });
});

Deno.test("RequestRate.charge() lets no number of parts have much more than the rate", () => {
  const rate = new RequestRate();
  const parts = 10;
  let spent = 0;
  for (let nowMs = 0; nowMs < 600_000; nowMs += 100) {
    for (let part = 0; part < parts; part++) {
      const options = { ...TEN, nowMs, part: `part ${part}` };
      if (rate.take("a", options).kind === "over") continue;
      rate.charge("a", 99, options);
      spent += 100;
    }
  }
  // Each part may begin once while the others' debt is paid, and seldom again.
  assertEquals(spent <= 1.5 * 600 * TEN.perSecond, true, `${spent}`);
});

Deno.test("RequestRate.take() lets parts that ask little go on beside one in debt", () => {
  const rate = new RequestRate();
  rate.charge("a", 1_000_000, { ...TEN, part: "greedy" });
  for (let second = 1; second <= 9; second++) {
    const part = { ...TEN, nowMs: second * 1_000, part: "other" };
    assertEquals(rate.take("a", part), { kind: "ok" });
    assertEquals(rate.take("a", part), { kind: "ok" });
    assertEquals(rate.take("a", { ...part, part: "greedy" }).kind, "over");
  }
});
