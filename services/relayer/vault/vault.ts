/**
 * Opens and seals for owners, as a port. Each memory has a key of its own, so
 * that one can be destroyed without the others.
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
  /** The memory whose place it takes. */
  readonly supersedes?: string | undefined;
}

/** What a client says of a memory. */
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
  /** The bytes were changed, or are none of ours: it will never open. */
  | "damaged"
  /** The key server does not answer: it may open later. */
  | "unavailable"
  /** Too few key servers answer: it may open later. */
  | "key_servers_away"
  /** The owner's key is with the key servers, and no session speaks for the owner. */
  | "session_required"
  /** The key servers give who asks no key, such as a delegate that was removed. */
  | "refused";

/** Why nothing of an owner opens that its key is needed for. */
export type OwnerKeyFailure = Extract<
  OpenFailure,
  "key_servers_away" | "session_required" | "refused"
>;

/** Tells whether what failed to open may open at another time, or for another caller. */
export function mayOpenLater(why: OpenFailure): boolean {
  return why === "unavailable" || isOwnerKeyFailure(why);
}

/** Tells what holds for all memories of an owner from what one of them has. */
export function isOwnerKeyFailure(why: string): why is OwnerKeyFailure {
  return why === "key_servers_away" || why === "session_required" ||
    why === "refused";
}

/** The outcome of opening. */
export type Opened<T> =
  | { readonly kind: "ok"; readonly value: T }
  | { readonly kind: "failed"; readonly why: OpenFailure };

/**
 * The outcome of opening a blob, with the key that opened it: to destroy that is to
 * destroy the blob.
 */
export type OpenedBlob =
  | (Extract<Opened<BlobContent>, { kind: "ok" }> & { readonly keyId: string })
  | Extract<Opened<BlobContent>, { kind: "failed" }>;

/** Options of {@linkcode RelayerVault.openIndex}. */
export interface OpenIndexOptions {
  /**
   * Where a vector as wide as this is written, for callers who open many and keep
   * none: their memory would be in pieces after it.
   *
   * @default a new one
   */
  readonly into?: Float32Array<ArrayBuffer> | undefined;
}

/** Which part of which snapshot. */
export interface PartPlace {
  /** The snapshot's name. */
  readonly name: string;
  /** The part, from 0. */
  readonly part: number;
}

/** Options of {@linkcode RelayerVault.open}. */
export interface OpenOptions {
  /**
   * Asked before a long blob is read.
   *
   * @default it is read as soon as it is opened
   */
  readonly pausing?: Pausing | undefined;
  /**
   * The memory's secret as the catalogue has it; kept when it opens the blob.
   *
   * @default the one that is kept
   */
  readonly memorySecret?: Uint8Array | undefined;
}

/** Opens and seals. */
export interface RelayerVault {
  /**
   * Whether entries of the index keep their words. Where only key servers open texts
   * they do not, for words in their order are most of a text: then they are in memory
   * alone, and made of the texts again once these can be opened.
   */
  readonly keepsWords: boolean;
  /** Gets ready. */
  start(): Promise<void>;
  /** Lets go of all keys. */
  stop(): Promise<void>;
  /**
   * Seals a blob under a new key, which is on disk when this answers. Commits of
   * one turn share their way to the disk.
   */
  seal(owner: string, content: BlobContent): Promise<SealedBlob>;
  /**
   * Makes of what {@linkcode RelayerVault.seal} gave the blob that is kept: the same
   * bytes, or those that only key servers can have opened. The key's id stays. What
   * is protected already comes back as it is, and so does what this vault cannot open.
   */
  protect(owner: string, bytes: Uint8Array): Promise<Uint8Array>;
  /** Opens a blob. */
  open(
    owner: string,
    bytes: Uint8Array,
    options?: OpenOptions,
  ): Promise<OpenedBlob>;
  /**
   * What the catalogue is to keep of a memory's key, so that the blob can be opened
   * after all that is here was lost; undefined where only what is here opens it.
   */
  memorySecret(owner: string, keyId: string): Promise<Uint8Array | undefined>;
  /** Seals a row's vector and metadata under the owner's index key. */
  sealIndex(owner: string, entry: IndexEntry): Promise<Uint8Array>;
  /** Opens them. */
  openIndex(
    owner: string,
    bytes: Uint8Array,
    options?: OpenIndexOptions,
  ): Promise<Opened<IndexEntry>>;
  /**
   * Seals a part of a snapshot of the owner's index under the owner's index key: it
   * opens as that part of that snapshot alone.
   */
  sealPart(
    owner: string,
    bytes: Uint8Array<ArrayBuffer>,
    place: PartPlace,
  ): Promise<Uint8Array>;
  /** Opens it. */
  openPart(
    owner: string,
    bytes: Uint8Array,
    place: PartPlace,
  ): Promise<Opened<Uint8Array>>;
  /** A keyed digest of a text, to compare texts by without keeping them. */
  digest(owner: string, text: string): Promise<string>;
  /** Destroys a blob's key for good; true when it was there. */
  destroy(owner: string, keyId: string): Promise<boolean>;
}

/** What of a memory is needed to find it. */
export interface IndexEntry {
  /** The vector. */
  readonly vector: Float32Array;
  /**
   * What made the vector: the embedder's name, or {@linkcode CLIENT_MODEL}.
   * Vectors of different makers don't compare.
   */
  readonly model: string;
  /** What the client says of it. */
  readonly metadata: Metadata;
  /** What ranking knows of the text; absent where only the client can read it. */
  readonly words?: MemoryWords | undefined;
}

/**
 * The model of vectors that clients brought: it is not known what made them, so
 * they count whatever the embedder is.
 */
export const CLIENT_MODEL = "client";
