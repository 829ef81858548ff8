/**
 * Builds requests for decisions, in the form that JSON and protobufjs share.
 *
 * @module
 */

/** A request for a decision. */
export interface PlainRequest {
  /** The domain of the rules. */
  readonly domain: string;
  /** The descriptors that the rules are matched with. */
  readonly descriptors: readonly {
    readonly entries: readonly {
      readonly key: string;
      readonly value: string;
    }[];
  }[];
}

/** Returns a request with one descriptor for each object of keys and values. */
export function createRequest(
  domain: string,
  ...descriptors: readonly (Readonly<Record<string, string>>)[]
): PlainRequest {
  return {
    domain,
    descriptors: descriptors.map((pairs) => ({
      entries: Object.entries(pairs).map(([key, value]) => ({ key, value })),
    })),
  };
}

/**
 * Returns a rules file with one rule: `key` is limited to `limit` requests a
 * day.
 */
export function dailyRule(
  domain: string,
  rule: { readonly key: string; readonly limit: number },
): string {
  return `domain: ${domain}
descriptors:
  - key: ${rule.key}
    rate_limit:
      unit: day
      requests_per_unit: ${rule.limit}
`;
}

/**
 * Waits until the current window of `windowSeconds` has at least `neededMs`
 * left, so that a test does not run across the end of the window.
 */
export async function awayFromBorder(
  windowSeconds: number,
  neededMs: number,
): Promise<void> {
  const leftMs = windowSeconds * 1_000 - Date.now() % (windowSeconds * 1_000);
  if (leftMs >= neededMs) return;
  await new Promise((resolve) => setTimeout(resolve, leftMs + 20));
}
