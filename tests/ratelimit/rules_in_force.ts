/**
 * What rules a running service decides by.
 *
 * @module
 */

import { waitUntil } from "../support/wait_until.ts";
import { postJson } from "./http_caller.ts";
import { requestOf } from "./requests.ts";

/** Where a rule is looked for. */
export interface RulePlace {
  /** Its domain. */
  readonly domain: string;
  /** Its key. */
  readonly key: string;
}

/** Requests a unit that a rule allows; undefined when there is none. */
export async function limitInForce(
  httpUrl: string,
  { domain, key }: RulePlace,
): Promise<number | undefined> {
  // A look without counting, so that it never runs over the limit.
  const request = requestOf(domain, { [key]: "looked_at" });
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

/** Waits until a rule has this limit; undefined waits until there is none. */
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
