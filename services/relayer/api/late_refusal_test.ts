/**
 * Tests of calls that are answered while the store still finds out whether they
 * were made before.
 */

import { assert, assertEquals } from "@std/assert";
import type { LateRefusal } from "../auth/authenticate.ts";
import { refusal } from "../auth/refusal.ts";
import { StoreBusyError } from "../store/store.ts";
import { createRecall, TestAuthenticator } from "./testing/test_parts.ts";
import { openTestRelayer } from "./testing/test_relayer.ts";

type Found = Awaited<LateRefusal>;

/** A relayer whose recalls run, and end, as the test says. */
function setUp(options: { readonly sessions?: string[] } = {}) {
  const found = Promise.withResolvers<Found>();
  const begun = Promise.withResolvers<void>();
  const recalled = Promise.withResolvers<void>();
  const signals: AbortSignal[] = [];
  const authenticator = new TestAuthenticator();
  const { sessions } = options;
  const relayer = openTestRelayer({
    authenticator: {
      async authenticate(request) {
        const outcome = await authenticator.authenticate(request);
        found.promise.catch(() => {});
        return outcome.kind === "ok"
          ? { ...outcome, late: found.promise }
          : outcome;
      },
    },
    sessions: sessions && {
      take(_owner, header) {
        sessions.push(header);
        return Promise.resolve({ kind: "invalid", reason: "a test" });
      },
    },
    recall: {
      async recall({ signal }) {
        signals.push(signal!);
        begun.resolve();
        signal!.addEventListener("abort", () => recalled.resolve());
        await recalled.promise;
        return createRecall([]);
      },
      find: () => Promise.reject(new TypeError("not asked for")),
    },
  });
  const recall = (headers: Readonly<Record<string, string>> = {}) =>
    relayer.call("POST", "/api/recall", {
      body: new TextEncoder().encode('{"query":"tea"}'),
      headers,
    });
  return { found, begun, recalled, signals, recall };
}

/** Lets everything go on that can. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

Deno.test("handler gives no answer away before the store has found the call to be new", async () => {
  const { found, begun, recalled, signals, recall } = setUp();
  let status = 0;
  const call = recall().then((answer) => void (status = answer.status));
  await begun.promise;
  recalled.resolve();
  await turn();
  assertEquals(status, 0);
  found.resolve(undefined);
  await call;
  assertEquals(status, 200);
  assertEquals(signals[0]?.aborted, false);
});

Deno.test("handler ends the work of a call that was made before, and refuses it", async () => {
  const { found, begun, signals, recall } = setUp();
  const call = recall();
  await begun.promise;
  assertEquals(signals[0]?.aborted, false);
  found.resolve(refusal("ERR_REPLAY"));
  const { status, headers, text } = await call;
  assertEquals([status, headers["x-auth-error"], text], [
    ...[401, "ERR_REPLAY", ""],
  ]);
  assert(signals[0]?.aborted);
});

Deno.test("handler answers 503 where the store does not tell whether a call is new", async () => {
  const { found, begun, signals, recall } = setUp();
  const call = recall();
  await begun.promise;
  found.reject(new StoreBusyError(1_000));
  const { status } = await call;
  assertEquals([status, signals[0]?.aborted], [503, true]);
});

Deno.test("handler takes a session only with a call that is new", async () => {
  const sessions: string[] = [];
  const { found, recall } = setUp({ sessions });
  const call = recall({ "x-seal-session": "s" });
  await turn();
  assertEquals(sessions, []);
  found.resolve(refusal("ERR_REPLAY"));
  assertEquals((await call).status, 401);
  assertEquals(sessions, []);
});
