/**
 * What a client knows of a key server.
 *
 * @module
 */

import { configFault, listOf, textOf } from "./config_checks.ts";

/** A key server that holds a share of what opens a memory. */
export interface KeyServerConfig {
  /** The key server's object on the ledger. */
  readonly objectId: string;
  /**
   * How many shares it stands for.
   *
   * @default {1}
   */
  readonly weight?: number;
  /**
   * Where a committee's shares are brought together; a committee must have it.
   *
   * @default none: an independent key server
   */
  readonly aggregatorUrl?: string;
  /**
   * The header field that carries `apiKey`.
   *
   * @default none
   */
  readonly apiKeyName?: string;
  /**
   * What the key server knows its customer by.
   *
   * @default none
   */
  readonly apiKey?: string;
}

/**
 * Checks a list of key servers.
 *
 * @throws {TypeError} When it is none.
 */
export function keyServerConfigsOf(value: unknown): readonly KeyServerConfig[] {
  return listOf(value, "keyServerConfigs").map(keyServerConfigOf);
}

function keyServerConfigOf(value: unknown, index: number): KeyServerConfig {
  const name = `keyServerConfigs[${index}]`;
  if (typeof value !== "object" || value === null) {
    throw configFault(`${name} is no object`);
  }
  const given: Partial<Record<keyof KeyServerConfig, unknown>> = value;
  const { objectId, weight, aggregatorUrl, apiKeyName, apiKey } = given;
  return {
    objectId: textOf(objectId, `${name}.objectId`),
    ...(weight === undefined
      ? {}
      : { weight: weightOf(weight, `${name}.weight`) }),
    ...(aggregatorUrl === undefined
      ? {}
      : { aggregatorUrl: textOf(aggregatorUrl, `${name}.aggregatorUrl`) }),
    ...(apiKeyName === undefined
      ? {}
      : { apiKeyName: textOf(apiKeyName, `${name}.apiKeyName`) }),
    ...(apiKey === undefined
      ? {}
      : { apiKey: textOf(apiKey, `${name}.apiKey`) }),
  };
}

function weightOf(value: unknown, name: string): number {
  if (typeof value === "number" && Number.isInteger(value) && value > 0) {
    return value;
  }
  throw configFault(`${name} is no whole number above 0`);
}
