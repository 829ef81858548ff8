import { assertEquals } from "@std/assert";
import { openSubject, withStore } from "../sqlite/testing/open_store.ts";
import type { Change } from "../changes.ts";
import { conflictingStore } from "./conflicting_store.ts";
import { ALICE, sampleJob } from "./sample_rows.ts";
import { storeConformance } from "./store_conformance.ts";

storeConformance("undisturbed conflicting", async () => {
  const subject = await openSubject();
  return {
    ...subject,
    store: conflictingStore(subject.store, { isBeaten: () => false }),
  };
});

Deno.test("conflictingStore() lets somebody else be quicker", async () => {
  await withStore(async (inner) => {
    const hits = [true, false];
    const store = conflictingStore(inner, {
      isBeaten: () => hits.shift() ?? false,
    });
    await store.commit([{ kind: "new_job", job: sampleJob() }]);
    const change = (expectedVersion: number): Change => ({
      kind: "job",
      owner: ALICE,
      id: "job-1",
      expectedVersion,
      patch: { status: "running" },
    });
    assertEquals(await store.commit([change(1)]), {
      kind: "conflict",
      change: 0,
    });
    const [beaten] = await store.jobs(ALICE, ["job-1"]);
    assertEquals([beaten?.version, beaten?.status], [2, "pending"]);
    assertEquals(await store.commit([change(2)]), { kind: "ok" });
  });
});
