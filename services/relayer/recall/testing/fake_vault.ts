/**
 * A vault that encodes and does not encrypt, for tests of recall.
 *
 * @module
 */

import {
  decodeIndexEntry,
  encodeIndexEntry,
} from "../../vault/sealed_content.ts";
import type {
  BlobContent,
  IndexEntry,
  Opened,
  OpenedBlob,
  OpenFailure,
  SealedBlob,
} from "../../vault/vault.ts";

/** Encrypts nothing, but fails as a vault may. */
export class FakeVault {
  /** Whether entries keep their words; a test may set it. */
  keepsWords = true;
  /** Keys that are gone. */
  readonly destroyed = new Set<string>();
  /** Why opening a blob fails, by the id of its memory. */
  readonly failures = new Map<string, OpenFailure>();
  /** Why opening any entry fails; undefined where none does. */
  indexFailure: OpenFailure | undefined;
  /** Called before a blob is opened. */
  beforeOpen: (id: string) => void | Promise<void> = () => {};

  /** Encodes a blob's content as JSON. */
  seal(owner: string, content: BlobContent): SealedBlob {
    const keyId = `key-${content.id}`;
    return { keyId, bytes: encoded({ owner, keyId, content }) };
  }

  /** Ids of memories whose keys were asked for, and that were opened. */
  readonly calls: string[] = [];

  /** Notes the memory. */
  prepare(_owner: string, bytes: Uint8Array): Promise<void> {
    this.calls.push(`prepare ${parseSealed(bytes)?.content.id}`);
    return Promise.resolve();
  }

  /** Opens a blob. */
  async open(owner: string, bytes: Uint8Array): Promise<OpenedBlob> {
    const sealed = parseSealed(bytes);
    if (sealed === undefined) return { kind: "failed", why: "damaged" };
    this.calls.push(`open ${sealed.content.id}`);
    await this.beforeOpen(sealed.content.id);
    const why = this.failures.get(sealed.content.id);
    if (why !== undefined) return { kind: "failed", why };
    return sealed.owner !== owner || this.destroyed.has(sealed.keyId)
      ? { kind: "failed", why: "key_gone" }
      : { kind: "ok", value: sealed.content, keyId: sealed.keyId };
  }

  /** Destroys a key. */
  destroy(_owner: string, keyId: string): Promise<boolean> {
    const wasThere = !this.destroyed.has(keyId);
    this.destroyed.add(keyId);
    return Promise.resolve(wasThere);
  }

  /** Seals vector and metadata, and words where it keeps them. */
  sealIndex(owner: string, entry: IndexEntry): Promise<Uint8Array> {
    const words = this.keepsWords ? entry.words : undefined;
    const sealed = encodeIndexEntry({ ...entry, words }).toBase64();
    return Promise.resolve(encoded({ owner, entry: sealed }));
  }

  /** Opens vector and metadata. */
  openIndex(owner: string, bytes: Uint8Array): Promise<Opened<IndexEntry>> {
    const sealed: { owner: string; entry: string } = JSON.parse(
      new TextDecoder().decode(bytes),
    );
    const value = decodeIndexEntry(Uint8Array.fromBase64(sealed.entry));
    const why = this.indexFailure ??
      (sealed.owner === owner ? undefined : "key_gone");
    return Promise.resolve(
      why !== undefined || value === undefined
        ? { kind: "failed", why: why ?? "damaged" }
        : { kind: "ok", value },
    );
  }
}

interface Sealed {
  readonly owner: string;
  readonly keyId: string;
  readonly content: BlobContent;
}

function encoded(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

function parseSealed(bytes: Uint8Array): Sealed | undefined {
  const text = new TextDecoder().decode(bytes);
  return text.startsWith('{"owner"') ? JSON.parse(text) : undefined;
}
