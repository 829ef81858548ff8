/**
 * Finds out which limits a running service applies.
 *
 * @module
 */

import { waitUntil } from "../support/wait_until.ts";
import { postJson } from "./http_caller.ts";
import { createRequest } from "./requests.ts";

/** The domain and key by which a rule is found. */
export interface RulePlace {
  /** The domain of the rule. */
  readonly domain: string;
  /** The key of the rule. */
  readonly key: string;
}

/**
 * Returns the limit of a rule, in requests per unit; `undefined` when no rule
 * applies.
 */
export async function limitInForce(
  httpUrl: string,
  { domain, key }: RulePlace,
): Promise<number | undefined> {
  // A request that adds no hits, so that it never exceeds the limit.
  const request = createRequest(domain, { [key]: "looked_at" });
  const { status, text } = await postJson(httpUrl, {
    ...request,
    descriptors: request.descriptors.map((descriptor) => ({
      ...descriptor,
      hitsAddend: 0,
    })),
  });
  if (status !== 200) throw new Error(`Cannot look at a rule: ${text}`);
  return JSON.parse(text).statuses[0].currentLimit?.requestsPerUnit;
}

/**
 * Waits until a rule has this limit; `undefined` waits until no rule applies.
 */
export async function waitForLimit(
  httpUrl: string,
  place: RulePlace,
  limit: number | undefined,
): Promise<void> {
  await waitUntil(
    async () => await limitInForce(httpUrl, place) === limit,
    { what: `limit ${limit} of "${place.domain}"`, intervalMs: 20 },
  );
}
