import { assert, assertEquals, assertRejects } from "@std/assert";
import { boundedBytes, boundedText } from "./bounded_text.ts";

/** A body of these chunks that goes on until it is canceled. */
function endless(chunks: readonly Uint8Array[]): {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly isCanceled: () => boolean;
} {
  let canceled = false;
  let next = 0;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      const chunk = chunks[next++ % chunks.length] ?? new Uint8Array();
      controller.enqueue(new Uint8Array(chunk));
    },
    cancel() {
      canceled = true;
    },
  });
  return { body, isCanceled: () => canceled };
}

Deno.test("boundedText() gives the text when it is as long as allowed", async () => {
  assertEquals(await boundedText(new Response("four"), 4), "four");
  assertEquals(await boundedText(new Response(null), 0), "");
});

Deno.test("boundedText() counts bytes, not characters, when there are other letters", async () => {
  assertEquals(await boundedText(new Response("éé"), 4), "éé");
  assertEquals(await boundedText(new Response("éé"), 3), undefined);
});

Deno.test("boundedText() cancels the body when it is too large", async () => {
  const { body, isCanceled } = endless([new Uint8Array(10)]);
  assertEquals(await boundedText({ body }, 25), undefined);
  assert(isCanceled());
});

Deno.test("boundedText() joins a letter when it is cut between chunks", async () => {
  const bytes = new TextEncoder().encode("a€b");
  const body = ReadableStream.from([
    bytes.slice(0, 2),
    bytes.slice(2, 3),
    bytes.slice(3),
  ]);
  assertEquals(await boundedText({ body }, 5), "a€b");
});

Deno.test("boundedText() rejects when the transfer breaks off", async () => {
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (controller) => controller.error(new Error("broken off")),
  });
  await assertRejects(() => boundedText({ body }, 5), Error, "broken off");
});

/** A body in pieces, which tells when it is ended. */
function pieces(lengths: readonly number[]) {
  let [given, isCancelled] = [0, false];
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      const length = lengths[given];
      if (length === undefined) return controller.close();
      given++;
      controller.enqueue(new Uint8Array(length).fill(given));
    },
    cancel() {
      isCancelled = true;
    },
  }, { highWaterMark: 0 });
  return {
    response: new Response(body),
    given: () => given,
    isCancelled: () => isCancelled,
  };
}

Deno.test("boundedBytes() puts the pieces of a body together", async () => {
  const { response } = pieces([2, 0, 3]);
  assertEquals(
    await boundedBytes(response, 5),
    Uint8Array.of(1, 1, 3, 3, 3),
  );
});

Deno.test("boundedBytes() gives nothing for an answer without a body", async () => {
  assertEquals(await boundedBytes(new Response(null), 0), new Uint8Array());
});

Deno.test("boundedBytes() ends a transfer that is too long as soon as it is", async () => {
  const { response, given, isCancelled } = pieces(Array(100).fill(10));
  assertEquals(await boundedBytes(response, 25), undefined);
  assertEquals([given(), isCancelled()], [3, true]);
});

Deno.test("boundedBytes() passes on that a transfer breaks off", async () => {
  const body = new ReadableStream({
    pull: (controller) => controller.error(new TypeError("reset")),
  });
  await assertRejects(
    () => boundedBytes(new Response(body), 10),
    TypeError,
    "reset",
  );
});
