/**
 * What a relayer says of its state.
 *
 * @module
 */

import type { RelayerCompatibility } from "./compatibility.ts";

/** A relayer's state; older ones tell no more than the first two. */
export interface HealthResult extends Partial<RelayerCompatibility> {
  /** `ok` when it works. */
  readonly status: string;
  /** The relayer's version. */
  readonly version: string;
  /** `production`, or `benchmark` where texts are not encrypted. */
  readonly mode?: string;
  /** Whether memories can be written now. */
  readonly write_ready?: boolean;
}
