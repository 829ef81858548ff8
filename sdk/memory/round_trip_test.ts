import { assertEquals, assertRejects } from "@std/assert";
import { readBody } from "./round_trip.ts";

function createResponse(
  chunks: readonly string[],
  onCancel?: () => void,
): Response {
  const rest = [...chunks];
  return new Response(
    new ReadableStream({
      pull(controller) {
        const chunk = rest.shift();
        if (chunk === undefined) controller.close();
        else controller.enqueue(new TextEncoder().encode(chunk));
      },
      cancel: () => onCancel?.(),
    }, { highWaterMark: 0 }),
  );
}

const { signal } = new AbortController();

Deno.test("readBody() reads all of a body that is as long as it may be", async () => {
  const read = await readBody(createResponse(["ab", "cd"]), {
    maxBytes: 4,
    signal,
  });
  assertEquals(read, { bytes: new TextEncoder().encode("abcd"), isCut: false });
  const none = await readBody(new Response(null), { maxBytes: 4, signal });
  assertEquals(none, { bytes: new Uint8Array(0), isCut: false });
});

Deno.test("readBody() lets go of a body that is longer than it may be", async () => {
  let isCancelled = false;
  const body = createResponse(["ab", "cd", "ef"], () => isCancelled = true);
  const read = await readBody(body, { maxBytes: 3, signal });
  assertEquals(read, { bytes: new TextEncoder().encode("abc"), isCut: true });
  assertEquals(isCancelled, true);
});

Deno.test("readBody() lets go of a body that stalls when the signal aborts", async () => {
  const controller = new AbortController();
  let isCancelled = false;
  const stalled = new Response(
    new ReadableStream({
      pull: () => new Promise<void>(() => {}),
      cancel: () => {
        isCancelled = true;
      },
    }),
  );
  const options = { maxBytes: 9, signal: controller.signal };
  const reading = readBody(stalled, options);
  controller.abort(new Error("enough"));
  await reading;
  assertEquals(isCancelled, true);
});

Deno.test("readBody() reads answers of runtimes without streams, as much as it may", async () => {
  const whole = (text: string, headers = {}): Response => ({
    body: undefined,
    headers: new Headers(headers),
    arrayBuffer: () => Promise.resolve(new TextEncoder().encode(text).buffer),
  } as unknown as Response);
  const options = { maxBytes: 3, signal };
  const text = new TextEncoder().encode("abc");
  assertEquals(await readBody(whole("abc"), options), {
    bytes: text,
    isCut: false,
  });
  assertEquals(await readBody(whole("abcd"), options), {
    bytes: text,
    isCut: true,
  });
  assertEquals(
    await readBody(whole("", { "content-length": "4" }), options),
    { bytes: new Uint8Array(0), isCut: true },
  );
});

Deno.test("readBody() rejects when the body breaks off", async () => {
  const broken = new Response(
    new ReadableStream({
      pull: (controller) => controller.error(new Error("reset")),
    }),
  );
  await assertRejects(
    () => readBody(broken, { maxBytes: 9, signal }),
    Error,
    "reset",
  );
});
