/**
 * What all instances of the service on one store have to agree on: the key that
 * signs cursors, which the first start makes, and the master keys, which each
 * instance has from a file or setting of its own.
 *
 * @module
 */

import { isJsonObject } from "../../shared/schema/schema.ts";
import type { MasterKeys } from "../secrets/master_keys.ts";
import type { Store } from "../store/store.ts";
import { Maintainer, type MaintainerParts } from "./maintainer.ts";
import type { EngineParts } from "./parts.ts";
import { serviceWrite } from "./record_writes.ts";
import { REGISTRY } from "./repositories.ts";

/**
 * The record that has the key for cursors, so that cursors outlive a restart
 * and are valid at every instance.
 */
const CURSOR_KEY = { tenantId: REGISTRY, id: "cursor_key" };

/**
 * The key that signs cursors; made at the first start. Of several first starts
 * at once, one makes it, and the others take that one.
 *
 * @throws {Error} when the store fails
 */
export async function cursorKey(
  store: Pick<Store, "record" | "commit">,
  randomBytes: (length: number) => Uint8Array,
): Promise<Uint8Array> {
  const { tenantId, id } = CURSOR_KEY;
  const known = await store.record("service", tenantId, id);
  if (known !== undefined) return Uint8Array.fromBase64(known.text);
  const key = randomBytes(32);
  const writes = [serviceWrite(CURSOR_KEY, key.toBase64())];
  const [result] = await store.commit([{ writes }]);
  if (result?.kind === "ok") return key;
  const made = await store.record("service", tenantId, id);
  if (made !== undefined) return Uint8Array.fromBase64(made.text);
  throw new Error(
    "Cannot sign cursors: their key could neither be read nor written",
  );
}

/** The record that has the fingerprints of the instances' master keys. */
const FINGERPRINTS = { tenantId: REGISTRY, id: "master_keys" };

/** How often the fingerprints are compared, in milliseconds. */
const INTERVAL_MS = 60_000;
/**
 * How long an instance counts that no longer writes its fingerprints, in
 * milliseconds.
 */
const FORGOTTEN_MS = 2.5 * INTERVAL_MS;
/** How often it is tried again when other instances write first. */
const MAX_TRIES = 5;

/** The master keys of an instance, as others see them. */
interface Entry {
  /** The keys' fingerprints, sorted; never a key. */
  readonly keys: readonly string[];
  /** When it was written, in milliseconds since the epoch. */
  readonly atMs: number;
}

/** Options of {@linkcode MasterKeyWatch}. */
interface MasterKeyWatchOptions {
  /** The engine's parts. */
  readonly parts: MaintainerParts & Pick<EngineParts, "store">;
  /** The keys of this instance; undefined where it keeps no secrets. */
  readonly masterKeys: MasterKeys | undefined;
}

/**
 * Compares the master keys of the instances: each writes the fingerprints of
 * its own to one record. An instance that is alone writes once.
 */
export class MasterKeyWatch extends Maintainer {
  readonly #options: MasterKeyWatchOptions;
  readonly #own: readonly string[];
  #isDifferent = false;

  /** Creates the watch without starting it. */
  constructor(options: MasterKeyWatchOptions) {
    super({
      parts: options.parts,
      intervalMs: INTERVAL_MS,
      failure: "Cannot compare master keys with other instances: the store " +
        "failed",
    });
    this.#options = options;
    this.#own = options.masterKeys?.fingerprints().toSorted() ?? [];
  }

  /**
   * Whether another instance had other master keys when they were compared:
   * then one may seal what the other cannot open.
   */
  get isDifferent(): boolean {
    return this.#isDifferent;
  }

  /** Compares the keys, and writes those of this instance where others look. */
  override async runOnce(): Promise<void> {
    const { instances, clock, logger } = this.#options.parts;
    const ownId = instances.id;
    await this.#change((entries) => {
      const nowMs = clock.nowMs();
      const others = [...entries].filter(([id, { atMs }]) =>
        id !== ownId && Math.abs(nowMs - atMs) < FORGOTTEN_MS
      );
      const isDifferent = others.some(([, { keys }]) =>
        keys.join() !== this.#own.join()
      );
      if (isDifferent !== this.#isDifferent) {
        this.#isDifferent = isDifferent;
        if (isDifferent) {
          logger.warn(
            "Cannot rely on the master keys: another instance has others; " +
              "give all of them the same MASTER_KEYS or file",
          );
        } else logger.info("All instances have the same master keys");
      }
      const known = entries.get(ownId);
      const isSeen = known !== undefined &&
        (others.length === 0 || nowMs - known.atMs < INTERVAL_MS / 2);
      return isSeen
        ? undefined
        : new Map([...others, [ownId, { keys: this.#own, atMs: nowMs }]]);
    });
  }

  /** Stops, and has the others forget this instance. */
  override async stop(): Promise<void> {
    await super.stop();
    const { instances, logger } = this.#options.parts;
    try {
      await this.#change((entries) =>
        entries.delete(instances.id) ? entries : undefined
      );
    } catch (error) {
      // The others forget it by themselves, a little later.
      logger.warn("Cannot tell other instances of the stop: the store failed", {
        error: String(error),
      });
    }
  }

  /** Reads the record and writes what `decide` makes of it. */
  async #change(
    decide: (entries: Map<string, Entry>) => Map<string, Entry> | undefined,
  ): Promise<void> {
    const { store } = this.#options.parts;
    const { tenantId, id } = FINGERPRINTS;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const record = await store.record("service", tenantId, id);
      const next = decide(parseEntries(record?.text ?? "{}"));
      if (next === undefined) return;
      const text = JSON.stringify(Object.fromEntries(next));
      const writes = [serviceWrite(FINGERPRINTS, text, record?.version)];
      const [result] = await store.commit([{ writes }]);
      if (result?.kind === "ok") return;
    }
    // So many instances write at this moment; this one does so in the next
    // round.
  }
}

/** Reads the record; what is not an entry is left out. */
function parseEntries(text: string): Map<string, Entry> {
  const parsed: unknown = JSON.parse(text);
  const entries = new Map<string, Entry>();
  if (!isJsonObject(parsed)) return entries;
  for (const [id, entry] of Object.entries(parsed)) {
    if (!isJsonObject(entry)) continue;
    const { keys, atMs } = entry;
    if (!Array.isArray(keys) || typeof atMs !== "number") continue;
    entries.set(id, { keys: keys.map(String), atMs });
  }
  return entries;
}
