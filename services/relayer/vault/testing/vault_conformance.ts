/**
 * Test cases that every implementation of {@linkcode RelayerVault} has to pass.
 *
 * @module
 */

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import type { OpenedBlob, RelayerVault, SealedBlob } from "../vault.ts";
import { finish } from "../../concurrency/testing/finish.ts";
import { memoryWordsSteps } from "../../recall/ranking/memory_words.ts";
import { sampleContent } from "./open_vault.ts";

const ALICE = `0x${"a1".repeat(32)}`;
const BOB = `0x${"b2".repeat(32)}`;
const ENTRY = {
  vector: Float32Array.of(0.25, -1, 0, 3e-8),
  model: "a model",
  metadata: { topic: "tea", rank: 2 },
  words: finish(memoryWordsSteps("Ann: Where is the green tea?")),
};

/** A vault that a case may start again. */
export interface ConformingVault {
  /** The vault as it is now. */
  readonly vault: () => RelayerVault;
  /**
   * Restarts the vault in the same folder, so that owners' blobs still open.
   */
  readonly restart: () => Promise<void>;
}

/** How a vault is opened for a case. */
export interface VaultConformance {
  /** The vault's name, which starts the titles of its tests. */
  readonly name: string;
  /** Registers a test. @default {Deno.test} */
  readonly test?: ((definition: Deno.TestDefinition) => void) | undefined;
  /** Opens a vault, runs `use` and removes the vault. */
  readonly withVault: (
    use: (subject: ConformingVault) => Promise<void>,
  ) => Promise<void>;
}

/** Seals and protects a content, as a blob is stored. */
async function keep(
  vault: RelayerVault,
  content = sampleContent(),
): Promise<SealedBlob> {
  const { bytes, keyId } = await vault.seal(ALICE, content);
  return { bytes: await vault.protect(ALICE, bytes), keyId };
}

function failed(why: "key_gone" | "damaged"): OpenedBlob {
  return { kind: "failed", why };
}

/** Registers the cases. */
export function testVault(
  { name, test = Deno.test, withVault }: VaultConformance,
): void {
  const add = (name: string, fn: () => Promise<void>): void =>
    test({ name, fn });
  add(
    `${name}: open() gives its owner what was kept, before it is protected and after a restart`,
    async () => {
      await withVault(async ({ vault, restart }) => {
        for (const text of ["tea", "tea ".repeat(20_000)]) {
          const content = sampleContent({ text, supersedes: "older" });
          const { bytes, keyId } = await vault().seal(ALICE, content);
          const ok = { kind: "ok", value: content, keyId } as const;
          assertEquals(await vault().open(ALICE, bytes), ok);
          const kept = await vault().protect(ALICE, bytes);
          assertEquals(await vault().open(ALICE, kept), ok);
          assertEquals(await vault().protect(ALICE, kept), kept);
          await restart();
          assertEquals(await vault().open(ALICE, kept), ok);
          assertEquals(await vault().open(BOB, kept), failed("key_gone"));
        }
      });
    },
  );

  add(
    `${name}: seal() makes another key and other bytes each time`,
    async () => {
      await withVault(async ({ vault }) => {
        const [first, second] = [await keep(vault()), await keep(vault())];
        assertNotEquals(first.keyId, second.keyId);
        assertNotEquals(first.bytes, second.bytes);
      });
    },
  );

  add(
    `${name}: destroy() makes one blob impossible to open, for good`,
    async () => {
      await withVault(async ({ vault, restart }) => {
        const [first, second] = [await keep(vault()), await keep(vault())];
        const before = await vault().memorySecret(ALICE, first.keyId);
        assert(await vault().destroy(ALICE, first.keyId));
        assertEquals(await vault().destroy(ALICE, first.keyId), false);
        assertEquals(await vault().destroy(BOB, second.keyId), false);
        assertEquals(await vault().memorySecret(ALICE, first.keyId), undefined);
        assertNotEquals(before?.length, 0);
        for (let round = 0; round < 2; round++) {
          assertEquals(
            await vault().open(ALICE, first.bytes),
            failed("key_gone"),
          );
          assertEquals((await vault().open(ALICE, second.bytes)).kind, "ok");
          await restart();
        }
      });
    },
  );

  add(
    `${name}: open() fails as damaged for what was cut or is no blob`,
    async () => {
      await withVault(async ({ vault }) => {
        const { bytes } = await keep(vault());
        const damaged = failed("damaged");
        for (const length of [0, 3, 20, bytes.length - 1]) {
          const cut = bytes.subarray(0, length);
          assertEquals(await vault().open(ALICE, cut), damaged, `${length}`);
        }
        const index = await vault().sealIndex(ALICE, ENTRY);
        assertEquals(await vault().open(ALICE, index), damaged);
      });
    },
  );

  add(
    `${name}: openPart() gives its owner a part of a snapshot, at its place alone`,
    async () => {
      await withVault(async ({ vault, restart }) => {
        const bytes = new Uint8Array(300_000).fill(7);
        const place = { name: "s-1", part: 3 };
        const sealed = await vault().sealPart(ALICE, bytes, place);
        await restart();
        assertEquals(await vault().openPart(ALICE, sealed, place), {
          kind: "ok",
          value: bytes,
        });
        const damaged = { kind: "failed", why: "damaged" } as const;
        for (const other of [{ name: "s-2" }, { part: 4 }]) {
          const elsewhere = { ...place, ...other };
          assertEquals(
            await vault().openPart(ALICE, sealed, elsewhere),
            damaged,
          );
        }
        assertEquals(
          (await vault().openPart(BOB, sealed, place)).kind,
          "failed",
        );
        const cut = sealed.subarray(0, sealed.length - 1);
        assertEquals(await vault().openPart(ALICE, cut, place), damaged);
        assertEquals((await vault().openIndex(ALICE, sealed)).kind, "failed");
        const entry = await vault().sealIndex(ALICE, ENTRY);
        assertEquals(await vault().openPart(ALICE, entry, place), damaged);
      });
    },
  );

  add(
    `${name}: openIndex() and digest() give its owner the same after a restart`,
    async () => {
      await withVault(async ({ vault, restart }) => {
        const sealed = await vault().sealIndex(ALICE, ENTRY);
        const digest = await vault().digest(ALICE, "tea");
        await restart();
        const words = vault().keepsWords ? ENTRY.words : undefined;
        assertEquals(await vault().openIndex(ALICE, sealed), {
          kind: "ok",
          value: { ...ENTRY, words },
        });
        assertEquals((await vault().openIndex(BOB, sealed)).kind, "failed");
        assertEquals(await vault().digest(ALICE, "tea"), digest);
        assertNotEquals(await vault().digest(BOB, "tea"), digest);
        assertNotEquals(await vault().digest(ALICE, "milk"), digest);
      });
    },
  );
}
