/**
 * Which stored vectors can be compared with those of the embedder.
 *
 * @module
 */

import { CLIENT_MODEL, type IndexEntry } from "../vault/vault.ts";

/** What vectors are compared with. */
export interface WantedVectors {
  /** How wide they have to be. */
  readonly width: number;
  /**
   * What has to have made them, unless a client brought them.
   *
   * @default anything
   */
  readonly model?: string;
}

/** Tells whether a vector is of the wanted width and maker. */
export function vectorFits(
  { vector, model }: Pick<IndexEntry, "vector" | "model">,
  wanted: WantedVectors,
): boolean {
  if (vector.length !== wanted.width) return false;
  return isOfClient({ model }) || wanted.model === undefined ||
    model === wanted.model;
}

/** Tells whether a vector is a client's, which cannot be made again here. */
export function isOfClient({ model }: Pick<IndexEntry, "model">): boolean {
  return model === CLIENT_MODEL;
}
