/**
 * Owners' keys that are open, for half an hour each. An older key is wrapped
 * under a newer one, so that key servers are asked for the newer one only.
 *
 * @module
 */

import { hkdfSync } from "node:crypto";
import { BoundedMap } from "../../shared/bounded_map.ts";
import type { Clock } from "../../shared/clock.ts";
import { KEY_BYTES, openEnvelope, sealEnvelope } from "./envelope.ts";
import { readEnvelope } from "./envelope_head.ts";
import type { KeptOwnerKey } from "./kept_owner_key.ts";
import type { OwnerKeyPair } from "./memory_key.ts";

/** An opened key. */
interface OpenedKey extends OwnerKeyPair {
  readonly encrypted: Uint8Array;
  /** When the key stops counting as open, in milliseconds since the epoch. */
  readonly endsAtMs: number;
}

/** How long a key stays open: as long as the longest session. */
const KEPT_OPEN_MS = 30 * 60_000;
const NO_SALT = new Uint8Array();

/** Keeps opened keys of owners. */
export class OpenedOwnerKeys {
  readonly #clock: Clock;
  readonly #opened: BoundedMap<string, OpenedKey>;

  /** Starts without any opened key, and keeps at most `maxKeys`. */
  constructor(maxKeys: number, clock: Clock) {
    this.#clock = clock;
    this.#opened = new BoundedMap({
      maxEntries: maxKeys,
      onLeave: ({ secret }) => void secret.fill(0),
    });
  }

  /** Overwrites all keys. */
  clear(): void {
    this.#opened.clear();
  }

  /** Keeps a key, whose private half is overwritten when it leaves. */
  keep(
    owner: string,
    { id, ...key }: OwnerKeyPair & Pick<KeptOwnerKey, "id" | "encrypted">,
  ): void {
    const endsAtMs = this.#clock.nowMs() + KEPT_OPEN_MS;
    this.#opened.set(formatName(owner, id), { ...key, endsAtMs });
  }

  /** A key, to be used before anything is awaited; undefined if not open. */
  get(owner: string, id: string): OpenedKey | undefined {
    const name = formatName(owner, id);
    const known = this.#opened.get(name);
    if (known === undefined) return undefined;
    const leftMs = known.endsAtMs - this.#clock.nowMs();
    if (leftMs > 0 && leftMs <= KEPT_OPEN_MS) return known;
    this.#opened.delete(name);
    return undefined;
  }

  /** A copy of a key, which the caller overwrites; undefined if not open. */
  copy(owner: string, id: string): OwnerKeyPair | undefined {
    const known = this.get(owner, id);
    return known &&
      { secret: known.secret.slice(), publicKey: known.publicKey };
  }

  /** Wraps a key under a newer one; undefined unless both are open. */
  wrap(
    owner: string,
    { id, newerId }: { readonly id: string; readonly newerId: string },
  ): Uint8Array | undefined {
    const newer = this.get(owner, newerId);
    const older = this.get(owner, id);
    if (newer === undefined || older === undefined) return undefined;
    return wrapOlder(older.secret, { owner, id, newer });
  }
}

/**
 * Names the wrapped key (`owner`, `id`) and the key that wraps it (`newer`).
 */
interface Wrapping {
  /** The owner's address. */
  readonly owner: string;
  /** The id of the wrapped key. */
  readonly id: string;
  /** The key that wraps it. */
  readonly newer: OwnerKeyPair;
}

function wrapOlder(secret: Uint8Array, wrapping: Wrapping): Uint8Array {
  const { owner, id } = wrapping;
  const key = wrappingKey(wrapping);
  const context = ["owner key", owner];
  const options = { kind: "data_key", keyId: id, key, context } as const;
  return sealEnvelope(secret, options);
}

/**
 * Unwraps a key; undefined when the bytes were changed or are another key's.
 */
export function unwrapOlder(
  bytes: Uint8Array,
  wrapping: Wrapping,
): Uint8Array | undefined {
  const read = readEnvelope(bytes);
  if (read.kind !== "ok" || read.head.keyId !== wrapping.id) return undefined;
  const secret = openEnvelope(bytes, read.head, {
    key: wrappingKey(wrapping),
    context: ["owner key", wrapping.owner],
  });
  return secret?.length === KEY_BYTES ? secret : undefined;
}

/** Derives the wrapping key by HKDF-SHA256 (RFC 5869). */
function wrappingKey({ owner, id, newer }: Wrapping): Uint8Array {
  const info = `owner key\0${owner}\0${id}`;
  const key = hkdfSync("sha256", newer.secret, NO_SALT, info, KEY_BYTES);
  return new Uint8Array(key);
}

function formatName(owner: string, id: string): string {
  return `${id} ${owner}`;
}
