import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { refusal, RefusalDelay, refusalResponse } from "./refusal.ts";

Deno.test("refusalResponse() says why in a header and leaves the body empty", () => {
  const response = refusalResponse(refusal("ERR_SIGNATURE"));
  assertEquals(response.status, 401);
  assertEquals(response.headers["x-auth-error"], "ERR_SIGNATURE");
  assertEquals(response.headers["retry-after"], undefined);
  assertEquals(response.body, "");
});

Deno.test("refusalResponse() tells the oldest client in words, which is all that it shows", () => {
  const replay = refusalResponse({ ...refusal("ERR_REPLAY"), isLegacy: true });
  assertEquals([replay.status, replay.headers["retry-after"]], [401, "1"]);
  const { error, code } = JSON.parse(String(replay.body));
  assertEquals(code, "ERR_REPLAY");
  assertEquals(
    error,
    "Cannot accept the request: the same was stored in this second already; " +
      "clients without a nonce can repeat it a second later",
  );
});

Deno.test("refusalResponse() tells clients that are too old to upgrade", () => {
  const response = refusalResponse(refusal("ERR_CLIENT_TOO_OLD"));
  assertEquals(response.status, 426);
  assertEquals(response.body, "");
});

Deno.test("refusalResponse() says when to come again when it is our fault, and never why", () => {
  const response = refusalResponse(
    refusal("AUTH_UPSTREAM_UNAVAILABLE", "http://node.internal: refused"),
  );
  assertEquals(response.status, 503);
  assertEquals(response.headers["retry-after"], "5");
  assertEquals(JSON.stringify(response).includes("internal"), false);
});

Deno.test("RefusalDelay holds answers back, at most so many", async () => {
  const clock = new FakeClock();
  const delay = new RefusalDelay({ clock, delayMs: 100, maxHeld: 2 });
  let answered = 0;
  const count = (): void => void answered++;
  const waits = [1, 2, 3].map(() => delay.wait().then(count));
  await clock.advanceAsync(99);
  // The third refusal found no room, so it was answered at once.
  assertEquals(answered, 1);
  assertEquals(delay.held, 2);
  await clock.advanceAsync(1);
  assertEquals(answered, 3);
  assertEquals(delay.held, 0);
  await Promise.all(waits);
});

Deno.test("RefusalDelay lets everything go when the server stops", async () => {
  const clock = new FakeClock();
  const delay = new RefusalDelay({ clock });
  const waits = [delay.wait(), delay.wait()];
  delay.releaseAll();
  await Promise.all(waits);
  assertEquals(clock.pendingTimers, 0);
  assertEquals(delay.held, 0);
});
