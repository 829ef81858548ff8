import {
  assert,
  assertEquals,
  assertNotEquals,
  assertRejects,
} from "@std/assert";
import { createHash } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { createMasterKey } from "../../shared/master_keys.ts";
import { StoreBusyError } from "../store/store.ts";
import { sampleContent, withVault } from "./testing/open_vault.ts";
import type { IndexEntry } from "./vault.ts";

const ALICE = `0x${"a1".repeat(32)}`;
const BOB = `0x${"b2".repeat(32)}`;
const MASTER = createMasterKey(
  Uint8Array.from({ length: 32 }, (_, at) => at + 1),
);
const NEXT_MASTER = createMasterKey(
  Uint8Array.from({ length: 32 }, (_, at) => at + 100),
);

const ENTRY: IndexEntry = {
  vector: Float32Array.of(0.25, -1, 0, 3e-8),
  model: "a model",
  metadata: { topic: "tea", rank: 2 },
  words: undefined,
};

const GONE = { kind: "failed", why: "key_gone" } as const;
const DAMAGED = { kind: "failed", why: "damaged" } as const;

Deno.test("open() gives its owner what was sealed, also after a restart", async () => {
  await withVault(async (vault, { reopen }) => {
    const content = sampleContent({ supersedes: "older" });
    const { bytes, keyId } = await vault.seal(ALICE, content);
    const ok = { kind: "ok", value: content, keyId } as const;
    assertEquals(await vault.open(ALICE, bytes), ok);
    const later = await reopen();
    assertEquals(await later.open(ALICE, bytes), ok);
    assertEquals(await later.open(ALICE, bytes), ok);
    const second = await later.seal(ALICE, content);
    assertNotEquals(second.keyId, keyId);
    assertNotEquals(second.bytes, bytes);
  });
});

Deno.test("open() opens a long blob as it does a short one, when it is its turn", async () => {
  await withVault(async (vault, { reopen }) => {
    const content = sampleContent({ text: "tea ".repeat(20_000) });
    const { bytes, keyId } = await vault.seal(ALICE, content);
    const ok = { kind: "ok", value: content, keyId } as const;
    assertEquals(await vault.open(ALICE, bytes), ok);
    // A view of a larger buffer, as a store of blobs may give it.
    const larger = new Uint8Array(bytes.length + 20);
    larger.set(bytes, 10);
    const view = larger.subarray(10, 10 + bytes.length);
    const later = await reopen();
    let asks = 0;
    const pausing = { pause: () => void asks++ };
    assertEquals(await later.open(ALICE, view, { pausing }), ok);
    assertEquals(asks, 1);
    assertEquals(await later.open(BOB, bytes), GONE);
    for (const bit of [8 * 300, 8 * bytes.length - 1]) {
      assertEquals(await later.open(ALICE, flip(bytes, bit)), DAMAGED);
    }
    await later.destroy(ALICE, keyId);
    assertEquals(await later.open(ALICE, bytes), GONE);
  });
});

Deno.test("open() gives nobody else what was sealed", async () => {
  await withVault(async (vault, { reopen }) => {
    const { bytes } = await vault.seal(ALICE, sampleContent());
    assertEquals(await vault.open(BOB, bytes), GONE);
    const later = await reopen();
    assertEquals(await later.open(BOB, bytes), GONE);
    assertEquals(await later.open("", bytes), GONE);
  });
});

Deno.test("open() fails as damaged whatever bit is flipped", async () => {
  await withVault(async (vault) => {
    const { bytes } = await vault.seal(ALICE, sampleContent({ text: "tea" }));
    const index = await vault.sealIndex(ALICE, ENTRY);
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      assertEquals(await vault.open(ALICE, flip(bytes, bit)), DAMAGED);
    }
    for (let bit = 0; bit < index.length * 8; bit++) {
      assertEquals(await vault.openIndex(ALICE, flip(index, bit)), DAMAGED);
    }
  });
});

Deno.test("open() fails as damaged for what is cut, foreign or of another kind", async () => {
  await withVault(async (vault) => {
    const { bytes } = await vault.seal(ALICE, sampleContent());
    const index = await vault.sealIndex(ALICE, ENTRY);
    const random = new SeededRandom(2);
    for (
      const odd of [
        new Uint8Array(),
        bytes.subarray(0, bytes.length - 1),
        Uint8Array.of(...bytes, 0),
        random.bytes(500),
        index,
      ]
    ) {
      assertEquals(await vault.open(ALICE, odd), DAMAGED);
    }
    assertEquals(await vault.openIndex(ALICE, bytes), DAMAGED);
  });
});

Deno.test("open() leaves an envelope of a later program, or behind key servers, for later", async () => {
  await withVault(async (vault, { logger }) => {
    const { bytes } = await vault.seal(ALICE, sampleContent());
    for (const version of [2, 3]) {
      bytes[4] = version;
      const checkAt = 8 + (bytes[7] ?? 0);
      const digest = createHash("sha256").update(bytes.subarray(0, checkAt))
        .digest();
      bytes.set(digest.subarray(0, 4), checkAt);
      assertEquals(await vault.open(ALICE, bytes), {
        kind: "failed",
        why: "unavailable",
      });
    }
    assertEquals(logger.listMessages("warning"), [
      "Cannot open a memory: it is behind key servers (VAULT=key-servers)",
      "Cannot open an envelope: a later program sealed it",
    ]);
  });
});

Deno.test("openIndex() gives its owner the entry and nobody else", async () => {
  await withVault(async (vault, { reopen }) => {
    const bytes = await vault.sealIndex(ALICE, ENTRY);
    const later = await reopen();
    assertEquals(await later.openIndex(ALICE, bytes), {
      kind: "ok",
      value: ENTRY,
    });
    assertEquals(await later.openIndex(BOB, bytes), DAMAGED);
    const into = new Float32Array(ENTRY.vector.length);
    const opened = await later.openIndex(ALICE, bytes, { into });
    assertEquals([opened, into], [{ kind: "ok", value: ENTRY }, ENTRY.vector]);
    assert(opened.kind === "ok" && opened.value.vector === into);
  });
});

Deno.test("openIndex() opens long entries as it does short ones", async () => {
  const random = new SeededRandom(8);
  const entry: IndexEntry = {
    vector: Float32Array.from({ length: 1_536 }, () => random.next() - 0.5),
    model: "a model",
    metadata: { topic: "tea" },
    words: undefined,
  };
  await withVault(async (vault, { reopen }) => {
    const bytes = await vault.sealIndex(ALICE, entry);
    const ok = { kind: "ok", value: entry } as const;
    assertEquals(await vault.openIndex(ALICE, bytes), ok);
    const later = await reopen();
    assertEquals(
      await Promise.all([1, 2].map(() => later.openIndex(ALICE, bytes))),
      [ok, ok],
    );
    assertEquals(await later.openIndex(BOB, bytes), DAMAGED);
    for (let round = 0; round < 200; round++) {
      const odd = flip(bytes, random.below(bytes.length * 8));
      assertEquals(await later.openIndex(ALICE, odd), DAMAGED);
    }
  });
});

Deno.test("destroy() makes a blob impossible to open, for good", async () => {
  await withVault(async (vault, { reopen }) => {
    const first = await vault.seal(ALICE, sampleContent());
    const second = await vault.seal(ALICE, sampleContent());
    assertEquals(await vault.destroy(BOB, first.keyId), false);
    assertEquals((await vault.open(ALICE, first.bytes)).kind, "ok");
    assertEquals(await vault.destroy(ALICE, first.keyId), true);
    assertEquals(await vault.destroy(ALICE, first.keyId), false);
    assertEquals(await vault.open(ALICE, first.bytes), GONE);
    assertEquals((await vault.open(ALICE, second.bytes)).kind, "ok");
    const later = await reopen();
    assertEquals(await later.open(ALICE, first.bytes), GONE);
    assertEquals((await later.open(ALICE, second.bytes)).kind, "ok");
  });
});

Deno.test("destroy() leaves nothing of a key in the files", async () => {
  await withVault(async (vault, { dataFolder }) => {
    const random = new SeededRandom(4);
    const kept = new Map<string, Uint8Array>();
    const keep = async (owner: string): Promise<void> => {
      const { keyId } = await vault.seal(owner, sampleContent());
      kept.set(`${owner} ${keyId}`, wrappedKey(dataFolder, owner, keyId));
    };
    const destroyed: Uint8Array[] = [];
    for (let round = 0; round < 12; round++) {
      const owners = Array.from(
        { length: 60 },
        () => random.pick([ALICE, BOB]),
      );
      await Promise.all(owners.map(keep));
      const doomed = [...kept.keys()].filter(() => random.chance(0.4));
      await Promise.all(doomed.map(async (name) => {
        const [owner = "", keyId = ""] = name.split(" ");
        assertEquals(await vault.destroy(owner, keyId), true);
        const wrapped = kept.get(name);
        if (wrapped !== undefined) destroyed.push(wrapped);
        kept.delete(name);
      }));
    }
    const entries = await Array.fromAsync(Deno.readDir(dataFolder));
    const files = await Promise.all(
      entries.map(async ({ name }) =>
        (await Deno.readFile(`${dataFolder}/${name}`)).toHex()
      ),
    );
    assert(destroyed.length > 300);
    for (const wrapped of destroyed) {
      const secret = wrapped.subarray(-44).toHex();
      assert(!files.some((file) => file.includes(secret)));
    }
    // Shows that the search works: it finds a key that was not destroyed.
    const [alive] = kept.values();
    const there = alive?.subarray(-44).toHex() ?? "none";
    assert(files.some((file) => file.includes(there)));
  });
});

Deno.test("destroy() of a key that waits to be written comes after it", async () => {
  await withVault(async (vault) => {
    const [sealed] = await Promise.all([vault.seal(ALICE, sampleContent())]);
    const opening = vault.open(ALICE, sealed.bytes);
    const gone = vault.destroy(ALICE, sealed.keyId);
    assertEquals((await opening).kind, "ok");
    assertEquals(await gone, true);
    assertEquals(await vault.open(ALICE, sealed.bytes), GONE);
  });
});

Deno.test("seal() has the key in the file when it answers", async () => {
  await withVault(async (vault, { dataFolder }) => {
    const sealed = await Promise.all(
      Array.from({ length: 30 }, () => vault.seal(ALICE, sampleContent())),
    );
    for (const { keyId } of sealed) {
      assertEquals(wrappedKey(dataFolder, ALICE, keyId).length > 60, true);
    }
  });
});

Deno.test("seal() refuses when too many keys wait", async () => {
  await withVault(async (vault) => {
    const outcomes = await Promise.allSettled(
      [1, 2, 3].map(() => vault.seal(ALICE, sampleContent())),
    );
    assertEquals(outcomes.map(({ status }) => status), [
      "fulfilled",
      "fulfilled",
      "rejected",
    ]);
    const [, , last] = outcomes;
    assert(last?.status === "rejected");
    assert(last.reason instanceof StoreBusyError);
  }, { maxQueuedKeys: 2 });
});

Deno.test("a vault opens by a master key that was given an id since", async () => {
  const named = createMasterKey(MASTER.secret, "prod");
  await withVault(async (vault, { reopen }) => {
    const { bytes } = await vault.seal(ALICE, sampleContent());
    const later = await reopen({ masterKeys: [named] });
    assertEquals((await later.open(ALICE, bytes)).kind, "ok");
    const behind = await reopen({ masterKeys: [NEXT_MASTER, named] });
    assertEquals((await behind.open(ALICE, bytes)).kind, "ok");
  }, { masterKeys: [MASTER] });
});

Deno.test("a vault overwrites no key that its caller keeps", async () => {
  const masterKeys = [createMasterKey(MASTER.secret)];
  await withVault(async (vault, { reopen }) => {
    const { bytes } = await vault.seal(ALICE, sampleContent());
    const later = await reopen({ masterKeys });
    assertEquals((await later.open(ALICE, bytes)).kind, "ok");
  }, { masterKeys });
  assertEquals(masterKeys, [MASTER]);
});

Deno.test("open() works with fewer keys at hand than there are blobs", async () => {
  await withVault(async (vault) => {
    const texts = ["one", "two", "three", "four"];
    const sealed = await Promise.all(
      texts.map((text) => vault.seal(ALICE, sampleContent({ text }))),
    );
    for (let round = 0; round < 3; round++) {
      const opened = await Promise.all(
        sealed.map(({ bytes }) => vault.open(ALICE, bytes)),
      );
      assertEquals(
        opened.map((one) => one.kind === "ok" ? one.value.text : one.why),
        texts,
      );
    }
  }, { maxOpenKeys: 2 });
});

Deno.test("digest() is the same for the same owner and text only", async () => {
  await withVault(async (vault, { reopen }) => {
    const digest = await vault.digest(ALICE, "tea");
    assertEquals(digest.length, 64);
    assertNotEquals(await vault.digest(ALICE, "teas"), digest);
    assertNotEquals(await vault.digest(BOB, "tea"), digest);
    const plain = createHash("sha256").update("tea").digest("hex");
    assertNotEquals(digest, plain);
    const later = await reopen();
    assertEquals(await later.digest(ALICE, "tea"), digest);
  });
});

Deno.test("a new master key seals, old blobs open, and the old one can go", async () => {
  await withVault(async (vault, { reopen, dataFolder }) => {
    const old = await vault.seal(ALICE, sampleContent());
    const oldIndex = await vault.sealIndex(ALICE, ENTRY);
    const digest = await vault.digest(ALICE, "tea");
    const rotated = await reopen({ masterKeys: [NEXT_MASTER, MASTER] });
    const young = await rotated.seal(ALICE, sampleContent());
    const roots = [old, young].map(({ keyId }) =>
      readRootId(wrappedKey(dataFolder, ALICE, keyId))
    );
    assertNotEquals(roots[0], roots[1]);
    const without = await reopen({ masterKeys: [NEXT_MASTER] });
    for (const { bytes } of [old, young]) {
      assertEquals((await without.open(ALICE, bytes)).kind, "ok");
    }
    assertEquals((await without.openIndex(ALICE, oldIndex)).kind, "ok");
    assertEquals(await without.digest(ALICE, "tea"), digest);
    await assertRejects(
      () => reopen({ masterKeys: [MASTER] }),
      Error,
      "which is not among those given",
    );
    const back = await reopen({ masterKeys: [MASTER, NEXT_MASTER] });
    const { keyId } = await back.seal(ALICE, sampleContent());
    assertEquals(readRootId(wrappedKey(dataFolder, ALICE, keyId)), roots[0]);
  }, { masterKeys: [MASTER] });
});

Deno.test("start() refuses to make a master key beside keys of another", async () => {
  await withVault(async (vault, { dataFolder, reopen }) => {
    await vault.seal(ALICE, sampleContent());
    await vault.stop();
    await Deno.remove(`${dataFolder}/master.key`);
    await assertRejects(() => reopen(), Error, "restore it from its copy");
    await assertRejects(() => Deno.stat(`${dataFolder}/master.key`));
  });
});

Deno.test("start() refuses a damaged root key", async () => {
  await withVault(async (vault, { dataFolder, reopen }) => {
    await vault.stop();
    const db = new DatabaseSync(`${dataFolder}/keys.db`);
    db.exec("UPDATE roots SET wrapped = zeroblob(80)");
    db.close();
    await assertRejects(() => reopen(), Error, '"keys.db" is damaged');
  });
});

Deno.test("open() fails as damaged when the wrapped key was changed", async () => {
  await withVault(async (vault, { dataFolder, reopen }) => {
    const { bytes } = await vault.seal(ALICE, sampleContent());
    const other = await vault.seal(ALICE, sampleContent());
    await vault.stop();
    const db = new DatabaseSync(`${dataFolder}/keys.db`);
    db.prepare("UPDATE data_keys SET wrapped = ? WHERE key_id <> ?").run(
      wrappedKey(dataFolder, ALICE, other.keyId),
      other.keyId,
    );
    db.close();
    const later = await reopen();
    assertEquals(await later.open(ALICE, bytes), DAMAGED);
    assertEquals((await later.open(ALICE, other.bytes)).kind, "ok");
  });
});

Deno.test("a vault that is not started rejects", async () => {
  await withVault(async (vault) => {
    const { bytes, keyId } = await vault.seal(ALICE, sampleContent());
    await vault.stop();
    await vault.stop();
    for (
      const call of [
        () => vault.open(ALICE, bytes),
        () => vault.seal(ALICE, sampleContent()),
        () => vault.destroy(ALICE, keyId),
        () => vault.digest(ALICE, ""),
      ]
    ) {
      await assertRejects(call, Error, "it is not started");
    }
  });
});

function flip(bytes: Uint8Array, bit: number): Uint8Array {
  const flipped = bytes.slice();
  flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return flipped;
}

function wrappedKey(
  dataFolder: string,
  owner: string,
  keyId: string,
): Uint8Array {
  const db = new DatabaseSync(`${dataFolder}/keys.db`, { readOnly: true });
  try {
    const row = db.prepare(
      "SELECT wrapped FROM data_keys WHERE owner = ? AND key_id = ?",
    ).get(owner, keyId);
    const wrapped = row?.["wrapped"];
    assert(wrapped instanceof Uint8Array);
    return wrapped;
  } finally {
    db.close();
  }
}

/** The id of the root key that a wrapped key names. */
function readRootId(wrapped: Uint8Array): string {
  return new TextDecoder().decode(
    wrapped.subarray(8, 8 + (wrapped[7] ?? 0)),
  );
}
