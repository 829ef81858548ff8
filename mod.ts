/**
 * Tercet's SDK: clients for the services of an application back end.
 *
 * ```ts
 * import { RateLimitClient } from "@tercet/sdk";
 *
 * const limits = new RateLimitClient({ url: "http://127.0.0.1:8080" });
 * ```
 *
 * @module
 */

export {
  type Descriptor,
  type Entry,
  type LimitStatus,
  RateLimitClient,
  type RateLimitClientOptions,
  type RateLimitDecision,
  RateLimitError,
  type RateLimitRequest,
} from "./sdk/ratelimit.ts";
