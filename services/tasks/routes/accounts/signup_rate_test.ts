import { assert, assertEquals } from "@std/assert";
import { SignupRate } from "./signup_rate.ts";

const HOUR_MS = 3_600_000;

Deno.test("SignupRate.take() lets an address make so many in an hour", () => {
  const rate = new SignupRate(2);
  const take = (nowMs: number): string => rate.take("192.0.2.1", nowMs).kind;
  assertEquals([take(0), take(0), take(0)], ["ok", "ok", "over"]);
  assertEquals(take(HOUR_MS / 2 - 1), "over");
  assertEquals([take(HOUR_MS / 2), take(HOUR_MS / 2)], ["ok", "over"]);
  assertEquals(take(10 * HOUR_MS), "ok");
});

Deno.test("SignupRate.take() tells when it is worth another try", () => {
  const rate = new SignupRate(4);
  for (let count = 0; count < 4; count++) rate.take("192.0.2.1", 0);
  const verdict = rate.take("192.0.2.1", 60_000);
  assert(verdict.kind === "over");
  const againMs = 60_000 + verdict.retryAfterMs;
  assertEquals(againMs, HOUR_MS / 4);
  assertEquals(rate.take("192.0.2.1", againMs).kind, "ok");
});

Deno.test("SignupRate.take() counts a /64 as one, and who is not known as one", () => {
  const rate = new SignupRate(1);
  const take = (address: string): string => rate.take(address, 0).kind;
  assertEquals(take("2001:db8::1"), "ok");
  assertEquals(take("2001:db8::ffff:2"), "over");
  assertEquals(take("2001:db8:0:1::1"), "ok");
  assertEquals([take("192.0.2.1"), take("192.0.2.2")], ["ok", "ok"]);
  assertEquals(take("::ffff:192.0.2.1"), "over");
  assertEquals([take(""), take("unix")], ["ok", "over"]);
});

Deno.test("SignupRate.giveBack() undoes a take and gives no more than there was", () => {
  const rate = new SignupRate(1);
  rate.take("192.0.2.1", 0);
  rate.giveBack("192.0.2.1", 0);
  rate.giveBack("192.0.2.1", 0);
  const take = (): string => rate.take("192.0.2.1", 0).kind;
  assertEquals([take(), take()], ["ok", "over"]);
});

Deno.test("SignupRate.take() stands a clock that goes back", () => {
  const rate = new SignupRate(1);
  rate.take("192.0.2.1", HOUR_MS);
  assertEquals(rate.take("192.0.2.1", 0).kind, "over");
});
