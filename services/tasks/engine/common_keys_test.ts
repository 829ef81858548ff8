import { assert, assertEquals, assertRejects } from "@std/assert";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { createMasterKey } from "../../shared/master_keys.ts";
import { MasterKeys, SealingKey } from "../secrets/master_keys.ts";
import type { Store } from "../store/store.ts";
import { createMemoryStore } from "../store/testing/memory_store.ts";
import { cursorKey, MasterKeyWatch } from "./common_keys.ts";
import { Instances } from "../../shared/instances.ts";
import { Notices } from "./notices.ts";
import { REGISTRY } from "./repositories.ts";
import { slowCommits } from "./testing/intercepted_store.ts";
import { SteppingClock } from "../../../tests/support/stepping_clock.ts";

Deno.test("cursorKey() gives one key to all instances, also to first starts at once", async () => {
  const clock = new SteppingClock();
  const store = createMemoryStore({ clock });
  const random = new SeededRandom(1);
  const stores = [1, 2, 3].map(() =>
    slowCommits(createMemoryStore({ clock, besides: store }))
  );
  const keys = await Promise.all(
    stores.map((one) => cursorKey(one, (length) => random.bytes(length))),
  );
  assertEquals(new Set(keys.map((key) => key.toBase64())).size, 1);
  const later = await cursorKey(store, () => {
    throw new Error("a key is there");
  });
  assertEquals(later, keys[0]);
});

Deno.test("cursorKey() fails where the key can be neither read nor written", async () => {
  const broken: Pick<Store, "record" | "commit"> = {
    record: () => Promise.resolve(undefined),
    commit: () =>
      Promise.resolve([{ kind: "conflict", write: 0, reason: "version" }]),
  };
  await assertRejects(() =>
    cursorKey(broken, (length) => new Uint8Array(length))
  );
});

/** A ring of keys, each of which has one byte all over. */
function ring(...bytes: readonly number[]): MasterKeys {
  const [current, ...older] = bytes.map((byte) => {
    const { id, fingerprint, secret } = createMasterKey(
      new Uint8Array(32).fill(byte),
    );
    return new SealingKey(secret, { id, fingerprint });
  });
  assert(current !== undefined);
  return new MasterKeys(current, older);
}

function openWatches() {
  const clock = new SteppingClock();
  const store = createMemoryStore({ clock });
  const logger = new RecordingLogger();
  let commits = 0;
  const watch = (
    instanceId: string,
    masterKeys: MasterKeys | undefined,
  ): MasterKeyWatch => {
    const own = createMemoryStore({ clock, besides: store });
    const newId = (): string => instanceId;
    const instances = new Instances({
      store: own,
      duties: [],
      clock,
      newId,
      logger,
    });
    return new MasterKeyWatch({
      parts: {
        store: {
          ...own,
          commit(transactions) {
            commits++;
            return own.commit(transactions);
          },
        },
        clock,
        logger,
        instances,
        notices: new Notices({ store: own, instances }),
      },
      masterKeys,
    });
  };
  return { clock, store, logger, watch, commits: () => commits };
}

Deno.test("MasterKeyWatch tells at each instance when their keys differ, until they no longer do", async () => {
  const { clock, store, watch, logger } = openWatches();
  const one = watch("a", ring(1, 2));
  let other = watch("b", ring(2));
  one.start();
  await clock.advance(500_000);
  other.start();
  await clock.advance(121_000);
  assertEquals([one.isDifferent, other.isDifferent], [true, true]);
  const record = await store.record("service", REGISTRY, "master_keys");
  for (const byte of [1, 2]) {
    const key = new Uint8Array(32).fill(byte);
    for (const text of [key.toBase64(), key.toHex()]) {
      assertEquals(record?.text.includes(text), false);
    }
  }
  // The order of the keys does not matter.
  await other.stop();
  other = watch("b2", ring(2, 1));
  other.start();
  await clock.advance(61_000);
  assertEquals([one.isDifferent, other.isDifferent], [false, false]);
  assertEquals(
    logger.lines.map(({ level }) => level),
    ["warning", "warning", "info"],
  );
  await other.stop();
  await one.stop();
  const left = await store.record("service", REGISTRY, "master_keys");
  assertEquals(left?.text, "{}");
});

Deno.test("MasterKeyWatch forgets an instance that died, and writes once while it is alone", async () => {
  const { clock, watch, commits } = openWatches();
  const dead = watch("a", undefined);
  await dead.runOnce();
  const one = watch("b", ring(1));
  await one.runOnce();
  assertEquals(one.isDifferent, true);
  await clock.advance(149_000);
  await one.runOnce();
  assertEquals(one.isDifferent, true);
  await clock.advance(1_000);
  await one.runOnce();
  assertEquals([one.isDifferent, commits()], [false, 3]);
  for (let rounds = 0; rounds < 10; rounds++) {
    await clock.advance(60_000);
    await one.runOnce();
  }
  assertEquals(commits(), 3);
});
