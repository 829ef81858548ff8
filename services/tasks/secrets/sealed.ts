/**
 * Secrets at rest: sealed with the tenant's key and bound to their row, so that
 * one moved to another row, or an older version put back, doesn't open.
 *
 * @module
 */

import { associatedData } from "./associated_data.ts";
import { open, type OpenFailure, seal } from "./envelope.ts";
import type { SealingKey } from "./master_keys.ts";

/** Where a secret is stored. */
export interface SecretRow {
  /** The tenant. */
  readonly tenantId: string;
  /** The worker. */
  readonly workerId: string;
  /**
   * The secret's name. Those that clients give have capitals only, so the
   * service's own secrets have names in small letters.
   */
  readonly name: string;
  /** Its version, from 1. */
  readonly version: number;
}

/** Options of {@linkcode sealSecret} and {@linkcode openSecret}. */
export interface SecretOptions {
  /** Where it is stored. */
  readonly row: SecretRow;
  /** The key of the tenant. */
  readonly key: SealingKey;
}

/** What opening a secret comes to. */
export type SecretOutcome =
  | { readonly kind: "ok"; readonly value: string }
  | OpenFailure;

/**
 * Seals a secret for its row.
 *
 * @throws {TypeError} When the value holds half a surrogate pair: what opens
 * later would be another value.
 */
export function sealSecret(value: string, options: SecretOptions): string {
  if (!value.isWellFormed()) {
    throw new TypeError("Cannot seal the secret: it is no valid Unicode");
  }
  return seal(new TextEncoder().encode(value), {
    key: options.key,
    associatedData: placeOf(options.row),
  });
}

/** Opens the secret of a row. */
export function openSecret(
  sealed: string,
  options: SecretOptions,
): SecretOutcome {
  const { key, row } = options;
  const outcome = open(sealed, {
    findKey: (id) => id === key.id ? key : undefined,
    associatedData: placeOf(row),
  });
  if (outcome.kind !== "ok") return outcome;
  const value = new TextDecoder("utf-8", { ignoreBOM: true })
    .decode(outcome.bytes);
  return { kind: "ok", value };
}

function placeOf(row: SecretRow): Uint8Array {
  return associatedData([
    "secret",
    row.tenantId,
    row.workerId,
    row.name,
    String(row.version),
  ]);
}
