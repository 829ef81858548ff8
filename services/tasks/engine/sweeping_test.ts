import { assertEquals } from "@std/assert";
import { Sweeping } from "./sweeping.ts";
import { openTestEngine, TENANT_ID } from "./testing/test_engine.ts";

Deno.test("Sweeping removes expired answers once a minute, and keeps the others", async () => {
  const { engine, store, clock } = await openTestEngine();
  const sweeping = new Sweeping(engine.parts);
  const keep = (key: string, lifeMs: number) =>
    store.commit([{
      writes: [{
        kind: "idempotency",
        tenantId: TENANT_ID,
        key,
        entry: {
          bodyHash: "",
          status: 201,
          headers: {},
          body: "",
          expiresAtMs: clock.nowMs() + lifeMs,
        },
      }],
    }]);
  await keep("short", 30_000);
  await keep("long", 300_000);
  // Looked for as of the time at which both were there.
  const asOf = clock.nowMs();
  const has = async (key: string) =>
    await store.idempotency(TENANT_ID, key, asOf) !== undefined;
  sweeping.start();
  await clock.advance(59_999);
  assertEquals([await has("short"), await has("long")], [true, true]);
  await clock.advance(1);
  assertEquals([await has("short"), await has("long")], [false, true]);
  await sweeping.stop();
  await engine.stop();
});

Deno.test("Sweeping goes on until nothing is left, and after a fault", async () => {
  const { engine, clock, logger } = await openTestEngine();
  const answers = [1_000, 1_000, 3, new Error("disk"), 0];
  let asked = 0;
  const sweeping = new Sweeping({
    clock,
    logger,
    store: {
      ...engine.parts.store,
      sweep: () => {
        const answer = answers[asked++];
        return typeof answer === "number"
          ? Promise.resolve(answer)
          : Promise.reject(answer);
      },
    },
  });
  sweeping.start();
  await clock.advance(60_000);
  assertEquals(asked, 3);
  await clock.advance(60_000);
  assertEquals([asked, logger.messagesOf("error").length], [4, 1]);
  await clock.advance(60_000);
  assertEquals(asked, 5);
  await sweeping.stop();
  await engine.stop();
});
