import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { systemClock } from "../../../shared/clock.ts";
import { createMemoryStore } from "./memory_store.ts";
import {
  severalStoresConformance,
  storeConformance,
} from "./store_conformance.ts";

storeConformance("memory", () => {
  const store = createMemoryStore({ clock: systemClock });
  return Promise.resolve({ store, close: () => store.stop() });
});

severalStoresConformance("memory", () => {
  const store = createMemoryStore({ clock: systemClock });
  return Promise.resolve({
    store,
    another: () =>
      Promise.resolve(
        createMemoryStore({ clock: systemClock, besides: store }),
      ),
    close: () => store.stop(),
  });
});

Deno.test("createMemoryStore() gives stores on the same data the store's own time, with the timers of their machines", async () => {
  const [one, other] = [new FakeClock(5_000), new FakeClock(900_000)];
  const first = createMemoryStore({ clock: one, ownTimeMs: () => 42_000 });
  const second = createMemoryStore({ clock: other, besides: { ...first } });
  assertEquals(first.hasOwnTime, true);
  assertEquals(second.hasOwnTime, true);
  assertEquals(second.clock.nowMs(), 42_000);
  assertEquals(second.clock.monotonicMs?.(), 900_000);
  const joining = { version: "1", address: "", wants: [] };
  await first.beat({ id: "x", ...joining, sinceLastMs: undefined });
  const answer = await second.beat({
    id: "y",
    ...joining,
    sinceLastMs: undefined,
  });
  assertEquals(
    answer.kind === "member" && answer.members.map(({ id }) => id),
    ["x", "y"],
  );
});
