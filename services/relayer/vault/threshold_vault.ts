/**
 * A vault whose blobs open with the help of key servers only. A memory's key is
 * derived from its owner's key, which only a threshold of key servers gives
 * back ({@linkcode OwnerKeys}), and from a secret of this memory, which is on
 * this machine (memory_key.ts). Index entries and digests are left to the local
 * vault, and so are blobs that the local vault has sealed: they stay readable.
 *
 * @module
 */

import type { DataKeys } from "./data_keys.ts";
import { KEY_BYTES } from "./envelope.ts";
import { readEnvelope } from "./envelope_head.ts";
import type { LocalVault } from "./local_vault.ts";
import { openingKeyFor, sealingKeyFor } from "./memory_key.ts";
import {
  keyIdOfBlob,
  readOwnerKeyBlob,
  writeOwnerKeyBlob,
} from "./owner_key_blob.ts";
import type { OwnerKeys } from "./owner_keys.ts";
import { openBlob, sealBlob } from "./sealed_blob.ts";
import { encodeContent } from "./sealed_content.ts";
import type {
  BlobContent,
  IndexEntry,
  Opened,
  OpenedBlob,
  OpenFailure,
  OpenIndexOptions,
  OpenOptions,
  PartPlace,
  RelayerVault,
  SealedBlob,
} from "./vault.ts";

/** The parts of a {@linkcode ThresholdVault}. */
interface ThresholdVaultParts {
  /** Keeps the memories' secrets; started and stopped with this vault. */
  readonly local: LocalVault;
  /** Makes and opens the owners' keys; stopped with this vault. */
  readonly ownerKeys: OwnerKeys;
}

/** A vault whose blobs open with the help of key servers only. */
export class ThresholdVault implements RelayerVault {
  /**
   * Index entries have no words, so that no text is readable in the data
   * folder.
   */
  readonly keepsWords = false;
  readonly #local: LocalVault;
  readonly #ownerKeys: OwnerKeys;

  /** A vault that is not started. */
  constructor({ local, ownerKeys }: ThresholdVaultParts) {
    this.#local = local;
    this.#ownerKeys = ownerKeys;
  }

  get #dataKeys(): DataKeys {
    return this.#local.keys.data;
  }

  /** Gets the local vault ready. No key server is asked. */
  async start(): Promise<void> {
    await this.#local.start();
  }

  /** Overwrites all opened keys and sessions. */
  async stop(): Promise<void> {
    this.#ownerKeys.stop();
    await this.#local.stop();
  }

  /**
   * Seals a text under a local key, so that jobs can read it after a restart,
   * when the owner has no session. {@linkcode ThresholdVault.protect} makes the
   * blob that is stored.
   */
  async seal(owner: string, content: BlobContent): Promise<SealedBlob> {
    return await this.#local.seal(owner, content);
  }

  /**
   * Seals a blob of the local vault again, so that only the owner's key opens
   * it. The memory's secret is derived from the local key. No session is needed
   * and no key server asked.
   *
   * @throws {Error} When the owner has no account, or the ledger does not
   * answer and the owner has no key yet.
   */
  async protect(owner: string, bytes: Uint8Array): Promise<Uint8Array> {
    if (readOwnerKeyBlob(bytes) !== undefined) return bytes;
    const opened = await this.#local.open(owner, bytes);
    if (opened.kind === "failed") return bytes;
    const { keyId } = opened;
    const plaintext = encodeContent(opened.value);
    const ownerKey = await this.#ownerKeys.current(owner);
    const secret = await this.#dataKeys.secret(owner, keyId);
    // The local key was destroyed in the meantime: no one can open the bytes.
    if (typeof secret === "string") return bytes;
    const { key, ephemeral } = sealingKeyFor(ownerKey.publicKey, {
      ...{ owner, keyId, secret },
      ownerKeyId: ownerKey.id,
    });
    secret.fill(0);
    try {
      const context = [owner, ownerKey.id];
      const body = await sealBlob(plaintext, { keyId, key, context });
      const { encrypted } = ownerKey;
      return writeOwnerKeyBlob(keyId, { ownerKey: encrypted, ephemeral, body });
    } finally {
      key.fill(0);
    }
  }

  /** Reads the secret of a blob that is opened soon. */
  async prepare(owner: string, bytes: Uint8Array): Promise<void> {
    const keyId = keyIdOfBlob(bytes);
    if (keyId !== undefined) await this.#dataKeys.prepare(owner, keyId);
  }

  /**
   * Opens a blob. Fails with `session_required` if the owner's key is not open
   * and the owner has no session.
   */
  async open(
    owner: string,
    bytes: Uint8Array,
    options: OpenOptions = {},
  ): Promise<OpenedBlob> {
    const blob = readOwnerKeyBlob(bytes);
    if (blob === undefined) {
      return await this.#local.open(owner, bytes, options);
    }
    const read = readEnvelope(blob.body);
    if (read.kind !== "ok" || read.head.kind !== "blob") {
      return { kind: "failed", why: "damaged" };
    }
    const { head, head: { keyId } } = read;
    // Checked first, so that no key server is asked for a destroyed memory.
    const { memorySecret: told } = options;
    const known = await this.#findSecret(owner, keyId, options);
    if (typeof known === "string") return { kind: "failed", why: known };
    known.fill(0);
    const ownerKey = await this.#ownerKeys.open(owner, blob.ownerKey);
    if (ownerKey.kind === "failed") return ownerKey;
    const { id: ownerKeyId, pair } = ownerKey;
    // The memory may have been destroyed in the meantime.
    const secret = await this.#findSecret(owner, keyId, options);
    if (typeof secret === "string") {
      pair.secret.fill(0);
      return { kind: "failed", why: secret };
    }
    const { ephemeral } = blob;
    const key = openingKeyFor(pair, {
      ...{ owner, keyId, ownerKeyId, secret, ephemeral },
    });
    pair.secret.fill(0);
    secret.fill(0);
    if (key === undefined) return { kind: "failed", why: "damaged" };
    try {
      const context = [owner, ownerKeyId];
      const opened = await openBlob(blob.body, {
        ...options,
        ...{ head, key, context },
      });
      if (opened.kind === "failed") return opened;
      if (told !== undefined) {
        await this.#dataKeys.adoptSecret(owner, keyId, told);
      }
      await this.#ownerKeys.adopt(owner, ownerKeyId);
      return opened;
    } finally {
      key.fill(0);
    }
  }

  async #findSecret(
    owner: string,
    keyId: string,
    { memorySecret: told, isCertain }: OpenOptions,
  ): Promise<Uint8Array | OpenFailure> {
    const secret = await this.#dataKeys.secret(owner, keyId, { isCertain });
    return secret === "key_gone" && told?.length === KEY_BYTES
      ? told.slice()
      : secret;
  }

  /** The memory's secret, which opens nothing without its owner's key. */
  async memorySecret(
    owner: string,
    keyId: string,
  ): Promise<Uint8Array | undefined> {
    const secret = await this.#dataKeys.secret(owner, keyId);
    return typeof secret === "string" ? undefined : secret;
  }

  /** Seals a row's vector and metadata under a local key, without its words. */
  async sealIndex(owner: string, entry: IndexEntry): Promise<Uint8Array> {
    return await this.#local.sealIndex(owner, { ...entry, words: undefined });
  }

  /** Opens a row's vector and metadata. */
  async openIndex(
    owner: string,
    bytes: Uint8Array,
    options?: OpenIndexOptions,
  ): Promise<Opened<IndexEntry>> {
    return await this.#local.openIndex(owner, bytes, options);
  }

  /** Seals a part of a snapshot under a local key. */
  async sealPart(
    owner: string,
    bytes: Uint8Array<ArrayBuffer>,
    place: PartPlace,
  ): Promise<Uint8Array> {
    return await this.#local.sealPart(owner, bytes, place);
  }

  /** Opens a part of a snapshot. */
  async openPart(
    owner: string,
    bytes: Uint8Array,
    place: PartPlace,
  ): Promise<Opened<Uint8Array>> {
    return await this.#local.openPart(owner, bytes, place);
  }

  /** A keyed digest of a text. */
  async digest(owner: string, text: string): Promise<string> {
    return await this.#local.digest(owner, text);
  }

  /** Destroys a memory's secret for good; true when it was there. */
  async destroy(owner: string, keyId: string): Promise<boolean> {
    return await this.#local.destroy(owner, keyId);
  }
}
