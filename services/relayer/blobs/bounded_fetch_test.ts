import { assertEquals, assertRejects } from "@std/assert";
import { boundedBytes, fetchFault } from "./bounded_fetch.ts";

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
