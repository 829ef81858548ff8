/**
 * A vault whose keys are all on this machine.
 *
 * A master key wraps root keys; each owner's keys are derived from a root key
 * (to wrap data keys, to seal index entries, for digests); an owner's key wraps
 * the random data key of each memory; a data key seals one blob. Wrapped keys
 * are in `keys.db`, or in a database that several relayers share. Everybody with
 * them and the master key can open everything that was not destroyed; without
 * either nothing opens.
 *
 * Short envelopes use the synchronous ciphers of `node:crypto`, which take a
 * fraction of the time of an asynchronous call. Long blobs, long index entries
 * and parts of snapshots use WebCrypto.
 *
 * @module
 */

import { createHmac, hkdfSync, randomBytes } from "node:crypto";
import { BoundedMap } from "../../shared/bounded_map.ts";
import type { Clock } from "../../shared/clock.ts";
import { type Logger, RateLimitedLog } from "../../shared/logger.ts";
import { type MasterKey, readMasterKeyFile } from "../../shared/master_keys.ts";
import { NEVER_PAUSING } from "../../shared/slices.ts";
import {
  type EnvelopeHead,
  type EnvelopeKind,
  EnvelopeReader,
  importedKey,
  KEY_BYTES,
  openEnvelope,
  openLongEnvelope,
  OWNER_KEY_VERSION,
  readEnvelope,
  sealEnvelope,
  sealLongEnvelope,
} from "./envelope.ts";
import type { KeptReceiptKey } from "../receipts/receipt.ts";
import { FreshEntries } from "./fresh_entries.ts";
import { KeyDatabase } from "./key_database.ts";
import type { KeyGone, KeyRows, OpenKeyRows } from "./key_rows.ts";
import { type KeyPurpose, RootKeys } from "./root_keys.ts";
import {
  decodeContent,
  decodeIndexEntry,
  encodeContent,
  encodeIndexEntry,
} from "./sealed_content.ts";
import type { KeptOwnerKey } from "./owner_keys.ts";
import type {
  BlobContent,
  CertainOption,
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
import { steadyMs } from "../concurrency/bounded_work.ts";

/** Options of {@linkcode LocalVault}. */
interface LocalVaultOptions {
  /** The folder of `keys.db` and `master.key`; made when it is not there. */
  readonly dataFolder: string;
  /**
   * Opens what keeps the wrapped keys.
   *
   * @default the file `keys.db`
   */
  readonly openRows?: OpenKeyRows | undefined;
  /** Tells the time. */
  readonly clock: Clock;
  /** Logs a new master key, and envelopes of later programs. */
  readonly logger: Logger;
  /**
   * Master keys: the first seals, all open.
   *
   * @default those of the file `master.key`, which is made at the first start
   */
  readonly masterKeys?: readonly MasterKey[] | undefined;
  /**
   * Most data keys that are kept opened.
   *
   * @default {10000}
   */
  readonly maxOpenKeys?: number;
  /**
   * Most changes to keys that wait for the disk; one more is refused with a
   * {@linkcode StoreBusyError}.
   *
   * @default {20000}
   */
  readonly maxQueuedKeys?: number;
}

interface Ready {
  readonly rows: KeyRows;
  readonly roots: RootKeys;
}

/** A key of a memory, opened. */
interface MemoryKey {
  /** The key; overwritten when it is no longer kept. */
  readonly bytes: Uint8Array;
  /**
   * Whether it is the memory's secret, from elsewhere or derived before the data
   * key went, which opens no blob of this vault.
   */
  readonly isSecret: boolean;
}

type Failed = Extract<OpenedBlob, { readonly kind: "failed" }>;

const ABOUT_MASTER_KEY =
  "The key that wraps the keys of all memories. Keep a copy of it\n" +
  "apart from the backups of the data: without it no memory opens.";
const MAX_OWNER_KEYS = 4_096;
/** The length from which an index entry opens faster in another thread. */
const LONG_ENTRY_BYTES = 2_048;
/** That length for a blob, whose key has to be imported for a single use. */
const LONG_BLOB_BYTES = 32_768;
/** The "owner" of the relayer's keys of receipts; cannot be an address. */
const RECEIPTS = "receipts";
const SECRET_PURPOSE = "memory secret";
const NO_SALT = new Uint8Array();
const KEY_TIME_BYTES = 6;
const KEY_RANDOM_BYTES = 12;

/** A vault in a data folder. */
export class LocalVault implements RelayerVault {
  /** Words are no more readable than texts: the same master key opens both. */
  readonly keepsWords = true;
  readonly #options: LocalVaultOptions;
  /**
   * Opened keys of memories by name. A key is overwritten when it leaves, so it
   * has to be used before anything is awaited.
   */
  readonly #memoryKeys: FreshEntries<MemoryKey>;
  /** Keys derived from root keys, which never end; for them the same holds. */
  readonly #ownerKeys = new BoundedMap<string, Uint8Array>({
    maxEntries: MAX_OWNER_KEYS,
    onLeave: (key) => key.fill(0),
  });
  readonly #indexReader = new EnvelopeReader();
  /** Keys that open index entries, in a form that can't be overwritten. */
  readonly #importedKeys = new BoundedMap<string, Promise<CryptoKey>>({
    maxEntries: MAX_OWNER_KEYS,
  });
  readonly #log: RateLimitedLog;
  #ready: Ready | undefined;

  /** A vault that is not started. */
  constructor(options: LocalVaultOptions) {
    this.#options = options;
    const { clock, logger, maxOpenKeys = 10_000 } = options;
    this.#log = new RateLimitedLog(logger, clock);
    this.#memoryKeys = new FreshEntries({
      maxEntries: maxOpenKeys,
      maxAgeMs: () => this.maxAgeMs,
      onLeave: ({ bytes }) => void bytes.fill(0),
      clock,
    });
  }

  /**
   * For how many milliseconds what was read of keys may be used; see
   * {@linkcode KeyRows.maxAgeMs}.
   */
  get maxAgeMs(): number {
    return this.#demandReady().rows.maxAgeMs;
  }

  /** Opens the root keys; makes a master key at the first start. */
  async start(): Promise<void> {
    if (this.#ready !== undefined) return;
    const { dataFolder, logger } = this.#options;
    const { openRows = (onGone) => this.#openDatabase(onGone) } = this.#options;
    if (this.#options.openRows === undefined) {
      await Deno.mkdir(dataFolder, { recursive: true, mode: 0o700 });
    }
    const rows = openRows((owner, keyId) =>
      this.#memoryKeys.drop(formatName(owner, keyId))
    );
    try {
      // A new master key could not open root keys that another one has wrapped.
      const mayCreate = (await rows.roots()).length === 0;
      const { masterKeys } = this.#options;
      const masters = masterKeys?.map((key) => ({
        ...key,
        secret: key.secret.slice(),
      })) ?? await readMasterKeyFile(dataFolder, {
        mayCreate,
        about: ABOUT_MASTER_KEY,
        logger,
      });
      try {
        const roots = await RootKeys.open(rows, masters);
        this.#ready = { rows, roots };
      } finally {
        for (const { secret } of masters) secret.fill(0);
      }
    } catch (error) {
      await rows.close();
      throw error;
    }
  }

  #openDatabase(onGone: KeyGone): KeyRows {
    const { dataFolder, clock, maxQueuedKeys = 20_000 } = this.#options;
    return new KeyDatabase(dataFolder, {
      nowMs: clock.nowMs(),
      monotonicMs: () => steadyMs(clock),
      maxQueued: maxQueuedKeys,
      onGone,
    });
  }

  /** Overwrites all opened keys and closes the rows. */
  async stop(): Promise<void> {
    const ready = this.#ready;
    this.#ready = undefined;
    this.#memoryKeys.clear();
    this.#ownerKeys.clear();
    this.#importedKeys.clear();
    if (ready === undefined) return;
    ready.roots.wipe();
    await ready.rows.close();
  }

  /** Seals a blob under a new key, which is on disk when this resolves. */
  async seal(owner: string, content: BlobContent): Promise<SealedBlob> {
    this.#demandReady();
    const plaintext = encodeContent(content);
    const keyId = this.#newKeyId();
    // Made in place: the source of a copy would not be overwritten.
    const key = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
    const bytes = await sealBlob(plaintext, { keyId, key, context: [owner] });
    await this.#addKey(owner, keyId, key);
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

  /**
   * Reads the key of a blob that is opened soon, where reading takes a while:
   * those of several blobs are then read together.
   */
  async prepare(owner: string, bytes: Uint8Array): Promise<void> {
    if (this.maxAgeMs === Infinity) return;
    const read = readEnvelope(bytes);
    if (read.kind === "ok") await this.prepareKey(owner, read.head.keyId);
  }

  /** Does the same for a key of this id. */
  async prepareKey(owner: string, keyId: string): Promise<void> {
    if (this.maxAgeMs === Infinity) return;
    await this.#useKey(owner, keyId, () => undefined);
  }

  /**
   * Returns a memory's secret, which the caller overwrites after use, or why
   * there is none. The secret was adopted, or it is derived from the memory's
   * data key and opens nothing that this vault has sealed.
   */
  async deriveSecret(
    owner: string,
    keyId: string,
    options: CertainOption = {},
  ): Promise<Uint8Array | OpenFailure> {
    return await this.#useKey(owner, keyId, ({ bytes, isSecret }) => {
      if (isSecret) return bytes.slice();
      const info = `${SECRET_PURPOSE}\0${owner}\0${keyId}`;
      return new Uint8Array(
        hkdfSync("sha256", bytes, NO_SALT, info, KEY_BYTES),
      );
    }, options);
  }

  /**
   * Stores a memory's secret that comes from elsewhere, unless the memory has a
   * key here; it is on disk when this resolves.
   */
  async adoptSecret(
    owner: string,
    keyId: string,
    secret: Uint8Array,
  ): Promise<void> {
    const { rows } = this.#demandReady();
    const wrapped = this.#wrapped(owner, secret, [keyId, SECRET_PURPOSE]);
    if (await rows.get(owner, keyId) !== undefined) return;
    // Concurrent restores of a memory adopt the same secret: the first one
    // stays.
    await rows.addMissing({ owner, keyId, wrapped });
  }

  /**
   * Replaces a memory's data key by its secret, so that the blob of this vault
   * cannot be opened any longer; it is on disk when this resolves. Does nothing
   * if the memory has no data key.
   */
  async retireKey(owner: string, keyId: string): Promise<void> {
    const { rows } = this.#demandReady();
    const isSecret = await this.#useKey(owner, keyId, (key) => key.isSecret);
    if (isSecret !== false) return;
    const secret = await this.deriveSecret(owner, keyId);
    if (typeof secret === "string") return;
    const wrapped = this.#wrapped(owner, secret, [keyId, SECRET_PURPOSE]);
    secret.fill(0);
    await rows.replace({ owner, keyId, wrapped });
  }

  /** Keys of receipts, without those that do not open. */
  async receiptKeys(): Promise<readonly KeptReceiptKey[]> {
    const { rows } = this.#demandReady();
    const kept: KeptReceiptKey[] = [];
    for (const { wrapped, madeAtMs } of await rows.receiptKeys()) {
      const seed = await this.#unwrapped(RECEIPTS, wrapped, [`${madeAtMs}`]);
      if (typeof seed !== "string") kept.push({ seed, madeAtMs });
    }
    return kept;
  }

  /**
   * Stores a key of receipts, with `isFirst` only where there is none; it is on
   * disk when this resolves.
   */
  async addReceiptKey(
    { seed, madeAtMs }: KeptReceiptKey,
    options: { readonly isFirst: boolean },
  ): Promise<void> {
    const { rows } = this.#demandReady();
    const wrapped = this.#wrapped(RECEIPTS, seed, [String(madeAtMs)]);
    await rows.addReceiptKey({ wrapped, madeAtMs }, options);
  }

  /**
   * An owner's keys with key servers, without those that this vault cannot
   * open.
   */
  async ownerKeys(owner: string): Promise<readonly KeptOwnerKey[]> {
    const { rows } = this.#demandReady();
    const kept: KeptOwnerKey[] = [];
    for (const row of await rows.ownerKeys(owner)) {
      const { id, encrypted, sealedPublicKey, link } = row;
      const names = [id, "owner key"];
      const publicKey = await this.#unwrapped(owner, sealedPublicKey, names);
      if (typeof publicKey === "string") continue;
      kept.push({ id, encrypted, publicKey, link });
    }
    return kept;
  }

  /** Stores an owner's key; it is on disk when this resolves. */
  async putOwnerKey(owner: string, key: KeptOwnerKey): Promise<void> {
    const { rows } = this.#demandReady();
    const { id, encrypted, publicKey, link } = key;
    const sealedPublicKey = this.#wrapped(owner, publicKey, [id, "owner key"]);
    await rows.putOwnerKey({
      ...{ owner, id, encrypted, sealedPublicKey, link },
    });
  }

  /** Stores a data key and puts it into the cache, without a copy. */
  async #addKey(
    owner: string,
    keyId: string,
    key: Uint8Array,
  ): Promise<void> {
    const { rows } = this.#demandReady();
    const wrapped = this.#wrapped(owner, key, [keyId]);
    const name = formatName(owner, keyId);
    this.#memoryKeys.set(name, { bytes: key, isSecret: false });
    try {
      await rows.add({ owner, keyId, wrapped });
    } catch (error) {
      // A key that is not in the rows must not stay in the cache.
      this.#memoryKeys.drop(name);
      throw error;
    }
  }

  /** Opens a blob. */
  async open(
    owner: string,
    bytes: Uint8Array,
    { pausing, isCertain }: OpenOptions = {},
  ): Promise<OpenedBlob> {
    const read = this.#readHead(owner, bytes, "blob");
    if (read.kind === "failed") return read;
    const { head } = read;
    const opened = await this.#useKey(
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
  async sealIndex(owner: string, entry: IndexEntry): Promise<Uint8Array> {
    const { roots } = this.#demandReady();
    return await sealEnvelope(encodeIndexEntry(entry), {
      kind: "index",
      keyId: roots.currentId,
      key: this.#ownerKey(roots.currentId, "index", owner),
      context: [owner],
    });
  }

  /** Opens the vector and metadata of a row. */
  async openIndex(
    owner: string,
    bytes: Uint8Array,
    { into }: OpenIndexOptions = {},
  ): Promise<Opened<IndexEntry>> {
    const read = this.#readHead(owner, bytes, "index");
    if (read.kind === "failed") return read;
    const { head } = read;
    const learning = this.#learnRoot(head);
    const lacking = learning && await learning;
    if (lacking !== undefined) return failed(lacking);
    const key = this.#ownerKey(head.keyId, "index", owner);
    // Dense vectors are long, and all of them are opened at the start.
    const plaintext = bytes.length >= LONG_ENTRY_BYTES
      ? await openBeside(bytes, head, {
        key: this.#importedKey(`${head.keyId} ${owner}`, key),
        context: [owner],
      })
      : openEnvelope(bytes, head, { key, context: [owner] });
    return decoded(plaintext, (entry) => decodeIndexEntry(entry, into));
  }

  /** Seals a part of a snapshot, off this thread. */
  async sealPart(
    owner: string,
    bytes: Uint8Array<ArrayBuffer>,
    place: PartPlace,
  ): Promise<Uint8Array> {
    const { roots } = this.#demandReady();
    return await sealLongEnvelope(bytes, {
      kind: "index",
      keyId: roots.currentId,
      key: this.#ownerKey(roots.currentId, "index", owner),
      context: partContext(owner, place),
    });
  }

  /** Opens a part of a snapshot, off this thread. */
  async openPart(
    owner: string,
    bytes: Uint8Array,
    place: PartPlace,
  ): Promise<Opened<Uint8Array>> {
    const read = this.#readHead(owner, bytes, "index");
    if (read.kind === "failed") return read;
    const { head } = read;
    const learning = this.#learnRoot(head);
    const lacking = learning && await learning;
    if (lacking !== undefined) return failed(lacking);
    const key = this.#ownerKey(head.keyId, "index", owner);
    const value = await openBeside(bytes, head, {
      key: this.#importedKey(`${head.keyId} ${owner}`, key),
      context: partContext(owner, place),
    });
    return value === undefined ? failed("damaged") : { kind: "ok", value };
  }

  /** A keyed digest of a text. */
  async digest(owner: string, text: string): Promise<string> {
    const { roots } = this.#demandReady();
    // Always with the first root key: digests are compared with much older
    // ones.
    const key = this.#ownerKey(roots.firstId, "digest", owner);
    return await createHmac("sha256", key).update(text, "utf8").digest("hex");
  }

  /** Destroys a blob's key for good; true when it was there. */
  async destroy(owner: string, keyId: string): Promise<boolean> {
    return await this.#demandReady().rows.destroy(owner, keyId);
  }

  #importedKey(name: string, key: Uint8Array): Promise<CryptoKey> {
    const known = this.#importedKeys.get(name);
    if (known !== undefined) return known;
    const imported = importedKey(key, "decrypt");
    this.#importedKeys.set(name, imported);
    return imported;
  }

  /** Reads an envelope's head; fails unless the envelope is of that kind. */
  #readHead(
    owner: string,
    bytes: Uint8Array,
    kind: EnvelopeKind,
  ): { readonly kind: "ok"; readonly head: EnvelopeHead } | Failed {
    this.#demandReady();
    // Index entries mostly have the same key id, blobs do not.
    const outcome = kind === "index"
      ? this.#indexReader.read(bytes)
      : readEnvelope(bytes);
    if (outcome.kind === "unknown") {
      const { version } = outcome;
      this.#options.logger.warn(
        version === OWNER_KEY_VERSION
          ? "Cannot open a memory: it is behind key servers (VAULT=key-servers)"
          : "Cannot open an envelope: a later program sealed it",
        { owner, version },
      );
      // Another setting or a later program opens it.
      return failed("unavailable");
    }
    return outcome.kind === "ok" && outcome.head.kind === kind
      ? outcome
      : failed("damaged");
  }

  /**
   * Calls `use` with a memory's key, which it must not use once it has awaited
   * anything; returns its result, or why there is no key.
   */
  async #useKey<T>(
    owner: string,
    keyId: string,
    use: (key: MemoryKey) => T,
    { isCertain = false }: CertainOption = {},
  ): Promise<Awaited<T> | OpenFailure> {
    const { rows } = this.#demandReady();
    const name = formatName(owner, keyId);
    if (!isCertain || rows.maxAgeMs === Infinity) {
      const known = this.#memoryKeys.get(name);
      if (known !== undefined) return await use(known);
    }
    return await this.#memoryKeys.read(name, async (reading) => {
      const wrapped = await rows.get(owner, keyId);
      if (wrapped === undefined) return "key_gone";
      const lacking = await this.#learnRootOf(wrapped);
      if (lacking !== undefined) return lacking;
      // It was destroyed or replaced meanwhile.
      if (reading.isDropped) return await this.#useKey(owner, keyId, use);
      let bytes = this.#opened(owner, wrapped, [keyId]);
      const isSecret = bytes === "damaged";
      if (isSecret) {
        bytes = this.#opened(owner, wrapped, [keyId, SECRET_PURPOSE]);
      }
      if (typeof bytes === "string") return bytes;
      const key = { bytes, isSecret };
      this.#memoryKeys.keep(reading, key);
      return await use(key);
    });
  }

  /** Wraps a key of an owner; it opens with the same owner and names only. */
  #wrapped(
    owner: string,
    key: Uint8Array,
    names: readonly string[],
  ): Uint8Array {
    const { roots } = this.#demandReady();
    return sealEnvelope(key, {
      kind: "data_key",
      keyId: roots.currentId,
      key: this.#ownerKey(roots.currentId, "data key", owner),
      context: [owner, ...names],
    });
  }

  /** Unwraps a key of an owner; returns the key, or why it does not open. */
  async #unwrapped(
    owner: string,
    wrapped: Uint8Array,
    names: readonly string[],
  ): Promise<Uint8Array | OpenFailure> {
    return await this.#learnRootOf(wrapped) ??
      this.#opened(owner, wrapped, names);
  }

  /** Does the same at once, where the root key is known. */
  #opened(
    owner: string,
    wrapped: Uint8Array,
    names: readonly string[],
  ): Uint8Array | OpenFailure {
    const outcome = readEnvelope(wrapped);
    if (outcome.kind !== "ok") return "damaged";
    const { head } = outcome;
    const ownerKey = this.#derived(head.keyId, "data key", owner);
    if (ownerKey === undefined) return "key_gone";
    const context = [owner, ...names];
    const key = openEnvelope(wrapped, head, { key: ownerKey, context });
    return key?.length === KEY_BYTES ? key : "damaged";
  }

  /** Learns the root key of a wrapped key; returns why there is none. */
  #learnRootOf(
    wrapped: Uint8Array,
  ): Promise<OpenFailure | undefined> | undefined {
    const outcome = readEnvelope(wrapped);
    return outcome.kind === "ok" ? this.#learnRoot(outcome.head) : undefined;
  }

  /** Learns the root key that an envelope names; returns why there is none. */
  #learnRoot(
    { keyId: rootId }: EnvelopeHead,
  ): Promise<OpenFailure | undefined> | undefined {
    const { roots } = this.#demandReady();
    return roots.has(rootId) ? undefined : this.#learnMissing(rootId);
  }

  async #learnMissing(rootId: string): Promise<OpenFailure | undefined> {
    const outcome = await this.#demandReady().roots.learn(rootId);
    if (outcome?.kind !== "locked") return outcome && "key_gone";
    const { reason } = outcome;
    this.#log.warn("Cannot open what another relayer has sealed", { reason });
    return "unavailable";
  }

  #ownerKey(rootId: string, purpose: KeyPurpose, owner: string): Uint8Array {
    const key = this.#derived(rootId, purpose, owner);
    if (key === undefined) throw new Error("Cannot seal: the root key is gone");
    return key;
  }

  #derived(
    rootId: string,
    purpose: KeyPurpose,
    owner: string,
  ): Uint8Array | undefined {
    const name = `${rootId} ${purpose} ${owner}`;
    const known = this.#ownerKeys.get(name);
    if (known !== undefined) return known;
    const key = this.#demandReady().roots.derive(rootId, purpose, owner);
    if (key !== undefined) this.#ownerKeys.set(name, key);
    return key;
  }

  /**
   * Makes a key's id; starts with the time: keys made together are stored so.
   */
  #newKeyId(): string {
    const bytes = new Uint8Array(KEY_TIME_BYTES + KEY_RANDOM_BYTES);
    let ms = Math.max(0, Math.floor(this.#options.clock.nowMs()));
    for (let at = KEY_TIME_BYTES - 1; at >= 0; at--) {
      bytes[at] = ms % 256;
      ms = Math.floor(ms / 256);
    }
    bytes.set(randomBytes(KEY_RANDOM_BYTES), KEY_TIME_BYTES);
    return bytes.toBase64({ alphabet: "base64url" });
  }

  #demandReady(): Ready {
    if (this.#ready === undefined) {
      throw new Error("Cannot use the vault: it is not started");
    }
    return this.#ready;
  }
}

/** The key and context of {@linkcode sealBlob}. */
interface BlobSealing {
  /** The key's id. */
  readonly keyId: string;
  /** The key, 32 bytes. */
  readonly key: Uint8Array;
  /** Texts that the blob is bound to. */
  readonly context: readonly string[];
}

/** Seals an encoded content into an envelope, a long one off this thread. */
export async function sealBlob(
  content: Uint8Array<ArrayBuffer>,
  sealing: BlobSealing,
): Promise<Uint8Array> {
  return content.length < LONG_BLOB_BYTES
    ? sealEnvelope(content, { ...sealing, kind: "blob" })
    : await sealLongEnvelope(content, { ...sealing, kind: "blob" });
}

/**
 * Opens an envelope whose head was read; the key is used synchronously only.
 */
export async function openBlob(
  bytes: Uint8Array,
  { head, key, context, pausing = NEVER_PAUSING }:
    & Pick<BlobSealing, "key" | "context">
    & OpenOptions
    & { readonly head: EnvelopeHead },
): Promise<OpenedBlob> {
  const isLong = bytes.length >= LONG_BLOB_BYTES;
  const plaintext = isLong
    ? await openBeside(bytes, head, {
      key: importedKey(key, "decrypt"),
      context,
    })
    : openEnvelope(bytes, head, { key, context });
  if (isLong) await pausing.pause();
  const opened = decoded(plaintext, decodeContent);
  return opened.kind === "ok" ? { ...opened, keyId: head.keyId } : opened;
}

/** Opens an envelope off this thread. */
async function openBeside(
  bytes: Uint8Array,
  head: EnvelopeHead,
  { key, context }: {
    readonly key: Promise<CryptoKey>;
    readonly context: readonly string[];
  },
): Promise<Uint8Array | undefined> {
  // WebCrypto refuses bytes in shared memory, so these are copied.
  const own = bytes.buffer instanceof ArrayBuffer
    ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    : new Uint8Array(bytes);
  return await openLongEnvelope(own, head, { key: await key, context });
}

function formatName(owner: string, keyId: string): string {
  return `${keyId} ${owner}`;
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

function failed(why: OpenFailure): Failed {
  return { kind: "failed", why };
}

function decoded<T>(
  plaintext: Uint8Array | undefined,
  decode: (bytes: Uint8Array) => T | undefined,
): Opened<T> {
  const value = plaintext === undefined ? undefined : decode(plaintext);
  return value === undefined ? failed("damaged") : { kind: "ok", value };
}
