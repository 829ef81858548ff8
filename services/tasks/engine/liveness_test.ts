import { assertEquals } from "@std/assert";
import { Liveness } from "./liveness.ts";

const WORKER = { tenantId: "t", workerId: "w" };

Deno.test("Liveness remembers when a worker and its instances were seen", () => {
  const liveness = new Liveness();
  assertEquals(liveness.of(WORKER), undefined);
  liveness.seen(WORKER, { nowMs: 1 });
  liveness.seen(WORKER, { nowMs: 2, instance: "a" });
  liveness.seen(WORKER, { nowMs: 3, instance: "b" });
  liveness.seen({ ...WORKER, tenantId: "u" }, { nowMs: 9 });
  const life = liveness.of(WORKER);
  assertEquals(life?.lastSeenAtMs, 3);
  assertEquals([...life?.instances ?? []], [["a", 2], ["b", 3]]);
});

Deno.test("Liveness keeps the instances that were seen last", () => {
  const liveness = new Liveness();
  for (let index = 0; index < 100; index++) {
    liveness.seen(WORKER, { nowMs: index, instance: `i${index}` });
  }
  liveness.seen(WORKER, { nowMs: 100, instance: "i0" });
  liveness.seen(WORKER, { nowMs: 101, instance: "new" });
  const instances = new Map(liveness.of(WORKER)?.instances);
  assertEquals(instances.size, 100);
  assertEquals([instances.has("i0"), instances.has("i1")], [true, false]);
});

Deno.test("Liveness keeps the workers that were seen last", () => {
  const liveness = new Liveness();
  liveness.seen(WORKER, { nowMs: 0 });
  for (let index = 1; index < 10_000; index++) {
    liveness.seen({ tenantId: "t", workerId: `${index}` }, { nowMs: index });
  }
  liveness.seen(WORKER, { nowMs: 10_000 });
  liveness.seen({ tenantId: "t", workerId: "new" }, { nowMs: 10_001 });
  assertEquals(liveness.of(WORKER)?.lastSeenAtMs, 10_000);
  assertEquals(liveness.of({ tenantId: "t", workerId: "1" }), undefined);
});
