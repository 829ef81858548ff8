/**
 * A memory read back from its blob.
 *
 * @module
 */

import type { CatalogEntry } from "../blobs/blob_catalog.ts";
import type { Pausing } from "../../shared/slices.ts";
import type { BlobOutcome } from "../blobs/blob_store.ts";
import type { Metadata, RelayerVault } from "../vault/vault.ts";

/** What is known of a memory whose row is lost. */
export interface LostMemory {
  /** What the catalogue says. */
  readonly entry: CatalogEntry;
  /** The blob. */
  readonly bytes: Uint8Array;
  /** Its text; absent when only the client can open the blob. */
  readonly text?: string;
  /** The key that opened the blob; absent when only the client can. */
  readonly keyId?: string;
  /** Its vector; absent when one is to be made of the text. */
  readonly vector?: Float32Array;
  /** When it was written, in milliseconds since the epoch. */
  readonly createdAtMs: number;
  /** The public key of the delegate that wrote it. */
  readonly agentId: string;
  /** How much it matters; null when nobody said. */
  readonly importance: number | null;
  /** What the client says of it. */
  readonly metadata: Metadata;
  /** The memory whose place it takes. */
  readonly supersedes?: string;
}

/** What reading comes to. */
export type ReadLost =
  | { readonly kind: "ok"; readonly memory: LostMemory }
  /** It can never be restored by this relayer as it is set up. */
  | {
    readonly kind: "lost";
    readonly entry: CatalogEntry;
    readonly why: string;
    /** Whether no other set-up can either, so that it need not be tried again. */
    readonly isNoted: boolean;
  }
  /** It may be another time. */
  | { readonly kind: "later"; readonly why: string };

/** Options of {@linkcode readLost}. */
export interface ReadLostOptions {
  /** Opens blobs. */
  readonly vault: Pick<RelayerVault, "open" | "openIndex">;
  /** How wide vectors have to be. */
  readonly width: number;
  /**
   * Asked before a long blob is read.
   *
   * @default it is read as soon as it is opened
   */
  readonly pausing?: Pausing | undefined;
}

/** Opens what can be opened of what a blob store gave. */
export async function readLost(
  { entry, blob }: {
    readonly entry: CatalogEntry;
    readonly blob: BlobOutcome;
  },
  options: ReadLostOptions,
): Promise<ReadLost> {
  const { vault, pausing } = options;
  if (blob.kind === "missing") return lost(entry, "missing");
  if (blob.kind === "unavailable") return { kind: "later", why: "unavailable" };
  const { bytes } = blob;
  if (entry.sealedIndex !== undefined) {
    return await readManual({ ...entry, sealedIndex: entry.sealedIndex }, {
      ...options,
      bytes,
    });
  }
  const opened = await vault.open(entry.owner, bytes, { pausing });
  if (opened.kind === "failed") {
    return opened.why === "unavailable"
      ? { kind: "later", why: "unavailable" }
      : lost(entry, opened.why);
  }
  const { id, namespace, ...content } = opened.value;
  if (id !== entry.memoryId || namespace !== entry.namespace) {
    return lost(entry, "damaged");
  }
  const { keyId } = opened;
  return { kind: "ok", memory: { entry, bytes, keyId, ...content } };
}

/** A blob that only the client opens comes back with the vector it brought. */
async function readManual(
  entry: CatalogEntry & { readonly sealedIndex: Uint8Array },
  options: ReadLostOptions & { readonly bytes: Uint8Array },
): Promise<ReadLost> {
  const { vault, width, bytes } = options;
  const opened = await vault.openIndex(entry.owner, entry.sealedIndex);
  if (opened.kind === "failed") {
    return opened.why === "unavailable"
      ? { kind: "later", why: "unavailable" }
      : lost(entry, opened.why);
  }
  const { vector, metadata } = opened.value;
  if (vector.length !== width) {
    return { kind: "lost", entry, why: "other_width", isNoted: false };
  }
  const { createdAtMs, agentId, importance = null } = entry;
  const { supersedes } = entry;
  return {
    kind: "ok",
    memory: {
      entry,
      bytes,
      vector,
      createdAtMs,
      agentId,
      importance,
      metadata,
      ...(supersedes === undefined ? {} : { supersedes }),
    },
  };
}

function lost(entry: CatalogEntry, why: string): ReadLost {
  return { kind: "lost", entry, why, isNoted: true };
}
