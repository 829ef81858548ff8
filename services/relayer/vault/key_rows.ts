/**
 * The port of what keeps wrapped keys: root keys, keys of memories, owners' keys
 * behind key servers, and keys of receipts.
 *
 * @module
 */

/** A root key as it is kept. */
export interface WrappedRoot {
  /** Its id. */
  readonly id: string;
  /** The id of the master key that it was made for. */
  readonly masterId: string;
  /** Its envelope. */
  readonly wrapped: Uint8Array;
}

/** A data key as it is kept. */
export interface WrappedDataKey {
  /** The owner's address. */
  readonly owner: string;
  /** Its id. */
  readonly keyId: string;
  /** Its envelope. */
  readonly wrapped: Uint8Array;
}

/** A key of receipts as it is kept. */
export interface WrappedReceiptKey {
  /** Its envelope. */
  readonly wrapped: Uint8Array;
  /** When it was made, in milliseconds since the epoch. */
  readonly madeAtMs: number;
}

/** An owner's key behind key servers as it is kept. */
export interface OwnerKeyRow {
  /** The owner's address. */
  readonly owner: string;
  /** Its id, the SHA-256 of `encrypted` in hexadecimal digits. */
  readonly id: string;
  /** Its private half, encrypted for the key servers. */
  readonly encrypted: Uint8Array;
  /** Its public half, sealed: only who can open keys can put in another one. */
  readonly sealedPublicKey: Uint8Array;
  /** The id of a newer key, and the private half wrapped under that key. */
  readonly link?:
    | { readonly newerId: string; readonly wrapped: Uint8Array }
    | undefined;
}

/**
 * Is called with a data key that was destroyed or replaced, so that what was read
 * of it before is forgotten. It may be called more than once for a key, and
 * for one that is still there.
 */
export type KeyGone = (owner: string, keyId: string) => void;

/** What relayers tell each other of keys. */
export interface KeyNotice {
  /** A data key was destroyed or replaced. */
  readonly kind: "key_gone";
  /** Its owner. */
  readonly owner: string;
  /** Its id. */
  readonly keyId: string;
}

/** Carries notices between relayers; some may be lost. */
export interface KeyNotices {
  /** Tells the other relayers soon. */
  tell(notice: KeyNotice): void;
  /**
   * Calls `hear` with what others tell.
   *
   * @returns a function that ends it
   */
  listen(hear: (notice: KeyNotice) => void): () => void;
}

/** Opens the rows for a vault, which closes them. */
export type OpenKeyRows = (onGone: KeyGone) => KeyRows;

/**
 * Keeps wrapped keys. A call's writes are durable when it resolves, and then
 * nothing of a key that was destroyed or replaced can be read from the tables. Calls fail with a `StoreFailedError` where the store does; it is
 * unknown then what was written.
 */
export interface KeyRows {
  /** Where the keys are, for messages: `"keys.db"`. */
  readonly place: string;
  /**
   * For how many milliseconds rows that were read may be used; without end
   * where this process alone changes them.
   */
  readonly maxAgeMs: number;
  /** All root keys, the oldest first. */
  roots(): Promise<readonly WrappedRoot[]>;
  /**
   * Calls `decide` with all root keys, the oldest first, while no other process
   * changes them. What it returns is added, or replaces the envelope of one that
   * is there. It may be called again after what it did was undone.
   *
   * @throws what `decide` throws; then nothing is written
   */
  changeRoots(
    decide: (there: readonly WrappedRoot[]) => readonly WrappedRoot[],
  ): Promise<void>;
  /** Adds a data key; fails where the owner has one of that id. */
  add(key: WrappedDataKey): Promise<void>;
  /** Adds a data key unless the owner has one of that id. */
  addMissing(key: WrappedDataKey): Promise<void>;
  /** The envelope of an owner's data key. */
  get(owner: string, keyId: string): Promise<Uint8Array | undefined>;
  /** Puts another envelope in the place of a data key, if it is there. */
  replace(key: WrappedDataKey): Promise<void>;
  /** Destroys a data key; true when it was there. */
  destroy(owner: string, keyId: string): Promise<boolean>;
  /** An owner's keys behind key servers, the newest first. */
  ownerKeys(owner: string): Promise<readonly OwnerKeyRow[]>;
  /** Adds an owner's key, or sets the link of an existing one. */
  putOwnerKey(key: OwnerKeyRow): Promise<void>;
  /** Wrapped keys of receipts, the oldest first. */
  receiptKeys(): Promise<readonly WrappedReceiptKey[]>;
  /**
   * Adds a wrapped key of receipts; with `isFirst` only where there is none, as
   * several relayers may start at once.
   */
  addReceiptKey(
    key: WrappedReceiptKey,
    options: { readonly isFirst: boolean },
  ): Promise<void>;
  /** Writes what waits and closes. */
  close(): Promise<void>;
}
