import { assertEquals } from "@std/assert";
import { ActiveTasks } from "./active_tasks.ts";
import { openTestEngine, TENANT_ID } from "./testing/test_engine.ts";

Deno.test("ActiveTasks.reserve() counts the store once and follows changes from then on", async () => {
  const { engine, store, clock, worker, task } = await openTestEngine();
  const { active, counts } = activeOver(engine, { store, clock });
  const mailer = await worker();
  const first = await task(mailer);
  const used = async () => {
    const reservation = await active.reserve(TENANT_ID, {
      wanted: 1,
      limit: 9,
    });
    reservation.release();
    return reservation.used;
  };
  assertEquals(await used(), 1);
  await task(mailer);
  await task(mailer);
  assertEquals(await used(), 3);
  await engine.changes.apply({
    tenantId: TENANT_ID,
    id: first.id,
    event: { kind: "cancel" },
    actor: { type: "user", id: "usr_1" },
  });
  assertEquals(await used(), 2);
  assertEquals(counts(), 1);
  await clock.advance(60_000);
  assertEquals([await used(), counts()], [2, 2]);
  await engine.stop();
});

Deno.test("ActiveTasks.reserve() never grants more than there is room for", async () => {
  const { engine, store, clock } = await openTestEngine();
  const { active } = activeOver(engine, { store, clock });
  const wish = { wanted: 3, limit: 5 };
  const reserved = await Promise.all(
    [1, 2, 3].map(() => active.reserve(TENANT_ID, wish)),
  );
  assertEquals(reserved.map(({ granted }) => granted), [3, 2, 0]);
  reserved[0]?.release();
  reserved[0]?.release();
  const next = await active.reserve(TENANT_ID, wish);
  assertEquals(next.granted, 3);
  await clock.advance(60_000);
  assertEquals((await active.reserve(TENANT_ID, wish)).granted, 0);
  await engine.stop();
});

type TestParts = Awaited<ReturnType<typeof openTestEngine>>;

function activeOver(
  engine: TestParts["engine"],
  { store, clock }: Pick<TestParts, "store" | "clock">,
) {
  let counted = 0;
  const active = new ActiveTasks({
    store: {
      counts(options) {
        counted++;
        return store.counts(options);
      },
    },
    clock,
  });
  engine.changes.onChange(({ previous, next }) => active.heard(previous, next));
  return { active, counts: () => counted };
}
