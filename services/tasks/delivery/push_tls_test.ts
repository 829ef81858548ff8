import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { createTestAuthority } from "../../../tests/support/test_certificates.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import { PushCaller, type PushRequest } from "./push_call.ts";
import type { PushOutcome } from "./push_answer.ts";
import type { PushFailure } from "./push_failure.ts";
import { createAllowList } from "./testing/create_allow_list.ts";
import { startRawWorker, startTlsWorker } from "./testing/worker_server.ts";

function createCaller(
  options: Partial<ConstructorParameters<typeof PushCaller>[0]> = {},
): PushCaller {
  return new PushCaller({
    allowHttp: false,
    allowList: createAllowList("127.0.0.1"),
    resolve: () => Promise.resolve([{ address: "127.0.0.1", family: 4 }]),
    ...options,
  });
}

function requestTo(host: string, port: number): PushRequest {
  const url = `https://${host}:${port}/`;
  const fixed = { method: "POST", headers: {}, body: "{}", owner: "ten_a" };
  return { url, timeoutMs: 10_000, ...fixed };
}

function failed(outcome: PushOutcome): PushFailure {
  assert(outcome.kind === "failed", JSON.stringify(outcome));
  return outcome;
}

Deno.test("call() reaches a server whose certificate is trusted", async () => {
  const authority = createTestAuthority();
  await using server = await startTlsWorker((request, response) => {
    response.end(`${request.headers.host}`);
  }, authority.issue("worker.example"));
  const caller = createCaller({ trustedCaPem: authority.caPem });
  for (const host of ["worker.example", "WORKER.example."]) {
    const outcome = await caller.call(requestTo(host, server.port));
    assert(outcome.kind === "answered", JSON.stringify(outcome));
    assertEquals(outcome.bodyText, `worker.example:${server.port}`);
  }
  await caller.close();
});

Deno.test("call() reaches an address whose certificate is for it", async () => {
  const authority = createTestAuthority();
  await using server = await startTlsWorker((_, response) => {
    response.end("here");
  }, authority.issue("127.0.0.1"));
  const caller = createCaller({ trustedCaPem: authority.caPem });
  const outcome = await caller.call(requestTo("127.0.0.1", server.port));
  assert(outcome.kind === "answered", JSON.stringify(outcome));
  await caller.close();
});

Deno.test("call() sends nothing to a server it does not trust", async () => {
  let requests = 0;
  const authority = createTestAuthority();
  await using server = await startTlsWorker((_, response) => {
    requests++;
    response.end();
  }, authority.issue("worker.example"));
  const strangers = createCaller();
  const untrusted = failed(
    await strangers.call(requestTo("worker.example", server.port)),
  );
  assertEquals(untrusted.code, "tls_failed");
  assertStringIncludes(untrusted.message, "UNABLE_TO_VERIFY_LEAF_SIGNATURE");
  await strangers.close();
  const friends = createCaller({ trustedCaPem: authority.caPem });
  const renamed = failed(
    await friends.call(requestTo("other.example", server.port)),
  );
  assertEquals(renamed.code, "tls_failed");
  assertStringIncludes(renamed.message, "ERR_TLS_CERT_ALTNAME_INVALID");
  await friends.close();
  assertEquals(requests, 0);
});

Deno.test("call() tells that the other end speaks no TLS", async () => {
  await using server = await startRawWorker((socket) => {
    socket.end("HTTP/1.1 400 Bad Request\r\n\r\n");
  });
  await using silent = await startRawWorker((socket) => {
    socket.resetAndDestroy();
  });
  const caller = createCaller();
  for (const { port } of [server, silent]) {
    const outcome = failed(
      await caller.call(requestTo("worker.example", port)),
    );
    assertEquals(outcome.code, "tls_failed");
  }
  await caller.close();
});

Deno.test("call() ends at its time-out within the handshake", async () => {
  let hasBegun = false;
  await using server = await startRawWorker(() => {
    hasBegun = true;
  });
  const clock = new FakeClock();
  const caller = createCaller({ clock });
  const call = caller.call(requestTo("worker.example", server.port));
  await waitUntil(() => hasBegun, { what: "the handshake" });
  clock.advance(10_000);
  const outcome = failed(await call);
  assertEquals(outcome.code, "timed_out");
  assertStringIncludes(outcome.message, "no TLS handshake within 10000 ms");
  await waitUntil(() => server.open() === 0, { what: "the hanging up" });
  await caller.close();
});
