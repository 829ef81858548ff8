/**
 * What clients check before their first signed request.
 *
 * @module
 */

import type { RelayerParts } from "../parts.ts";

/** The compatibility contract, as `/version` and `/health` tell it. */
export interface Contract {
  /** The relayer's version. */
  readonly relayerVersion: string;
  /** The version of the API; its major number is what clients compare. */
  readonly apiVersion: string;
  /** The oldest clients that are served. */
  readonly minSupportedSdk: Readonly<Record<string, string>>;
  /** What this relayer can do. */
  readonly featureFlags: Readonly<Record<string, boolean>>;
  /** What will go away. */
  readonly deprecations: readonly Deprecation[];
  /** What it was built from. */
  readonly build: { readonly commit?: string };
}

/** Something that will go away. */
export interface Deprecation {
  /** What it is. */
  readonly surface: string;
  /** The version of the API since which it should not be used. */
  readonly deprecatedSince: string;
  /** The version of the API that will not have it. */
  readonly removalApiVersion: string;
  /** What to use instead. */
  readonly guidance: string;
}

/** The version of the API. */
export const API_VERSION = "1.0.0";

/**
 * Released clients compare the first number with a constant of theirs, which is
 * not their version: anything above it and all of them stop.
 */
const MIN_SUPPORTED_SDK: Readonly<Record<string, string>> = {
  typescript: "0.0.4",
  python: "0.1.0",
  mcp: "0.0.1",
};

const FEATURE_FLAGS: Readonly<Record<string, boolean>> = {
  "auth.accountBoundNonce": true,
  "auth.sealSessionHeader": true,
  "config.publicDeploymentMetadata": true,
  "memories.delete": true,
  "recall.filter": true,
  "remember.asyncJobs": true,
  "remember.bulk": true,
  "remember.statusWait": true,
  "remember.supersede": true,
  "runtime.versionEndpoint": true,
};

const DEPRECATIONS: readonly Deprecation[] = [{
  surface: "x-delegate-key",
  deprecatedSince: "1.0.0",
  removalApiVersion: "2.0.0",
  guidance: "Sign requests with the delegate key and never send it",
}];

/** The contract of this relayer. */
export function contractOf(
  { version, buildCommit: commit }: Pick<
    RelayerParts,
    "version" | "buildCommit"
  >,
): Contract {
  return {
    relayerVersion: version,
    apiVersion: API_VERSION,
    minSupportedSdk: MIN_SUPPORTED_SDK,
    featureFlags: FEATURE_FLAGS,
    deprecations: DEPRECATIONS,
    build: commit === undefined ? {} : { commit },
  };
}
