import { assert, assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import { systemClock } from "../../shared/clock.ts";
import { BlobStoreError } from "./blob_store.ts";
import { fetchFault, HttpBlobs, staggered } from "./http_blobs.ts";
import { testBlobStore } from "./testing/blob_conformance.ts";
import {
  type BlobServers,
  noBlob,
  startBlobServers,
} from "./testing/blob_servers.ts";

type HttpBlobsOptions = ConstructorParameters<typeof HttpBlobs>[0];

Deno.test("fetchFault() tells an end from a failure, without addresses", () => {
  const ended = "took too long, or the call was ended";
  assertEquals(fetchFault(AbortSignal.abort().reason), ended);
  assertEquals(fetchFault(new DOMException("x", "TimeoutError")), ended);
  const failed = "cannot be reached, or broke off";
  const error = new TypeError("error sending request for http://10.0.0.1/");
  assertEquals(fetchFault(error), failed);
  assertEquals(fetchFault(new DOMException("x", "DataError")), failed);
  assertEquals(fetchFault("odd"), failed);
});

const AFTER_MS = 150;

/** Targets that answer when the test lets them. */
class Asked {
  readonly clock = new FakeClock();
  readonly ending = new AbortController();
  /** The targets that were asked, in order. */
  readonly names: string[] = [];
  readonly #answers = new Map<
    string,
    PromiseWithResolvers<string | undefined>
  >();
  readonly #signals = new Map<string, AbortSignal>();

  ask(targets: readonly string[]): Promise<string | undefined> {
    return staggered(targets, {
      ask: (target, signal) => {
        const answer = Promise.withResolvers<string | undefined>();
        this.names.push(target);
        this.#answers.set(target, answer);
        this.#signals.set(target, signal);
        return answer.promise;
      },
      afterMs: AFTER_MS,
      clock: this.clock,
      signal: this.ending.signal,
    });
  }

  /** Lets a target answer, and waits until its caller has seen the answer. */
  async answer(target: string, answer: string | undefined): Promise<void> {
    this.#answers.get(target)?.resolve(answer);
    await turn();
  }

  isEnded(target: string): boolean {
    return this.#signals.get(target)?.aborted === true;
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

Deno.test("staggered() takes the first answer without asking others", async () => {
  const asked = new Asked();
  const answer = asked.ask(["a", "b"]);
  asked.clock.advance(AFTER_MS - 1);
  await asked.answer("a", "from a");
  assertEquals(await answer, "from a");
  asked.clock.advance(AFTER_MS);
  assertEquals(asked.names, ["a"]);
  assertEquals(asked.clock.pendingTimers, 0);
});

Deno.test("staggered() asks the next at once when one is no good, and gives nothing when all are", async () => {
  const asked = new Asked();
  const answer = asked.ask(["a", "b", "c"]);
  await asked.answer("a", undefined);
  assertEquals(asked.names, ["a", "b"]);
  await asked.answer("b", undefined);
  assertEquals(asked.names, ["a", "b", "c"]);
  await asked.answer("c", undefined);
  assertEquals(await answer, undefined);
  assertEquals(asked.clock.pendingTimers, 0);
});

Deno.test("staggered() asks the next beside a slow one, which may still win", async () => {
  const asked = new Asked();
  const answer = asked.ask(["a", "b", "c"]);
  asked.clock.advance(AFTER_MS);
  assertEquals(asked.names, ["a", "b"]);
  // The time until the next target is asked begins here.
  asked.clock.advance(AFTER_MS - 1);
  assertEquals(asked.names, ["a", "b"]);
  await asked.answer("a", "late, but good");
  assertEquals(await answer, "late, but good");
  assert(asked.isEnded("b"));
  asked.clock.advance(AFTER_MS);
  assertEquals(asked.names, ["a", "b"]);
  await asked.answer("b", "too late");
});

Deno.test("staggered() waits for the slow ones when the last one is no good", async () => {
  const asked = new Asked();
  const answer = asked.ask(["a", "b"]);
  asked.clock.advance(AFTER_MS);
  await asked.answer("b", undefined);
  assertEquals(asked.clock.pendingTimers, 0);
  assertEquals(asked.isEnded("a"), false);
  await asked.answer("a", "from a");
  assertEquals(await answer, "from a");
});

Deno.test("staggered() tells the losers to end before it answers", async () => {
  const asked = new Asked();
  const endedAtAnswer = asked.ask(["a", "b"]).then(() => asked.isEnded("a"));
  asked.clock.advance(AFTER_MS);
  await asked.answer("b", "from b");
  assertEquals(await endedAtAnswer, true);
  await asked.answer("a", undefined);
  assertEquals(asked.names, ["a", "b"]);
});

Deno.test("staggered() ends with its signal, and so do those who were asked", async () => {
  const asked = new Asked();
  const answer = asked.ask(["a", "b"]);
  asked.ending.abort(new TypeError("stopped"));
  await assertRejects(() => answer, TypeError, "stopped");
  assert(asked.isEnded("a"));
  assertEquals(asked.clock.pendingTimers, 0);
  await asked.answer("a", "too late");
  assertEquals(asked.names, ["a"]);
});

Deno.test("staggered() asks nobody when its signal was aborted before, and nobody when there is none", async () => {
  const none = new Asked();
  assertEquals(await none.ask([]), undefined);
  const asked = new Asked();
  asked.ending.abort(new TypeError("stopped"));
  await assertRejects(() => asked.ask(["a"]), TypeError, "stopped");
  assertEquals(asked.names, []);
});

const BYTES = new Uint8Array([1, 2, 3]);

async function withBlobs(
  use: (blobs: HttpBlobs, servers: BlobServers) => Promise<void>,
  more: Partial<HttpBlobsOptions> = {},
): Promise<void> {
  await using servers = startBlobServers();
  const blobs = new HttpBlobs({
    publisherUrl: servers.url,
    aggregatorUrls: [servers.url],
    epochs: 5,
    fetch,
    clock: systemClock,
    ...more,
  });
  await blobs.start();
  try {
    await use(blobs, servers);
  } finally {
    await blobs.stop();
  }
}

testBlobStore({
  name: "HttpBlobs",
  removes: false,
  withStore: (use) => withBlobs((blobs) => use(blobs)),
});

Deno.test("HttpBlobs.put() asks for epochs and for a blob that can be deleted", async () => {
  await withBlobs(async (blobs, servers) => {
    await blobs.put(BYTES);
    assertEquals(servers.requests, [
      "PUT /v1/blobs?epochs=5&deletable=true",
    ]);
  });
});

Deno.test("HttpBlobs.put() tells passing refusals from lasting ones", async () => {
  await withBlobs(async (blobs, servers) => {
    const cases = [
      [429, true, 7_000],
      [503, true, 7_000],
      [400, false, 7_000],
    ] as const;
    for (const [status, isPassing, retryAfter] of cases) {
      servers.fault = () =>
        new Response("no", { status, headers: { "retry-after": "7" } });
      const error = await assertRejects(() => blobs.put(BYTES), BlobStoreError);
      assertEquals([error.isPassing, error.retryAfterMs], [
        isPassing,
        retryAfter,
      ]);
    }
  });
});

Deno.test("HttpBlobs.put() takes no answer that names no blob", async () => {
  await withBlobs(async (blobs, servers) => {
    const bodies = [
      "not JSON",
      "null",
      "{}",
      `{"newlyCreated": {"blobObject": {"blobId": "../x"}}}`,
      `{"alreadyCertified": {"blobId": 7}}`,
      `{"pad": "${"x".repeat(100_000)}"}`,
    ];
    for (const body of bodies) {
      servers.fault = () => new Response(body);
      await assertRejects(
        () => blobs.put(BYTES),
        BlobStoreError,
        "names no blob",
      );
    }
  });
});

Deno.test("HttpBlobs gives up when its time is over", async () => {
  const clock = new FakeClock();
  await withBlobs(async (blobs, servers) => {
    const held = Promise.withResolvers<Response>();
    servers.fault = () => held.promise;
    const put = assertRejects(() => blobs.put(BYTES), BlobStoreError);
    const got = blobs.get("A".repeat(43));
    await waitUntil(() => servers.requests.length === 2, { what: "requests" });
    clock.advance(30_000);
    await put;
    assertEquals((await got).kind, "unavailable");
    held.resolve(new Response());
  }, { clock });
});

Deno.test("HttpBlobs.put() is a passing fault when nobody listens", async () => {
  await withBlobs(async (blobs) => {
    const error = await assertRejects(() => blobs.put(BYTES), BlobStoreError);
    assert(error.isPassing);
    assert(!error.message.includes("127.0.0.1"));
  }, { publisherUrl: "http://127.0.0.1:1" });
});

Deno.test("HttpBlobs.get() asks another aggregator when the first is slow, and ends the loser", async () => {
  await using slow = startBlobServers();
  const held = Promise.withResolvers<Response>();
  slow.fault = () => held.promise;
  await withBlobs(async (_, servers) => {
    const blobs = new HttpBlobs({
      publisherUrl: servers.url,
      aggregatorUrls: [slow.url, servers.url],
      epochs: 1,
      fetch,
      clock: systemClock,
      raceAfterMs: 5,
    });
    const blobId = await blobs.put(BYTES);
    assertEquals(await blobs.get(blobId), { kind: "ok", bytes: BYTES });
    await waitUntil(() => slow.ended() === 1, { what: "the loser's end" });
    held.resolve(new Response());
  });
});

Deno.test("HttpBlobs.get() asks the next at once when one refuses", async () => {
  await using broken = startBlobServers();
  broken.fault = () => new Response("no", { status: 500 });
  const clock = new FakeClock();
  await withBlobs(async (_, servers) => {
    const blobs = new HttpBlobs({
      publisherUrl: servers.url,
      aggregatorUrls: [broken.url, servers.url],
      epochs: 1,
      fetch,
      clock,
    });
    const blobId = await blobs.put(BYTES);
    assertEquals((await blobs.get(blobId)).kind, "ok");
    // When one aggregator lacks the blob and the other fails, the blob may
    // exist.
    const unknown = await blobs.get("A".repeat(43));
    assertEquals(unknown.kind, "unavailable");
  });
});

Deno.test("HttpBlobs.get() does not take a proxy's 404 for that of an aggregator", async () => {
  await withBlobs(async (blobs, servers) => {
    servers.fault = () =>
      new Response("default backend - 404", { status: 404 });
    const got = await blobs.get("A".repeat(43));
    assertEquals(got, {
      kind: "unavailable",
      reason: "an aggregator answered with status 404",
    });
    servers.fault = undefined;
    assertEquals((await blobs.get("A".repeat(43))).kind, "missing");
  });
});

Deno.test("HttpBlobs.get() takes in no more than a blob can have", async () => {
  await withBlobs(async (blobs, servers) => {
    servers.fault = (request) =>
      request.method === "GET"
        ? new Response(new Uint8Array(2_000))
        : undefined;
    const got = await blobs.get("A".repeat(43));
    assertEquals(got.kind, "unavailable");
  }, { maxBytes: 1_000 });
});

Deno.test("HttpBlobs asks for no more blobs at a time than it may", async () => {
  await withBlobs(async (blobs, servers) => {
    let [open, most] = [0, 0];
    servers.fault = async () => {
      most = Math.max(most, ++open);
      await new Promise((resolve) => setTimeout(resolve, 5));
      open--;
      return noBlob();
    };
    const gets = Array.from(
      { length: 12 },
      (_, at) => blobs.get(String(at).padStart(43, "A")),
    );
    for (const { kind } of await Promise.all(gets)) {
      assertEquals(kind, "missing");
    }
    assertEquals(most, 3);
  }, { maxParallel: 3 });
});

Deno.test("HttpBlobs counts the wait for a place as part of a call's time", async () => {
  const clock = new FakeClock();
  await withBlobs(async (blobs, servers) => {
    const held = Promise.withResolvers<Response>();
    servers.fault = () => held.promise;
    const first = blobs.get("A".repeat(43));
    await waitUntil(() => servers.requests.length === 1, { what: "a request" });
    const put = assertRejects(() => blobs.put(BYTES), BlobStoreError);
    const controller = new AbortController();
    const { signal } = controller;
    const gone = blobs.get("B".repeat(43), { signal });
    controller.abort();
    assertEquals((await gone).kind, "unavailable");
    clock.advance(30_000);
    await put;
    assertEquals((await first).kind, "unavailable");
    assertEquals(servers.requests.length, 1);
    assertEquals(clock.pendingTimers, 0);
    held.resolve(new Response());
  }, { clock, maxParallel: 1 });
});
