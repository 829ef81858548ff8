/**
 * A view turned back into a plain request, to compare by value.
 *
 * @module
 */

import type {
  RateLimitDescriptor,
  RateLimitRequest,
} from "../rate_limit_request.ts";
import type { RequestView } from "../request_view.ts";

/**
 * Returns the request that the view holds; `hitsAddend` is left out when it is
 * 0.
 */
export function requestOfView(view: RequestView): RateLimitRequest {
  const text = (start: number, end: number): string =>
    new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
      .decode(view.bytes.subarray(start, end));
  const descriptors: RateLimitDescriptor[] = [];
  for (let index = 0; index < view.descriptorCount; index++) {
    const entries = [];
    const last = view.lastEntry(index);
    for (let entry = view.firstEntry(index); entry < last; entry++) {
      entries.push({
        key: text(view.keyStart(entry), view.keyEnd(entry)),
        value: text(view.valueStart(entry), view.valueEnd(entry)),
      });
    }
    descriptors.push({
      entries,
      ...(view.hasLimit(index) && {
        limit: {
          requestsPerUnit: view.limitRequestsPerUnit(index),
          unit: view.limitUnit(index),
        },
      }),
      ...(view.hasHitsAddend(index) && {
        hitsAddend: view.descriptorHitsAddend(index),
      }),
      ...(view.isNegativeHits(index) && { isNegativeHits: true }),
    });
  }
  return {
    domain: text(view.domainStart, view.domainEnd),
    descriptors,
    ...(view.hitsAddend !== 0 && { hitsAddend: view.hitsAddend }),
  };
}
