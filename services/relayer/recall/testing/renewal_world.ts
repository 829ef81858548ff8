/**
 * Renewals of entries over the parts of {@linkcode MemoryWorld}.
 *
 * @module
 */

import { assert } from "@std/assert";
import { NEVER_PAUSING } from "../../../shared/slices.ts";
import type { EmbedOutcome } from "../../embed/embedder.ts";
import type { IndexEntry } from "../../vault/vault.ts";
import { EntryRenewal } from "../entry_renewal.ts";
import type { RenewalProgress } from "../renewal_report.ts";
import { OwnerLoad } from "../owner_load.ts";
import { MemoryWorld, OWNER } from "./memory_world.ts";
import { VectorIndex } from "../vector_index.ts";

/** Another owner. */
export const OTHER = "0x0b";

/** An embedder that is away. */
export const AWAY = {
  kind: "unavailable",
  reason: "away",
  isPassing: true,
} as const;

/** The index as a load of all entries makes it. */
export async function loaded(world: MemoryWorld): Promise<VectorIndex> {
  const { store, vault, embedder } = world;
  const index = new VectorIndex(embedder.width);
  const wanted = { width: embedder.width, model: embedder.model };
  await new OwnerLoad(OWNER, { store, vault, index, wanted }).run({
    pausing: NEVER_PAUSING,
    signal: new AbortController().signal,
  });
  return index;
}

/** A world with the memories `m0`, `m1` and so on. */
export async function createWorld(
  texts: readonly string[],
): Promise<MemoryWorld> {
  const world = new MemoryWorld();
  for (const [number, text] of texts.entries()) {
    await world.remember({ id: `m${number}`, text, metadata: { number } });
  }
  return world;
}

/** A renewal, and the texts that it asks the embedder for. */
export function createRenewal(
  world: MemoryWorld,
  { perSecond = Infinity, refuses = () => false, isAlone = false, isMine }: {
    readonly isMine?: () => boolean;
    readonly perSecond?: number;
    readonly refuses?: (texts: readonly string[]) => boolean;
    /** Whether there is no index, as in the command. */
    readonly isAlone?: boolean;
  } = {},
): {
  readonly renewal: EntryRenewal;
  readonly asked: (readonly string[])[];
} {
  const asked: (readonly string[])[] = [];
  const { embedder } = world;
  const renewal = new EntryRenewal({
    ...{ ...world, index: isAlone ? undefined : world.index, perSecond },
    isMine,
    embedder: {
      width: embedder.width,
      get model() {
        return embedder.model;
      },
      embed(texts, options): Promise<EmbedOutcome> {
        asked.push(texts);
        return refuses(texts)
          ? Promise.resolve({
            ...{ kind: "unavailable", reason: "refused", isPassing: false },
          })
          : embedder.embed(texts, options);
      },
    },
  });
  return { renewal, asked };
}

/** Goes through all memories once. */
export async function run(
  renewal: EntryRenewal,
  signal = new AbortController().signal,
): Promise<RenewalProgress> {
  return await renewal.run(signal);
}

/** The entry of a memory's row. */
export async function openEntry(
  world: MemoryWorld,
  id: string,
  owner = OWNER,
): Promise<IndexEntry> {
  const row = world.store.rows.get(`${owner}/${id}`);
  assert(row !== undefined);
  const opened = await world.vault.openIndex(owner, row.sealedIndex);
  assert(opened.kind === "ok");
  return opened.value;
}
