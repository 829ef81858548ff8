import { assert, assertEquals, assertRejects } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { serviceTest } from "../../../tests/support/services.ts";
import { openSubject } from "../store/postgres/testing/postgres_subject.ts";
import { StorageWatch } from "../store/storage_watch.ts";
import { Nonces, toStore } from "./nonces.ts";

type NoncesOptions = ConstructorParameters<typeof Nonces>[0];

const ANN = "a".repeat(64);
const BEN = "b".repeat(64);

Deno.test("claim() lets a request in once", () => {
  const { nonces } = setUp();
  assertEquals(nonces.claim(ANN, "1").kind, "ok");
  assertEquals(nonces.claim(ANN, "1").kind, "seen");
  assertEquals(nonces.claim(ANN, "2").kind, "ok");
});

Deno.test("claim() keeps one key from burning another's nonce", () => {
  const { nonces } = setUp();
  assertEquals(nonces.claim(BEN, "1").kind, "ok");
  assertEquals(nonces.claim(ANN, "1").kind, "ok");
});

Deno.test("claim() remembers for the whole span and forgets after two", () => {
  const random = new SeededRandom(5);
  const { nonces, clock } = setUp({ ttlMs: 1_000 });
  const claimedMs = new Map<string, number>();
  for (let round = 0; round < 5_000; round++) {
    clock.advance(random.below(40));
    const name = String(random.below(60));
    const last = claimedMs.get(name);
    const { kind } = nonces.claim(ANN, name);
    const ageMs = clock.nowMs() - (last ?? -Infinity);
    if (ageMs <= 1_000) assertEquals(kind, "seen", `${round}`);
    // A generation ends with the first claim after its time.
    if (ageMs > 2_080) assertEquals(kind, "ok", `${round}`);
    if (kind === "ok") claimedMs.set(name, clock.nowMs());
  }
  assert(nonces.size <= 60);
});

Deno.test("claim() forgets everything at once after a silence", () => {
  const { nonces, clock } = setUp({ ttlMs: 1_000, maxEntries: 2 });
  nonces.claim(ANN, "1");
  nonces.claim(BEN, "2");
  assertEquals(nonces.claim(BEN, "3").kind, "full");
  clock.advance(1_000);
  assertEquals(nonces.claim(BEN, "3").kind, "ok");
  assertEquals(nonces.size, 1);
});

Deno.test("claim() refuses what it has no room to remember", () => {
  const { nonces, clock } = setUp({ maxEntries: 3, maxPerKey: 2 });
  nonces.claim(ANN, "1");
  nonces.claim(ANN, "2");
  assertEquals(nonces.claim(ANN, "3").kind, "full");
  assertEquals(nonces.claim(ANN, "1").kind, "seen");
  // Another key has a share of its own.
  assertEquals(nonces.claim(BEN, "1").kind, "ok");
  assertEquals(nonces.claim(BEN, "2").kind, "full");
  clock.advance(600_000);
  assertEquals(nonces.claim(ANN, "3").kind, "ok");
});

Deno.test("claim() counts the share of a key over both generations", () => {
  const { nonces, clock } = setUp({ ttlMs: 1_000, maxPerKey: 2 });
  clock.advance(900);
  nonces.claim(ANN, "1");
  clock.advance(200);
  nonces.claim(ANN, "2");
  assertEquals(nonces.claim(ANN, "3").kind, "full");
});

Deno.test("release() gives the place back, keep() has the claim written down", () => {
  const { nonces, kept, clock } = setUp({ maxPerKey: 1 });
  const first = nonces.claim(ANN, "1");
  assert(first.kind === "ok");
  first.claim.release();
  assertEquals(nonces.size, 0);
  const second = nonces.claim(ANN, "1");
  assert(second.kind === "ok");
  first.claim.release();
  // Releasing the first claim again does not release the second one.
  assertEquals(nonces.claim(ANN, "1").kind, "seen");
  assertEquals(kept.length, 0);
  second.claim.keep();
  assertEquals(kept.map(([, expiresAtMs]) => expiresAtMs), [
    clock.nowMs() + 600_000,
  ]);
});

Deno.test("keep() tells what the store decides, and forgets what it could not", async () => {
  const answers = [
    Promise.resolve(true),
    Promise.resolve(false),
    Promise.reject(new Error("no answer")),
    Promise.resolve(true),
  ];
  const { nonces } = setUp({ persist: () => answers.shift() });
  const keep = async (name: string): Promise<boolean | undefined> => {
    const outcome = nonces.claim(ANN, name);
    assert(outcome.kind === "ok");
    return await outcome.claim.keep();
  };
  assertEquals(await keep("1"), true);
  assertEquals(await keep("2"), false);
  await assertRejects(() => keep("3"), Error, "no answer");
  assertEquals(await keep("3"), true);
  for (const name of ["1", "2", "3"]) {
    assertEquals(nonces.claim(ANN, name).kind, "seen");
  }
});

serviceTest(["postgres"], {
  name: "Nonces of three instances on one store let each request in once",
  async fn() {
    const subject = await openSubject();
    const logger = new RecordingLogger();
    const storage = new StorageWatch(() => Promise.resolve(), logger);
    const stores = [
      subject.store,
      await subject.another(),
      await subject.another(),
    ];
    const instances = stores.map((store) =>
      new Nonces({
        clock: subject.clock,
        persist: toStore({ store, storage, logger }),
      })
    );
    const take = async (nonces: Nonces, name: string): Promise<number> => {
      const outcome = nonces.claim(ANN, name);
      const isNew = outcome.kind === "ok" && await outcome.claim.keep();
      return isNew ? 1 : 0;
    };
    const taken = await Promise.all(
      Array.from({ length: 200 }, async (_, at) => {
        const each = instances.flatMap((nonces) => [
          ...[take(nonces, `${at}`), take(nonces, `${at}`)],
        ]);
        return (await Promise.all(each)).reduce((sum, one) => sum + one, 0);
      }),
    );
    assertEquals(taken, taken.map(() => 1));
    await subject.close();
  },
});

Deno.test("load() makes known what was written down before a restart", () => {
  const { nonces, kept } = setUp();
  const outcome = nonces.claim(ANN, "1");
  assert(outcome.kind === "ok");
  outcome.claim.keep();
  const { nonces: next } = setUp();
  next.load(kept.map(([nonce]) => nonce));
  assertEquals(next.claim(ANN, "1").kind, "seen");
  assertEquals(next.claim(ANN, "2").kind, "ok");
});

Deno.test("claim() forgets nothing because a clock was set ahead and back", () => {
  const clock = new TwoClocks();
  const nonces = new Nonces({ clock, persist: () => {}, ttlMs: 1_000 });
  nonces.claim(ANN, "1");
  for (const stepMs of [5_000, 5_000, -10_000, 1_000, -2_000]) {
    clock.wallMs += stepMs;
    nonces.claim(BEN, String(clock.wallMs));
    assertEquals(nonces.claim(ANN, "1").kind, "seen");
  }
});

Deno.test("claim() still forgets after a clock was set back by a day", () => {
  const clock = new TwoClocks();
  const nonces = new Nonces({ clock, persist: () => {}, ttlMs: 1_000 });
  clock.wallMs -= 86_400_000;
  for (let second = 0; second < 10; second++) {
    nonces.claim(ANN, String(second));
    clock.wallMs += 1_000;
    clock.goneMs += 1_000;
  }
  assert(nonces.size <= 3);
});

function setUp(options: Partial<NoncesOptions> = {}): {
  readonly nonces: Nonces;
  readonly clock: FakeClock;
  readonly kept: [string, number][];
} {
  const clock = new FakeClock();
  const kept: [string, number][] = [];
  const nonces = new Nonces({
    clock,
    persist: ({ nonce, expiresAtMs }) => void kept.push([nonce, expiresAtMs]),
    ...options,
  });
  return { nonces, clock, kept };
}

class TwoClocks extends FakeClock {
  wallMs = 1_800_000_000_000;
  goneMs = 0;

  override nowMs(): number {
    return this.wallMs;
  }

  monotonicMs(): number {
    return this.goneMs;
  }
}
