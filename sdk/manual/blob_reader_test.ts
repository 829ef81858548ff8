import { assertEquals, assertRejects } from "@std/assert";
import type { ClientTimer } from "../memory/client_clock.ts";
import type { MemFetch } from "../memory/round_trip.ts";
import { stubParts } from "../memory/testing/stub_parts.ts";
import { StubRelayer } from "../memory/testing/stub_relayer.ts";
import { type BlobRead, readBlob } from "./blob_reader.ts";

const BYTES = Uint8Array.of(1, 2, 3);
const HIT = { id: "m1", blob_id: "b/1", distance: 0.5 };

/** A clock whose timers fire only when the test calls for it. */
function handClock() {
  const timers = new Map<number, () => void>();
  return {
    nowMs: () => 0,
    setTimer(callback: () => void, delayMs: number): ClientTimer {
      timers.set(delayMs, callback);
      return { cancel: () => timers.delete(delayMs) };
    },
    fire(delayMs: number): void {
      const callback = timers.get(delayMs);
      timers.delete(delayMs);
      callback?.();
    },
    get waiting(): readonly number[] {
      return [...timers.keys()].sort((left, right) => left - right);
    },
    delaysMs: [],
    pass: () => {},
  };
}

function read(
  urls: readonly string[],
  fetch: MemFetch,
  more: { readonly clock?: object; readonly signal?: AbortSignal } = {},
): Promise<BlobRead> {
  const { clock, signal = new AbortController().signal } = more;
  const parts = stubParts();
  return readBlob(HIT, {
    aggregatorUrls: urls,
    parts: clock === undefined ? parts : Object.assign(parts, { clock }),
    fetch,
    signal,
  });
}

Deno.test("readBlob() asks the next aggregator when one takes long, and takes the first answer", async () => {
  const clock = handClock();
  const asked: string[] = [];
  const aborted: string[] = [];
  const { promise: second, resolve } = Promise.withResolvers<Response>();
  const reading = read(["http://a.test", "http://b.test"], (url, init) => {
    asked.push(url);
    if (url.startsWith("http://b.test")) return second;
    return new Promise((_, reject) =>
      init.signal?.addEventListener("abort", () => {
        aborted.push(url);
        reject(init.signal?.reason);
      })
    );
  }, { clock });
  assertEquals(clock.waiting, [150, 30_000]);
  assertEquals(asked, ["http://a.test/v1/blobs/b%2F1"]);
  clock.fire(150);
  resolve(new Response(BYTES));
  assertEquals(await reading, { kind: "ok", bytes: BYTES });
  assertEquals(asked.length, 2);
  assertEquals(aborted, ["http://a.test/v1/blobs/b%2F1"]);
  assertEquals(clock.waiting, []);
});

Deno.test("readBlob() asks no second aggregator when the first answers, and the next at once when it fails", async () => {
  for (const [status, count] of [[200, 1], [500, 2]] as const) {
    const asked: string[] = [];
    const outcome = await read(
      ["http://a.test", "http://b.test"],
      (url) => {
        asked.push(url);
        const isFirst = asked.length === 1;
        return Promise.resolve(
          new Response(BYTES, { status: isFirst ? status : 200 }),
        );
      },
      { clock: handClock() },
    );
    assertEquals([outcome.kind, asked.length], ["ok", count]);
  }
});

Deno.test("readBlob() says why no aggregator gave the blob, and reads no more than a blob may have", async () => {
  const huge = () =>
    new Response(
      new ReadableStream({
        pull: (controller) => controller.enqueue(new Uint8Array(1_000_000)),
      }),
    );
  const outcome = await read(["http://a.test", "http://b.test"], (url) => {
    if (url.includes("a.test")) return Promise.resolve(huge());
    throw new TypeError("refused");
  }, { clock: handClock() });
  assertEquals(outcome, {
    kind: "failed",
    reason: "a.test answers with more than 4194304 bytes; " +
      "b.test cannot be reached",
  });
});

Deno.test("readBlob() gives up at the deadline of a request, and at once with the signal", async () => {
  const silent: MemFetch = () => new Promise(() => {});
  const clock = handClock();
  const reading = read(["http://a.test"], silent, { clock });
  clock.fire(30_000);
  assertEquals((await reading).kind, "failed");
  const controller = new AbortController();
  const { signal } = controller;
  const ended = read(["http://a.test"], silent, { clock, signal });
  controller.abort(new RangeError("enough"));
  await assertRejects(() => ended, RangeError, "enough");
});

Deno.test("readBlob() asks the relayer when there is no aggregator, and tells what it says", async () => {
  const cases = [
    [{ json: { data: "AQID" } }, { kind: "ok", bytes: BYTES }],
    [{ json: { data: "%" } }, "the relayer's answer is no blob"],
    [{ status: 404 }, "the relayer does not have its blob"],
    [{ status: 503 }, "Cannot send: 503"],
  ] as const;
  for (const [answer, expected] of cases) {
    const exchange = new StubRelayer()
      .on("GET /api/memories/m1/blob", answer);
    const outcome = await readBlob(HIT, {
      aggregatorUrls: [],
      parts: stubParts({ exchange }),
      fetch: () => Promise.reject(new Error("not to be called")),
      signal: new AbortController().signal,
    });
    assertEquals(
      outcome,
      typeof expected === "string"
        ? { kind: "failed", reason: expected }
        : expected,
    );
  }
  const older = await readBlob({ blob_id: "b1", distance: 1 }, {
    aggregatorUrls: [],
    parts: stubParts(),
    fetch: () => Promise.reject(new Error("not to be called")),
    signal: new AbortController().signal,
  });
  assertEquals(older, {
    kind: "failed",
    reason: "this relayer gives no blobs: set blobAggregatorUrl",
  });
});
