/**
 * The random data key of each memory, wrapped in the rows and opened in a cache.
 * In the place of a data key there may be the memory's secret, which opens no
 * blob by itself.
 *
 * @module
 */

import { hkdfSync, randomBytes } from "node:crypto";
import type { Clock } from "../../shared/clock.ts";
import type { DerivedKeys } from "./derived_keys.ts";
import { KEY_BYTES } from "./envelope.ts";
import { FreshEntries } from "./fresh_entries.ts";
import type { KeyRows } from "./key_rows.ts";
import type { CertainOption, OpenFailure } from "./vault.ts";

/** Options of {@linkcode DataKeys}. */
interface DataKeysOptions {
  /** Keeps wrapped keys. */
  readonly rows: KeyRows;
  /** Wraps and opens them. */
  readonly derived: DerivedKeys;
  /** Tells the time. */
  readonly clock: Clock;
  /** Most keys that are kept opened. */
  readonly maxOpen: number;
}

/** A key of a memory, opened. */
interface DataKey {
  /** The key; overwritten when it is no longer kept. */
  readonly bytes: Uint8Array;
  /**
   * Whether it is the memory's secret, from elsewhere or derived before the data
   * key went, which opens no blob of this vault.
   */
  readonly isSecret: boolean;
}

const SECRET_PURPOSE = "memory secret";
const NO_SALT = new Uint8Array();
const KEY_TIME_BYTES = 6;
const KEY_RANDOM_BYTES = 12;

/** Keeps the keys of memories. */
export class DataKeys {
  readonly #options: DataKeysOptions;
  /**
   * Opened keys by name. A key is overwritten when it leaves, so it has to be
   * used before anything is awaited.
   */
  readonly #open: FreshEntries<DataKey>;

  /** Starts without opened keys. */
  constructor(options: DataKeysOptions) {
    this.#options = options;
    this.#open = new FreshEntries({
      maxEntries: options.maxOpen,
      maxAgeMs: () => options.rows.maxAgeMs,
      onLeave: ({ bytes }) => void bytes.fill(0),
      clock: options.clock,
    });
  }

  /** Overwrites all opened keys. */
  wipe(): void {
    this.#open.clear();
  }

  /** Forgets a key that was destroyed or replaced. */
  forget(owner: string, keyId: string): void {
    this.#open.drop(formatName(owner, keyId));
  }

  /**
   * Makes a key's id; starts with the time: keys made together are stored so.
   */
  newId(): string {
    const bytes = new Uint8Array(KEY_TIME_BYTES + KEY_RANDOM_BYTES);
    let ms = Math.max(0, Math.floor(this.#options.clock.nowMs()));
    for (let at = KEY_TIME_BYTES - 1; at >= 0; at--) {
      bytes[at] = ms % 256;
      ms = Math.floor(ms / 256);
    }
    bytes.set(randomBytes(KEY_RANDOM_BYTES), KEY_TIME_BYTES);
    return bytes.toBase64({ alphabet: "base64url" });
  }

  /** Stores a data key and puts it into the cache, without a copy. */
  async add(owner: string, keyId: string, key: Uint8Array): Promise<void> {
    const { rows, derived } = this.#options;
    const wrapped = derived.wrap(owner, key, [keyId]);
    this.#open.set(formatName(owner, keyId), { bytes: key, isSecret: false });
    try {
      await rows.add({ owner, keyId, wrapped });
    } catch (error) {
      // A key that is not in the rows must not stay in the cache.
      this.forget(owner, keyId);
      throw error;
    }
  }

  /**
   * Reads a key that is used soon, where reading takes a while: several keys are
   * then read together.
   */
  async prepare(owner: string, keyId: string): Promise<void> {
    if (this.#options.rows.maxAgeMs === Infinity) return;
    await this.use(owner, keyId, () => undefined);
  }

  /**
   * Calls `use` with a memory's key, which it must not use once it has awaited
   * anything; returns its result, or why there is no key.
   */
  async use<T>(
    owner: string,
    keyId: string,
    use: (key: DataKey) => T,
    { isCertain = false }: CertainOption = {},
  ): Promise<Awaited<T> | OpenFailure> {
    const { rows, derived } = this.#options;
    const name = formatName(owner, keyId);
    if (!isCertain || rows.maxAgeMs === Infinity) {
      const known = this.#open.get(name);
      if (known !== undefined) return await use(known);
    }
    return await this.#open.read(name, async (reading) => {
      const wrapped = await rows.get(owner, keyId);
      if (wrapped === undefined) return "key_gone";
      let bytes = await derived.unwrap(owner, wrapped, [keyId]);
      const isSecret = bytes === "damaged";
      if (isSecret) {
        const names = [keyId, SECRET_PURPOSE];
        bytes = await derived.unwrap(owner, wrapped, names);
      }
      // It was destroyed or replaced meanwhile.
      if (reading.isDropped) {
        if (typeof bytes !== "string") bytes.fill(0);
        return await this.use(owner, keyId, use);
      }
      if (typeof bytes === "string") return bytes;
      const key = { bytes, isSecret };
      this.#open.keep(reading, key);
      return await use(key);
    });
  }

  /**
   * Returns a memory's secret, which the caller overwrites after use, or why
   * there is none. The secret was adopted, or it is derived from the memory's
   * data key and opens nothing that this vault has sealed.
   */
  async secret(
    owner: string,
    keyId: string,
    options: CertainOption = {},
  ): Promise<Uint8Array | OpenFailure> {
    return await this.use(owner, keyId, ({ bytes, isSecret }) => {
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
    const { rows } = this.#options;
    const wrapped = this.#wrapSecret(owner, keyId, secret);
    if (await rows.get(owner, keyId) !== undefined) return;
    // Concurrent restores of a memory adopt the same secret: the first one
    // stays.
    await rows.addMissing({ owner, keyId, wrapped });
  }

  /**
   * Replaces a memory's data key by its secret, so that the blob of this vault
   * cannot be opened any longer. The secret is on disk when this resolves. Does
   * nothing if the memory has no data key.
   */
  async retire(owner: string, keyId: string): Promise<void> {
    const isSecret = await this.use(owner, keyId, (key) => key.isSecret);
    if (isSecret !== false) return;
    const secret = await this.secret(owner, keyId);
    if (typeof secret === "string") return;
    const wrapped = this.#wrapSecret(owner, keyId, secret);
    secret.fill(0);
    await this.#options.rows.replace({ owner, keyId, wrapped });
  }

  /** Destroys a key for good; true when it was there. */
  async destroy(owner: string, keyId: string): Promise<boolean> {
    return await this.#options.rows.destroy(owner, keyId);
  }

  #wrapSecret(owner: string, keyId: string, secret: Uint8Array): Uint8Array {
    return this.#options.derived.wrap(owner, secret, [keyId, SECRET_PURPOSE]);
  }
}

function formatName(owner: string, keyId: string): string {
  return `${keyId} ${owner}`;
}
