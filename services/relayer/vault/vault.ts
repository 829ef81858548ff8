/**
 * The port of vaults, which seal and open owners' memories and index entries.
 * Each memory has a key of its own, so that one can be destroyed without the
 * others.
 *
 * @module
 */

import type { MemoryWords } from "../recall/ranking/memory_words.ts";
import type { Pausing } from "../../shared/slices.ts";

/** What is in a blob, beside what its envelope says. */
export interface BlobContent {
  /** The memory's id. */
  readonly id: string;
  /** The namespace. */
  readonly namespace: string;
  /** The text. */
  readonly text: string;
  /** When it was written, in milliseconds since the epoch. */
  readonly createdAtMs: number;
  /** The public key of the delegate that wrote it. */
  readonly agentId: string;
  /** How much it matters, 0 to 1. */
  readonly importance: number;
  /** What the client says of it, for filters. */
  readonly metadata: Metadata;
  /** The id of the older memory that this one replaces. */
  readonly supersedes?: string | undefined;
}

/** Names and values that a client gives a memory. */
export type Metadata = Readonly<Record<string, string | number | boolean>>;

/** A sealed blob. */
export interface SealedBlob {
  /** The envelope with all that is in it. */
  readonly bytes: Uint8Array;
  /** The key that opens it; the envelope names it too. */
  readonly keyId: string;
}

/** Why something cannot be opened. */
export type OpenFailure =
  /** The key was destroyed, or is another owner's: it will never open. */
  | "key_gone"
  /** The bytes were changed, or no vault has made them: it will never open. */
  | "damaged"
  /**
   * The ledger is away, or another vault opens the bytes: it may open later.
   */
  | "unavailable"
  /** Too few key servers answer: it may open later. */
  | "key_servers_away"
  /** The owner's key is with the key servers, and no session speaks for the owner. */
  | "session_required"
  /**
   * The key servers give the session no key, as after its delegate was removed.
   */
  | "refused";

/** Why no memory opens that needs the owner's key. */
export type OwnerKeyFailure = Extract<
  OpenFailure,
  "key_servers_away" | "session_required" | "refused"
>;

/** Tells whether a failed opening may succeed later or for another caller. */
export function mayOpenLater(why: OpenFailure): boolean {
  return why === "unavailable" || isOwnerKeyFailure(why);
}

/**
 * Tells whether a failure of one memory holds for all memories of its owner.
 */
export function isOwnerKeyFailure(why: string): why is OwnerKeyFailure {
  return why === "key_servers_away" || why === "session_required" ||
    why === "refused";
}

/** The outcome of opening. */
export type Opened<T> =
  | { readonly kind: "ok"; readonly value: T }
  | { readonly kind: "failed"; readonly why: OpenFailure };

/**
 * The outcome of opening a blob, with the id of the key that opened it:
 * destroying that key destroys the blob.
 */
export type OpenedBlob =
  | (Extract<Opened<BlobContent>, { kind: "ok" }> & { readonly keyId: string })
  | Extract<Opened<BlobContent>, { kind: "failed" }>;

/** Options of {@linkcode RelayerVault.openIndex}. */
export interface OpenIndexOptions {
  /**
   * The array that the vector is written to if it has the same width. For
   * callers that open many entries and keep none, which would fragment the
   * heap.
   *
   * @default a new one
   */
  readonly into?: Float32Array<ArrayBuffer> | undefined;
}

/** Identifies a part of a snapshot. */
export interface PartPlace {
  /** The snapshot's name. */
  readonly name: string;
  /** The part, from 0. */
  readonly part: number;
}

/** How sure a vault has to be that a key still exists. */
export interface CertainOption {
  /**
   * Whether the key is read from where it is kept. Otherwise a vault may go by
   * what it read less than a second ago, though another relayer has destroyed
   * the key since.
   *
   * @default {false}
   */
  readonly isCertain?: boolean | undefined;
}

/** Options of {@linkcode RelayerVault.open}. */
export interface OpenOptions extends CertainOption {
  /**
   * Lets other work run between decrypting a long blob and decoding it.
   *
   * @default never pauses
   */
  readonly pausing?: Pausing | undefined;
  /**
   * The memory's secret from the catalogue, for a vault that has lost it; the
   * vault keeps it if it opens the blob.
   *
   * @default the secret that the vault has
   */
  readonly memorySecret?: Uint8Array | undefined;
}

/** Seals and opens owners' memories and index entries. */
export interface RelayerVault {
  /**
   * Whether index entries are sealed with their words. Where only key servers
   * open texts they are not, for words in their order are most of a text. The
   * words are then in memory alone, and made from the texts again once those
   * can be opened.
   */
  readonly keepsWords: boolean;
  /** Opens the vault's files; required before all other calls. */
  start(): Promise<void>;
  /** Overwrites all opened keys and closes the files. */
  stop(): Promise<void>;
  /**
   * Seals a blob under a new key, which is on disk when this resolves. Keys
   * made in the same turn are written in one commit.
   */
  seal(owner: string, content: BlobContent): Promise<SealedBlob>;
  /**
   * Turns the bytes of {@linkcode RelayerVault.seal} into the blob to be
   * stored: the same bytes, or a blob that opens with the help of key servers
   * only. The key's id stays. Returns bytes unchanged that are protected
   * already or do not open.
   */
  protect(owner: string, bytes: Uint8Array): Promise<Uint8Array>;
  /**
   * Gets the key of a blob ready that is opened within the second. Where keys
   * are read over a network, those of several blobs are read together.
   */
  prepare(owner: string, bytes: Uint8Array): Promise<void>;
  /** Opens a blob. */
  open(
    owner: string,
    bytes: Uint8Array,
    options?: OpenOptions,
  ): Promise<OpenedBlob>;
  /**
   * The secret that the catalogue keeps of a memory, so that its blob can be
   * opened after this vault's files were lost. It is undefined where only these
   * files open it.
   */
  memorySecret(owner: string, keyId: string): Promise<Uint8Array | undefined>;
  /** Seals a row's vector and metadata under the owner's index key. */
  sealIndex(owner: string, entry: IndexEntry): Promise<Uint8Array>;
  /** Opens a row's vector and metadata. */
  openIndex(
    owner: string,
    bytes: Uint8Array,
    options?: OpenIndexOptions,
  ): Promise<Opened<IndexEntry>>;
  /**
   * Seals a part of a snapshot of the owner's index under the owner's index
   * key. The bytes open as that part of that snapshot only.
   */
  sealPart(
    owner: string,
    bytes: Uint8Array<ArrayBuffer>,
    place: PartPlace,
  ): Promise<Uint8Array>;
  /** Opens a part of a snapshot. */
  openPart(
    owner: string,
    bytes: Uint8Array,
    place: PartPlace,
  ): Promise<Opened<Uint8Array>>;
  /** A keyed digest of a text: texts can be compared without being stored. */
  digest(owner: string, text: string): Promise<string>;
  /** Destroys a blob's key for good; true when it was there. */
  destroy(owner: string, keyId: string): Promise<boolean>;
}

/** The data that a search needs of a memory. */
export interface IndexEntry {
  /** The vector. */
  readonly vector: Float32Array;
  /**
   * What made the vector: the embedder's name, or {@linkcode CLIENT_MODEL}.
   * Vectors of different makers don't compare.
   */
  readonly model: string;
  /** The metadata that the client gave the memory. */
  readonly metadata: Metadata;
  /** The text's words for ranking; absent where only the client can read it. */
  readonly words?: MemoryWords | undefined;
}

/**
 * The model of vectors that clients send. Their true model is unknown, so they
 * are compared whatever the embedder is.
 */
export const CLIENT_MODEL = "client";

/** The model of an entry whose vector has not been made yet. */
export const NO_MODEL = "";

/**
 * Returns the model of an entry whose text an embedder refuses for good, so
 * that words alone find it.
 */
export function refusedModel(embedder: string): string {
  return `refused by ${embedder}`;
}
