import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { LedgerRpc } from "./ledger_rpc.ts";

function call(
  answer: (init: RequestInit) => Response | Promise<Response>,
  timeoutMs?: number,
): ReturnType<LedgerRpc["call"]> {
  const rpc = new LedgerRpc({
    url: "http://ledger.test/rpc",
    fetch: (_url, init) => Promise.resolve(answer(init)),
    timeoutMs,
  });
  return rpc.call("method", []);
}

Deno.test("LedgerRpc.call() follows no redirect and sends a whole call", async () => {
  const outcome = await call(({ redirect, method, body }) => {
    assertEquals([redirect, method], ["error", "POST"]);
    assertEquals(JSON.parse(String(body)), {
      ...{ jsonrpc: "2.0", id: 1, method: "method", params: [] },
    });
    return Response.json({ jsonrpc: "2.0", id: 1, result: [1] });
  });
  assertEquals(outcome, { kind: "ok", result: [1] });
});

Deno.test("LedgerRpc.call() tells an error of the ledger from its absence", async () => {
  const error = { code: -1, message: "m".repeat(1_000) };
  const outcome = await call(() => Response.json({ id: 1, error }));
  assert(outcome.kind === "error");
  assertEquals(outcome.reason.length, 200);
  const answers = [
    () => new Response("{}", { status: 500 }),
    () => new Response("no JSON"),
    () => new Response(null),
    () => new Response("[]"),
    () => Response.json({ id: 2, result: 1 }),
    () => Response.json({ result: 1 }),
    () => Promise.reject(new TypeError("no route")),
  ];
  for (const answer of answers) {
    assertEquals((await call(answer)).kind, "unavailable");
  }
});

Deno.test("LedgerRpc.call() does not wait for a ledger that stalls", async () => {
  const silent = await call(({ signal }) =>
    new Promise((_, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason));
    }), 1);
  assertEquals(silent.kind, "unavailable");
});

Deno.test("LedgerRpc.call() stops reading an answer that is too long", async () => {
  let sent = 0;
  let isCancelled = false;
  const outcome = await call(() =>
    new Response(
      new ReadableStream({
        pull(controller) {
          sent += 65_536;
          controller.enqueue(new Uint8Array(65_536).fill(32));
        },
        cancel() {
          isCancelled = true;
        },
      }),
    )
  );
  assert(outcome.kind === "unavailable");
  assertStringIncludes(outcome.reason, "too long");
  assert(isCancelled);
  assert(sent < 5 * 1_048_576, String(sent));
});
