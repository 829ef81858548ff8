/**
 * A vault whose keys are all on this machine.
 *
 * Short envelopes use the synchronous ciphers of `node:crypto`, which take a
 * fraction of the time of an asynchronous call. Long blobs, long index entries
 * and parts of snapshots use WebCrypto.
 *
 * @module
 */

import { createHmac } from "node:crypto";
import type { Logger } from "../../shared/logger.ts";
import {
  KEY_BYTES,
  openEnvelope,
  openLongEnvelope,
  sealEnvelope,
  sealLongEnvelope,
} from "./envelope.ts";
import {
  type EnvelopeHead,
  type EnvelopeKind,
  EnvelopeReader,
  OWNER_KEY_VERSION,
  readEnvelope,
} from "./envelope_head.ts";
import { LocalKeys, type LocalKeysOptions } from "./local_keys.ts";
import { openBlob, sealBlob } from "./sealed_blob.ts";
import {
  decodeIndexEntry,
  encodeContent,
  encodeIndexEntry,
} from "./sealed_content.ts";
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

/** The length from which an index entry opens faster in another thread. */
const LONG_ENTRY_BYTES = 2_048;

/** A vault in a data folder. */
export class LocalVault implements RelayerVault {
  /** Words are no more readable than texts: the same master key opens both. */
  readonly keepsWords = true;
  /** Its keys, started and stopped with it. */
  readonly keys: LocalKeys;
  readonly #logger: Logger;
  readonly #indexReader = new EnvelopeReader();

  /** A vault that is not started. */
  constructor(options: LocalKeysOptions) {
    this.keys = new LocalKeys(options);
    this.#logger = options.logger;
  }

  /** Opens the keys; makes a master key at the first start. */
  async start(): Promise<void> {
    await this.keys.start();
  }

  /** Overwrites all opened keys and closes their files. */
  async stop(): Promise<void> {
    await this.keys.stop();
  }

  /** Seals a blob under a new key, which is on disk when this resolves. */
  async seal(owner: string, content: BlobContent): Promise<SealedBlob> {
    const keyId = this.keys.data.newId();
    const plaintext = encodeContent(content);
    // Made in place: the source of a copy would not be overwritten.
    const key = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
    const bytes = await sealBlob(plaintext, { keyId, key, context: [owner] });
    await this.keys.data.add(owner, keyId, key);
    return { bytes, keyId };
  }

  /** Returns the bytes unchanged: keys of this machine alone protect blobs. */
  protect(_owner: string, bytes: Uint8Array): Promise<Uint8Array> {
    return Promise.resolve(bytes);
  }

  /**
   * Always undefined: a key that opens a blob by itself does not leave the
   * vault.
   */
  memorySecret(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  /** Reads the key of a blob that is opened soon. */
  async prepare(owner: string, bytes: Uint8Array): Promise<void> {
    if (this.keys.maxAgeMs === Infinity) return;
    const read = readEnvelope(bytes);
    if (read.kind === "ok") {
      await this.keys.data.prepare(owner, read.head.keyId);
    }
  }

  /** Opens a blob. */
  async open(
    owner: string,
    bytes: Uint8Array,
    { pausing, isCertain }: OpenOptions = {},
  ): Promise<OpenedBlob> {
    const { data } = this.keys;
    const head = this.#readHead(owner, bytes, "blob");
    if (typeof head === "string") return failed(head);
    const opened = await data.use(
      owner,
      head.keyId,
      ({ bytes: key, isSecret }) =>
        isSecret
          ? "damaged"
          : openBlob(bytes, { head, key, context: [owner], pausing }),
      { isCertain },
    );
    return typeof opened === "string" ? failed(opened) : opened;
  }

  /** Seals a row's vector and metadata under the owner's index key. */
  // deno-lint-ignore require-await -- a throw becomes a rejection
  async sealIndex(owner: string, entry: IndexEntry): Promise<Uint8Array> {
    return sealEnvelope(encodeIndexEntry(entry), {
      ...this.keys.derived.current("index", owner),
      kind: "index",
      context: [owner],
    });
  }

  /** Opens the vector and metadata of a row. */
  async openIndex(
    owner: string,
    bytes: Uint8Array,
    { into }: OpenIndexOptions = {},
  ): Promise<Opened<IndexEntry>> {
    const plaintext = await this.#openEntry(owner, bytes, {
      context: [owner],
      // Dense vectors are long, and all of them are opened at the start.
      isLong: bytes.length >= LONG_ENTRY_BYTES,
    });
    if (typeof plaintext === "string") return failed(plaintext);
    const value = decodeIndexEntry(plaintext, into);
    return value === undefined ? failed("damaged") : { kind: "ok", value };
  }

  /** Seals a part of a snapshot, off this thread. */
  async sealPart(
    owner: string,
    bytes: Uint8Array<ArrayBuffer>,
    place: PartPlace,
  ): Promise<Uint8Array> {
    return await sealLongEnvelope(bytes, {
      ...this.keys.derived.current("index", owner),
      kind: "index",
      context: partContext(owner, place),
    });
  }

  /** Opens a part of a snapshot, off this thread. */
  async openPart(
    owner: string,
    bytes: Uint8Array,
    place: PartPlace,
  ): Promise<Opened<Uint8Array>> {
    const value = await this.#openEntry(owner, bytes, {
      context: partContext(owner, place),
      isLong: true,
    });
    return typeof value === "string" ? failed(value) : { kind: "ok", value };
  }

  /** A keyed digest of a text. */
  // deno-lint-ignore require-await -- a throw becomes a rejection
  async digest(owner: string, text: string): Promise<string> {
    const key = this.keys.derived.first("digest", owner);
    return createHmac("sha256", key).update(text, "utf8").digest("hex");
  }

  /** Destroys a blob's key for good; true when it was there. */
  async destroy(owner: string, keyId: string): Promise<boolean> {
    return await this.keys.data.destroy(owner, keyId);
  }

  /** Opens what an owner's index key has sealed. */
  async #openEntry(
    owner: string,
    bytes: Uint8Array,
    { context, isLong }: {
      readonly context: readonly string[];
      readonly isLong: boolean;
    },
  ): Promise<Uint8Array | OpenFailure> {
    const { derived } = this.keys;
    const head = this.#readHead(owner, bytes, "index");
    if (typeof head === "string") return head;
    const learning = derived.learn(head);
    const lacking = learning && await learning;
    if (lacking !== undefined) return lacking;
    const plaintext = isLong
      ? await openLongEnvelope(bytes, head, {
        key: derived.importedIndexKey(head, owner),
        context,
      })
      : openEnvelope(bytes, head, {
        key: derived.indexKey(head, owner),
        context,
      });
    return plaintext ?? "damaged";
  }

  /** Reads an envelope's head; fails unless the envelope is of that kind. */
  #readHead(
    owner: string,
    bytes: Uint8Array,
    kind: EnvelopeKind,
  ): EnvelopeHead | OpenFailure {
    // Index entries mostly have the same key id, blobs do not.
    const outcome = kind === "index"
      ? this.#indexReader.read(bytes)
      : readEnvelope(bytes);
    if (outcome.kind === "unknown") {
      const { version } = outcome;
      this.#logger.warn(
        version === OWNER_KEY_VERSION
          ? "Cannot open a memory: it is behind key servers (VAULT=key-servers)"
          : "Cannot open an envelope: a later program sealed it",
        { owner, version },
      );
      // Another setting or a later program opens it.
      return "unavailable";
    }
    return outcome.kind === "ok" && outcome.head.kind === kind
      ? outcome.head
      : "damaged";
  }
}

/**
 * The context of a part; index entries have the owner alone as their context.
 */
function partContext(
  owner: string,
  { name, part }: PartPlace,
): readonly string[] {
  return [owner, "snapshot", name, `${part}`];
}

function failed(
  why: OpenFailure,
): { readonly kind: "failed"; readonly why: OpenFailure } {
  return { kind: "failed", why };
}
