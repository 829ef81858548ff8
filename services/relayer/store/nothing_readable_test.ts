/**
 * Searches the relayer's files on disk for readable parts of memories.
 *
 * @module
 */

import { assert, assertEquals } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { finish } from "../concurrency/testing/finish.ts";
import { memoryWordsSteps } from "../recall/ranking/memory_words.ts";
import { FileBlobs } from "../blobs/file_blobs.ts";
import { LocalVault } from "../vault/local_vault.ts";
import type { BlobContent } from "../vault/vault.ts";
import { SqliteStore } from "./sqlite/sqlite_store.ts";
import { withFolder } from "./sqlite/testing/open_store.ts";
import {
  AGENT,
  ALICE,
  sampleJob,
  sampleMemory,
} from "./testing/sample_rows.ts";

const CONTENT: BlobContent = {
  id: "memory-1",
  namespace: "default",
  text: "Grandmother's Marzipanrezept stammt aus Lübeck: twelve almonds, " +
    "orange-blossom water and patience",
  createdAtMs: 1_800_000_000_000,
  agentId: AGENT,
  importance: 0.5,
  metadata: { cuisine: "konditorei", servings: 48_151_623, isSecret: true },
};
const MODEL = "text-embedding-of-nobody";
const VECTOR = Float32Array.from(
  { length: 1_536 },
  (_, at) => Math.sin(at + 1),
);

/** The words of the text that ranking keeps. */
const WORDS = finish(memoryWordsSteps(CONTENT.text));

/**
 * All parts of a memory that a reader of the disk could recognise, as bytes.
 */
function traces(): readonly Uint8Array[] {
  const words = CONTENT.text.split(/[^\p{L}]+/u)
    .filter((word) => word.length >= 5);
  assert(words.length >= 8);
  const metadata = Object.entries(CONTENT.metadata)
    .flatMap(([name, value]) => [name, String(value)])
    .filter((text) => text.length >= 5);
  const stems = [...WORDS.terms.keys()].filter((term) => term.length >= 5);
  assert(stems.includes("patienc"));
  const texts = [CONTENT.text, ...words, ...stems, ...metadata];
  const cases = texts.flatMap((text) => [
    text,
    text.toLowerCase(),
    text.toUpperCase(),
  ]);
  const encoder = new TextEncoder();
  return [
    ...cases.map((text) => encoder.encode(text)),
    ...cases.map((text) => encoder.encode(encoder.encode(text).toBase64())),
    ...cases.map(utf16),
    // Eight numbers of the vector, as they are in memory.
    new Uint8Array(VECTOR.slice(100, 108).buffer),
  ];
}

function utf16(text: string): Uint8Array {
  const units = Uint16Array.from(text, (letter) => letter.charCodeAt(0));
  return new Uint8Array(units.buffer);
}

async function filesUnder(folder: string): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) {
      for (const entry of await filesUnder(path)) files.set(...entry);
    } else files.set(path, latin1(await Deno.readFile(path)));
  }
  return files;
}

/** A character for each byte, so that bytes are searched as text is. */
function latin1(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8_192) {
    text += String.fromCharCode(...bytes.subarray(at, at + 8_192));
  }
  return text;
}

function holders(files: Map<string, string>, trace: Uint8Array): string[] {
  const wanted = latin1(trace);
  return [...files].filter(([, text]) => text.includes(wanted))
    .map(([path]) => path);
}

Deno.test("a data folder holds no text, word, vector or metadata in the clear", async () => {
  await withFolder(async (dataFolder) => {
    const [clock, logger] = [new FakeClock(), new RecordingLogger()];
    const store = new SqliteStore({ dataFolder, clock, logger });
    const vault = new LocalVault({ dataFolder, clock, logger });
    const blobs = new FileBlobs({ folder: `${dataFolder}/blobs`, logger });
    const parts = [store, vault, blobs];
    for (const part of parts) await part.start();
    try {
      const { bytes, keyId } = await vault.seal(ALICE, CONTENT);
      const fingerprint = await vault.digest(ALICE, CONTENT.text);
      await store.commit([
        { kind: "new_job", job: sampleJob({ payload: bytes, keyId }) },
        {
          kind: "claim_key",
          claim: {
            owner: ALICE,
            key: await vault.digest(ALICE, "a client's key"),
            fingerprint,
            jobIds: ["job-1"],
            expiresAtMs: clock.nowMs() + 1_000,
          },
        },
      ]);
      const atAccept = await filesUnder(dataFolder);
      const blobId = await blobs.put(bytes);
      const { metadata } = CONTENT;
      const sealedIndex = await vault.sealIndex(ALICE, {
        vector: VECTOR,
        model: MODEL,
        ...{ metadata, words: WORDS },
      });
      const outcome = await store.commit([
        {
          kind: "new_memory",
          memory: sampleMemory({ blobId, keyId, sealedIndex }),
        },
        {
          kind: "job",
          owner: ALICE,
          id: "job-1",
          expectedVersion: 1,
          patch: { status: "uploaded", blobId, payload: null },
        },
      ]);
      assertEquals(outcome, { kind: "ok" });
      const atUpload = await filesUnder(dataFolder);
      for (const part of parts) await part.stop();
      const atStop = await filesUnder(dataFolder);
      for (const files of [atAccept, atUpload, atStop]) {
        for (const trace of traces()) assertEquals(holders(files, trace), []);
      }
      // Shows that the search works: it finds what may be on disk.
      assert(atAccept.size >= 5);
      for (const files of [atUpload, atStop]) {
        assert(holders(files, new TextEncoder().encode(ALICE)).length >= 2);
        assert(holders(files, bytes.subarray(-40)).length >= 1);
      }
    } finally {
      for (const part of parts) await part.stop();
    }
    const opened = [store, vault].map((part) => part.start());
    await Promise.all(opened);
    const [row] = await store.memories(ALICE, ["memory-1"]);
    assert(row !== undefined);
    assertEquals(await vault.openIndex(ALICE, row.sealedIndex), {
      kind: "ok",
      value: {
        ...{ vector: VECTOR, model: MODEL, metadata: CONTENT.metadata },
        words: WORDS,
      },
    });
    await vault.stop();
    await store.stop();
  });
});
