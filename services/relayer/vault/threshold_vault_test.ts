import {
  assert,
  assertEquals,
  assertNotEquals,
  assertRejects,
} from "@std/assert";
import { bls12_381 } from "@noble/curves/bls12-381.js";
import { BcsWriter } from "../../../sdk/vault/bcs.ts";
import { encryptForIdentity } from "../../../sdk/vault/threshold_encryption.ts";
import {
  keyIdOfBlob,
  readOwnerKeyBlob,
  writeOwnerKeyBlob,
} from "./owner_key_blob.ts";
import { sampleContent } from "./testing/open_vault.ts";
import { ThresholdWorld } from "./testing/threshold_world.ts";
import type { OpenedBlob, OpenFailure } from "./vault.ts";
import { countRounds } from "../../../tests/support/rounds.ts";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";

const ALICE = `0x${"a1".repeat(32)}`;
const BOB = `0x${"b2".repeat(32)}`;
const DAY_MS = 86_400_000;

function failed(why: OpenFailure): OpenedBlob {
  return { kind: "failed", why };
}

/** The owner's encrypted key that is in a blob, in hexadecimal digits. */
function keyIn(bytes: Uint8Array): string {
  return readOwnerKeyBlob(bytes)?.ownerKey.toHex() ?? "none";
}

Deno.test("open() gives what was sealed, from a cold start with a session only", async () => {
  await ThresholdWorld.with(async (world) => {
    const content = sampleContent();
    const { bytes, keyId } = await world.seal(ALICE, content);
    const ok = { kind: "ok", value: content, keyId } as const;
    assertEquals(await world.vault.open(ALICE, bytes), ok);
    assertEquals(world.requests, 0);
    await world.restart();
    const { vault } = world;
    assertEquals(await vault.open(ALICE, bytes), failed("session_required"));
    await world.signIn(BOB);
    assertEquals(await vault.open(ALICE, bytes), failed("session_required"));
    await world.signIn(ALICE);
    assertEquals(await vault.open(ALICE, bytes), ok);
    assertEquals(await vault.open(BOB, bytes), failed("key_gone"));
  });
});

Deno.test("open() asks the key servers once for ten memories and those of a longer text", async () => {
  await ThresholdWorld.with(async (world) => {
    const contents = Array.from({ length: 10 }, (_, at) =>
      sampleContent({
        id: `memory-${at}`,
        text: at === 9 ? "tea ".repeat(20_000) : `tea ${at}`,
      }));
    const sealed = [];
    for (const content of contents) {
      sealed.push(await world.seal(ALICE, content));
    }
    assertEquals(new Set(sealed.map(({ bytes }) => keyIn(bytes))).size, 1);
    await world.restart();
    await world.signIn(ALICE);
    const opened = await Promise.all(
      sealed.map(({ bytes }) => world.vault.open(ALICE, bytes)),
    );
    assertEquals(
      opened.map((outcome) => outcome.kind === "ok" ? outcome.value : outcome),
      contents,
    );
    assertEquals(world.requests, 3);
  });
});

Deno.test("open() costs a cold owner two pairings, and those it does not need none", async () => {
  const counted = countPairings();
  try {
    await ThresholdWorld.with(async (world) => {
      const blobs: Uint8Array[] = [];
      for (let at = 0; at < 10; at++) {
        const content = sampleContent({ id: `memory-${at}` });
        blobs.push((await world.seal(ALICE, content)).bytes);
      }
      await world.restart();
      await world.signIn(ALICE);
      const openAll = async () => {
        const before = counted.pairings();
        for (const bytes of blobs) {
          assertEquals((await world.vault.open(ALICE, bytes)).kind, "ok");
        }
        return counted.pairings() - before;
      };
      const cold = await openAll();
      // Two pairings open the key. The three key servers run in this process
      // and check the request with one pairing each.
      assertEquals(cold, 2 + 3);
      assertEquals(await openAll(), 0);
    });
  } finally {
    counted.end();
  }
});

Deno.test("destroy() destroys one memory, also for who has its owner's key", async () => {
  await ThresholdWorld.with(async (world) => {
    const { vault } = world;
    const content = sampleContent();
    const first = await world.seal(ALICE, content);
    const second = await world.seal(ALICE, content);
    assert(await vault.destroy(ALICE, first.keyId));
    assertEquals(await vault.open(ALICE, first.bytes), failed("key_gone"));
    assertEquals((await vault.open(ALICE, second.bytes)).kind, "ok");
    await world.restart();
    // This needs no session and asks no key server.
    const gone = await world.vault.open(ALICE, first.bytes);
    assertEquals(gone, failed("key_gone"));
    await world.signIn(ALICE);
    assertEquals(await world.vault.open(ALICE, first.bytes), gone);
    assertEquals(world.requests, 0);
  });
});

Deno.test("open() keeps a secret that two are told at the same time, as when both restore", async () => {
  await ThresholdWorld.with(async (world) => {
    const content = sampleContent();
    const { bytes, keyId } = await world.seal(ALICE, content);
    const memorySecret = await world.vault.memorySecret(ALICE, keyId);
    // The memory's secret on this machine is lost.
    await world.vault.destroy(ALICE, keyId);
    assertEquals(await world.vault.open(ALICE, bytes), failed("key_gone"));
    const ok = { kind: "ok", value: content, keyId } as const;
    const open = () => world.vault.open(ALICE, bytes, { memorySecret });
    assertEquals(await Promise.all([open(), open()]), [ok, ok]);
    assertEquals(await world.vault.open(ALICE, bytes), ok);
  });
});

Deno.test("open() tells key servers that are away from those that refuse", async () => {
  await ThresholdWorld.with(async (world) => {
    const { bytes } = await world.seal(ALICE, sampleContent());
    await world.restart();
    const address = await world.signIn(ALICE);
    world.servers.setFault(0, "down");
    world.servers.setFault(1, "failing");
    assertEquals(
      await world.vault.open(ALICE, bytes),
      failed("key_servers_away"),
    );
    world.servers.setFault(1, "false keys");
    assertEquals(
      await world.vault.open(ALICE, bytes),
      failed("key_servers_away"),
    );
    world.servers.setFault(1, undefined);
    world.removed.add(address);
    assertEquals(await world.vault.open(ALICE, bytes), failed("refused"));
    // The delegate is admitted again; a single server that is down does no
    // harm.
    world.removed.clear();
    assertEquals((await world.vault.open(ALICE, bytes)).kind, "ok");
  });
});

Deno.test("open() needs a new session when the one it has is ending", async () => {
  await ThresholdWorld.with(async (world) => {
    const { bytes } = await world.seal(ALICE, sampleContent());
    await world.restart();
    await world.signIn(ALICE);
    await world.clock.advance(9 * 60_000 + 55_000);
    assertEquals(
      await world.vault.open(ALICE, bytes),
      failed("session_required"),
    );
    await world.signIn(ALICE);
    assertEquals((await world.vault.open(ALICE, bytes)).kind, "ok");
  });
});

Deno.test("open() opens though another delegate's session comes while the ledger is asked", async () => {
  await ThresholdWorld.with(async (world) => {
    const content = sampleContent();
    const { bytes, keyId } = await world.seal(ALICE, content);
    await world.restart();
    await world.signIn(ALICE, 7);
    world.onAccount = () => world.signIn(ALICE, 8);
    const ok = { kind: "ok", value: content, keyId } as const;
    assertEquals(await world.vault.open(ALICE, bytes), ok);
  });
});

Deno.test("protect() makes a new owner's key when access was taken away, and after 30 days if it is open", async () => {
  await ThresholdWorld.with(async (world) => {
    const seal = async () => (await world.seal(ALICE, sampleContent())).bytes;
    const isOpen = async (bytes: Uint8Array) =>
      (await world.vault.open(ALICE, bytes)).kind === "ok";
    const first = await seal();
    assertEquals(keyIn(await seal()), keyIn(first));
    world.accessCounter = 1n;
    const second = await seal();
    assertNotEquals(keyIn(second), keyIn(first));
    await world.clock.advance(30 * DAY_MS - 1);
    await world.signIn(ALICE);
    assert(await isOpen(second));
    assertEquals(keyIn(await seal()), keyIn(second));
    await world.clock.advance(1);
    const third = await seal();
    assertNotEquals(keyIn(third), keyIn(second));
    // The key is not open, for the owner only writes, so it is not replaced: it
    // could not be linked to a new one.
    await world.clock.advance(60 * DAY_MS);
    assertEquals(keyIn(await seal()), keyIn(third));
    await world.signIn(ALICE);
    for (const bytes of [first, second, third]) assert(await isOpen(bytes));
  });
});

Deno.test("protect() makes a new owner's key for other key servers, and open() opens both as long as enough of the earlier ones are left", async () => {
  await ThresholdWorld.with(async (world) => {
    const { bytes: first } = await world.seal(ALICE, sampleContent());
    const [one, two, , four] = world.servers.keyServers;
    assert(one !== undefined && two !== undefined && four !== undefined);
    world.keyServers = [one, two, four];
    await world.restart();
    const { bytes: second } = await world.seal(ALICE, sampleContent());
    assertNotEquals(keyIn(second), keyIn(first));
    assertEquals(
      keyIn((await world.seal(ALICE, sampleContent())).bytes),
      keyIn(second),
    );
    await world.signIn(ALICE);
    for (const bytes of [first, second]) {
      assertEquals((await world.vault.open(ALICE, bytes)).kind, "ok");
    }
    world.keyServers = [two, four];
    await world.restart();
    await world.signIn(ALICE);
    // The key is linked to the newer one, which two of three servers still
    // open.
    assertEquals((await world.vault.open(ALICE, first)).kind, "ok");
  });
});

Deno.test("open() asks those key servers that a key was encrypted for, whichever of those set answers first", async () => {
  await ThresholdWorld.with(async (world) => {
    const { bytes } = await world.seal(ALICE, sampleContent());
    const [one, two, , four] = world.servers.keyServers;
    assert(one !== undefined && two !== undefined && four !== undefined);
    world.keyServers = [four, one, two];
    await world.restart();
    world.servers.setFault(0, "failing");
    await world.signIn(ALICE);
    assertEquals(
      await world.vault.open(ALICE, bytes),
      failed("key_servers_away"),
    );
    assertEquals(world.servers.requests[3], 0);
    world.servers.setFault(0, undefined);
    assertEquals((await world.vault.open(ALICE, bytes)).kind, "ok");
    assertEquals(world.servers.requests[3], 0);
  });
});

Deno.test("open() asks for the newest of an owner's keys alone, once it was open with the others", async () => {
  await ThresholdWorld.with(async (world) => {
    const blobs: Uint8Array[] = [];
    for (const counter of [0n, 1n, 2n, 3n]) {
      world.accessCounter = counter;
      blobs.push((await world.seal(ALICE, sampleContent())).bytes);
    }
    for (const order of [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]]) {
      await world.restart();
      await world.signIn(ALICE);
      const before = world.requests;
      for (const at of order) {
        const bytes = blobs[at] ?? new Uint8Array();
        assertEquals((await world.vault.open(ALICE, bytes)).kind, "ok");
      }
      assertEquals(world.requests - before, 3);
    }
  });
});

Deno.test("protect() goes on with the key that is kept after a restart, without a session", async () => {
  await ThresholdWorld.with(async (world) => {
    const { bytes } = await world.seal(ALICE, sampleContent());
    for (let restart = 0; restart < 3; restart++) {
      await world.restart();
      const later = await world.seal(ALICE, sampleContent());
      assertEquals(keyIn(later.bytes), keyIn(bytes));
    }
    world.isLedgerAway = true;
    const last = await world.seal(ALICE, sampleContent());
    assertEquals(keyIn(last.bytes), keyIn(bytes));
    await assertRejects(
      () => world.seal(BOB, sampleContent()),
      Error,
      "Cannot seal: the ledger does not answer",
    );
    world.isLedgerAway = false;
    await world.signIn(ALICE);
    assertEquals((await world.vault.open(ALICE, last.bytes)).kind, "ok");
    // Opened keys are dropped after half an hour.
    await world.clock.advance(30 * 60_000);
    assertEquals(
      await world.vault.open(ALICE, last.bytes),
      failed("session_required"),
    );
  });
});

Deno.test("protect() makes one key for requests at the same time, and forgets the oldest owners'", async () => {
  await ThresholdWorld.with(async (world) => {
    const [first, second] = await Promise.all([
      world.seal(ALICE, sampleContent()),
      world.seal(ALICE, sampleContent()),
    ]);
    assertEquals(keyIn(first.bytes), keyIn(second.bytes));
    await world.seal(BOB, sampleContent());
    assertEquals(
      await world.vault.open(ALICE, first.bytes),
      failed("session_required"),
    );
  }, { maxOwners: 1 });
});

Deno.test("protect() takes what was sealed before a restart, without a session, and destroys nothing", async () => {
  await ThresholdWorld.with(async (world) => {
    const content = sampleContent({ text: "tea ".repeat(20_000) });
    const { bytes, keyId } = await world.vault.seal(ALICE, content);
    await world.restart();
    const ok = { kind: "ok", value: content, keyId } as const;
    assertEquals(await world.vault.open(ALICE, bytes), ok);
    const kept = await world.vault.protect(ALICE, bytes);
    assertEquals(keyIdOfBlob(kept), keyId);
    assertEquals(await world.vault.protect(ALICE, kept), kept);
    assertEquals(await world.vault.open(ALICE, kept), ok);
    await world.restart();
    assertEquals(
      await world.vault.open(ALICE, kept),
      failed("session_required"),
    );
    await world.signIn(ALICE);
    assertEquals(await world.vault.open(ALICE, kept), ok);
  });
});

Deno.test("protect() gives what it cannot open back as it is", async () => {
  await ThresholdWorld.with(async ({ vault }) => {
    const { bytes, keyId } = await vault.seal(ALICE, sampleContent());
    assertEquals(await vault.protect(BOB, bytes), bytes);
    const foreign = new Uint8Array(100);
    assertEquals(await vault.protect(ALICE, foreign), foreign);
    await vault.destroy(ALICE, keyId);
    assertEquals(await vault.protect(ALICE, bytes), bytes);
    assertEquals(await vault.open(ALICE, bytes), failed("key_gone"));
  });
});

Deno.test("keyIdOfBlob() names the key of blobs of both versions, so that deleting finds it", async () => {
  await ThresholdWorld.with(async (world) => {
    const { bytes, keyId } = await world.seal(ALICE, sampleContent());
    assertEquals(keyIdOfBlob(bytes), keyId);
    assertEquals(keyIdOfBlob(bytes.subarray(0, 100)), undefined);
    assertEquals(keyIdOfBlob(new Uint8Array(100)), undefined);
    await world.vault.stop();
    const local = world.local();
    await local.start();
    const older = await local.seal(ALICE, sampleContent());
    assertEquals(keyIdOfBlob(older.bytes), older.keyId);
    await local.stop();
  });
});

Deno.test("open() opens what the local vault has sealed, and that opens nothing of this one", async () => {
  await ThresholdWorld.with(async (world) => {
    const { bytes } = await world.seal(ALICE, sampleContent());
    await world.vault.stop();
    const local = world.local();
    await local.start();
    assertEquals(await local.open(ALICE, bytes), failed("unavailable"));
    const { body } = readOwnerKeyBlob(bytes) ?? { body: bytes };
    assertEquals(await local.open(ALICE, body), failed("damaged"));
    const older = await local.seal(ALICE, sampleContent());
    await local.stop();
    await world.restart();
    const opened = await world.vault.open(ALICE, older.bytes);
    assertEquals(opened.kind, "ok");
    assertEquals(world.requests, 0);
  });
});

Deno.test("open() opens no blob in which a byte was changed or that was cut", async () => {
  await ThresholdWorld.with(async (world) => {
    const { vault } = world;
    const { bytes } = await world.seal(ALICE, sampleContent());
    await world.signIn(ALICE);
    const random = new SeededRandom(15);
    const rounds = countRounds(8);
    for (let round = 0; round < rounds; round++) {
      const changed = bytes.slice();
      // A byte of each part of the blob, however few rounds there are.
      const at = Math.floor((round + random.next()) / rounds * bytes.length);
      changed[at] = (changed[at] ?? 0) ^ (1 + Math.floor(random.next() * 255));
      const opened = await vault.open(ALICE, changed);
      assertEquals(opened.kind, "failed", `byte ${at}`);
      const cut = bytes.subarray(0, Math.floor(random.next() * bytes.length));
      assertEquals((await vault.open(ALICE, cut)).kind, "failed");
    }
  });
});

Deno.test("protect() uses no key that a stranger has encrypted for the owner", async () => {
  await ThresholdWorld.with(async (world) => {
    const own = await world.seal(ALICE, sampleContent());
    await world.restart();
    await world.signIn(ALICE);
    // Everybody can encrypt a key with the public keys, and who stores the
    // blobs can put it before a body.
    const id = new BcsWriter().address(ALICE).u64(0n).toBytes();
    const planted = await encryptForIdentity({
      keyServers: world.servers.keyServers,
      threshold: 2,
      packageId: world.packageId,
      id,
      data: new Uint8Array(32),
    });
    const parts = readOwnerKeyBlob(own.bytes);
    assert(parts !== undefined);
    const forge = (ownerKey: Uint8Array) =>
      writeOwnerKeyBlob(own.keyId, { ...parts, ownerKey });
    const forged = forge(planted);
    assertEquals(await world.vault.open(ALICE, forged), failed("damaged"));
    const next = await world.seal(ALICE, sampleContent());
    assertNotEquals(keyIn(next.bytes), planted.toHex());
    // Another owner's key before this owner's body.
    const bobs = await world.seal(BOB, sampleContent());
    const ownerKey = readOwnerKeyBlob(bobs.bytes)?.ownerKey ?? planted;
    assertEquals(
      await world.vault.open(ALICE, forge(ownerKey)),
      failed("key_gone"),
    );
    // An encrypted key that is too short.
    const short = await encryptForIdentity({
      keyServers: world.servers.keyServers,
      threshold: 2,
      packageId: world.packageId,
      id,
      data: new Uint8Array(5),
    });
    assertEquals(
      await world.vault.open(ALICE, forge(short)),
      failed("damaged"),
    );
    assertEquals((await world.vault.open(ALICE, own.bytes)).kind, "ok");
  });
});

Deno.test("open() does not wait for a silent key server when the others have answered", async () => {
  await ThresholdWorld.with(async (world) => {
    const { bytes } = await world.seal(ALICE, sampleContent());
    await world.restart();
    await world.signIn(ALICE);
    world.servers.setFault(2, "silent");
    assertEquals((await world.vault.open(ALICE, bytes)).kind, "ok");
  });
});

Deno.test("take() takes no session of another address, package or time, and no other text", async () => {
  await ThresholdWorld.with(async (world) => {
    const take = async (header: string, address: string) =>
      await world.keys.sessions.take(ALICE, header, { address });
    const { address, header } = await world.session();
    const other = await world.session({ seed: 8 });
    assertEquals(await take(other.header, address), {
      kind: "invalid",
      reason: "Cannot take session: it is of another address than the request",
    });
    const elsewhere = await world.session({ packageId: BOB });
    assertEquals((await take(elsewhere.header, address)).kind, "invalid");
    for (const text of ["", "e30=", "\u0000", "A".repeat(100_000)]) {
      assertEquals((await take(text, address)).kind, "invalid");
    }
    // The other delegate's signature with this delegate's address.
    const stolen = JSON.parse(atob(other.header));
    const forged = btoa(JSON.stringify({ ...stolen, address }));
    assertEquals((await take(forged, address)).kind, "invalid");
    await world.clock.advance(10 * 60_000);
    assertEquals((await take(header, address)).kind, "expired");
  });
});

/**
 * Counts pairings by calls of a function, of which each pairing makes as many.
 */
function countPairings(): {
  readonly pairings: () => number;
  readonly end: () => void;
} {
  const field = Object.getPrototypeOf(bls12_381.fields.Fp12);
  const original = field.div;
  let steps = 0;
  field.div = function (...args: unknown[]) {
    steps++;
    return original.apply(this, args);
  };
  const { G1, G2 } = bls12_381;
  bls12_381.pairing(G1.Point.BASE, G2.Point.BASE);
  const perPairing = steps;
  assert(perPairing > 0);
  return {
    pairings: () => steps / perPairing,
    end: () => void (field.div = original),
  };
}
