/**
 * All keys of this machine, or of a database that several relayers share.
 *
 * A master key wraps root keys. Each owner's keys are derived from a root key:
 * to wrap data keys, to seal index entries, and for digests. An owner's key
 * wraps the random data key of each memory, and a data key seals one blob.
 * Wrapped keys are in `keys.db`, or in the shared database. Everybody with them
 * and the master key can open everything that was not destroyed; without either
 * nothing opens.
 *
 * @module
 */

import { type Clock, steadyMs } from "../../shared/clock.ts";
import type { Logger } from "../../shared/logger.ts";
import { type MasterKey, readMasterKeyFile } from "../../shared/master_keys.ts";
import type { KeptReceiptKey } from "../receipts/receipt.ts";
import { DataKeys } from "./data_keys.ts";
import { DerivedKeys } from "./derived_keys.ts";
import { KeyDatabase } from "./key_database.ts";
import type { KeyGone, KeyRows, OpenKeyRows } from "./key_rows.ts";
import type { KeptOwnerKey } from "./kept_owner_key.ts";
import { RootKeys } from "./root_keys.ts";

/** Options of {@linkcode LocalKeys}. */
export interface LocalKeysOptions {
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

/** Keys of different kinds. */
interface Ready {
  readonly rows: KeyRows;
  readonly derived: DerivedKeys;
  readonly data: DataKeys;
}

const ABOUT_MASTER_KEY =
  "The key that wraps the keys of all memories. Keep a copy of it\n" +
  "apart from the backups of the data: without it no memory opens.";
/** The "owner" of the relayer's keys of receipts; cannot be an address. */
const RECEIPTS = "receipts";

/** Opens, keeps and overwrites keys. */
export class LocalKeys {
  readonly #options: LocalKeysOptions;
  #ready: Ready | undefined;

  /** Keys that are not opened. */
  constructor(options: LocalKeysOptions) {
    this.#options = options;
  }

  /**
   * For how many milliseconds what was read of keys may be used; see
   * {@linkcode KeyRows.maxAgeMs}.
   */
  get maxAgeMs(): number {
    return this.#demandReady().rows.maxAgeMs;
  }

  /** Keys of owners, derived from root keys. */
  get derived(): DerivedKeys {
    return this.#demandReady().derived;
  }

  /** Keys of memories. */
  get data(): DataKeys {
    return this.#demandReady().data;
  }

  /** Opens the root keys; makes a master key at the first start. */
  async start(): Promise<void> {
    if (this.#ready !== undefined) return;
    const { dataFolder, clock, logger, maxOpenKeys = 10_000 } = this.#options;
    const { openRows = (onGone) => this.#openDatabase(onGone) } = this.#options;
    if (this.#options.openRows === undefined) {
      await Deno.mkdir(dataFolder, { recursive: true, mode: 0o700 });
    }
    const rows = openRows((owner, keyId) =>
      this.#ready?.data.forget(owner, keyId)
    );
    try {
      const roots = await this.#openRoots(rows);
      const derived = new DerivedKeys({ roots, logger, clock });
      const maxOpen = maxOpenKeys;
      const data = new DataKeys({ rows, derived, clock, maxOpen });
      this.#ready = { rows, derived, data };
    } catch (error) {
      await rows.close();
      throw error;
    }
  }

  async #openRoots(rows: KeyRows): Promise<RootKeys> {
    const { dataFolder, logger, masterKeys } = this.#options;
    // A new master key could not open root keys that another one has wrapped.
    const mayCreate = (await rows.roots()).length === 0;
    const masters = masterKeys?.map((key) => ({
      ...key,
      secret: key.secret.slice(),
    })) ?? await readMasterKeyFile(dataFolder, {
      mayCreate,
      about: ABOUT_MASTER_KEY,
      logger,
    });
    try {
      return await RootKeys.open(rows, masters);
    } finally {
      for (const { secret } of masters) secret.fill(0);
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
    if (ready === undefined) return;
    ready.data.wipe();
    ready.derived.wipe();
    await ready.rows.close();
  }

  /** Keys of receipts, without those that do not open. */
  async receiptKeys(): Promise<readonly KeptReceiptKey[]> {
    const { rows, derived } = this.#demandReady();
    const kept: KeptReceiptKey[] = [];
    for (const { wrapped, madeAtMs } of await rows.receiptKeys()) {
      const seed = await derived.unwrap(RECEIPTS, wrapped, [`${madeAtMs}`]);
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
    const { rows, derived } = this.#demandReady();
    const wrapped = derived.wrap(RECEIPTS, seed, [`${madeAtMs}`]);
    await rows.addReceiptKey({ wrapped, madeAtMs }, options);
  }

  /**
   * An owner's keys with key servers, without those that do not open here.
   */
  async ownerKeys(owner: string): Promise<readonly KeptOwnerKey[]> {
    const { rows, derived } = this.#demandReady();
    const kept: KeptOwnerKey[] = [];
    for (const row of await rows.ownerKeys(owner)) {
      const { id, encrypted, sealedPublicKey, link } = row;
      const names = [id, "owner key"];
      const publicKey = await derived.unwrap(owner, sealedPublicKey, names);
      if (typeof publicKey === "string") continue;
      kept.push({ id, encrypted, publicKey, link });
    }
    return kept;
  }

  /** Stores an owner's key; it is on disk when this resolves. */
  async putOwnerKey(owner: string, key: KeptOwnerKey): Promise<void> {
    const { rows, derived } = this.#demandReady();
    const { id, encrypted, publicKey, link } = key;
    const sealedPublicKey = derived.wrap(owner, publicKey, [id, "owner key"]);
    await rows.putOwnerKey({ owner, id, encrypted, sealedPublicKey, link });
  }

  #demandReady(): Ready {
    if (this.#ready === undefined) {
      throw new Error("Cannot use the vault: it is not started");
    }
    return this.#ready;
  }
}
