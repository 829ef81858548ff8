/**
 * The page `/debug/counters`: the counters that a request touches, read with
 * GET and reset with DELETE, which a page of another origin can't send.
 *
 * @module
 */

import type { HttpRequest } from "../../shared/http/exchange.ts";
import type { Logger } from "../../shared/logger.ts";
import { quote } from "../../shared/quote.ts";
import type { CounterResult } from "../counters/counter_store.ts";
import type { ExplainedLimit } from "../decision/explain.ts";
import { findLook, type WholeExplanation } from "../decision/explain_text.ts";
import { windowWords } from "../rules/snapshot.ts";
import { type DebugPage, parseQuery } from "./debug_page.ts";
import { type Explainer, faultPage, queryRequest } from "./explain_page.ts";

/** A counter of a request, as the page shows it. */
export interface ShownCounter {
  /** Index of the descriptor, from 0. */
  readonly descriptor: number;
  /** The rule's path; null for a limit that came with the request. */
  readonly rule: string | null;
  /** What tells it from the other limits of its descriptor; empty for one. */
  readonly label: string;
  /** The limit in words: `10 per MINUTE`. */
  readonly limit: string;
  /** The key in the store, without the start of its window. */
  readonly key: string;
  /** Hits that are used up. */
  readonly used: number;
  /** Hits that remain. */
  readonly remaining: number;
}

const USAGE = `Shows the counters that a request touches, or resets them:
  curl 'http://127.0.0.1:6070/debug/counters?domain=D&descriptors=key=value'
  curl -X DELETE 'http://127.0.0.1:6070/debug/counters?domain=D&descriptors=…'
Further parameters: descriptors may be repeated; format=text|json.
`;

/**
 * Makes the page of the counters that the request in the query touches; with
 * the method DELETE they are reset first, and shown as they were.
 */
export async function countersPage(
  request: HttpRequest,
  { explainer, logger }: {
    /** Reads the counters. */
    readonly explainer: Explainer;
    /** Takes a line for each reset. */
    readonly logger: Pick<Logger, "info">;
  },
): Promise<DebugPage> {
  const query = parseQuery(request);
  if (!query.has("domain") && !query.has("descriptors")) {
    return {
      text: () => USAGE,
      json: () => ({ usage: USAGE }),
    };
  }
  const isReset = request.method === "DELETE";
  const written = queryRequest(query);
  if (written.kind === "invalid") return faultPage(written.problem);
  const outcome = isReset
    ? await explainer.reset(written.request)
    : await explainer.explain(written.request);
  if (outcome.kind === "no_rules") {
    return faultPage("no rate limit configuration loaded", 503);
  }
  if (outcome.kind === "invalid") return faultPage(outcome.problem);
  const { whole } = outcome;
  if (whole.counts.kind === "unavailable") {
    const reason = `the store does not answer: ${whole.counts.reason}`;
    return faultPage(reason, 503);
  }
  const counters = shownCounters(whole);
  if (isReset) {
    logger.info("Counters reset", {
      domain: quote(whole.explanation.domain),
      keys: counters.map(({ key }) => quote(key)).join(" "),
    });
  }
  return {
    text: () =>
      counters.map((one) => `${counterLine(one, isReset)}\n`).join(""),
    json: () => ({ counters, isReset }),
  };
}

function shownCounters(whole: WholeExplanation): readonly ShownCounter[] {
  return whole.explanation.descriptors.flatMap(({ limits }, descriptor) =>
    limits.map((limit) => ({
      descriptor,
      rule: limit.rulePath ?? null,
      label: limit.label,
      limit: `${limit.requestsPerUnit} per ${windowWords(limit)}`,
      key: limit.counterKey,
      ...toUsage(findLook(whole, limit) ?? 0, limit),
    }))
  );
}

function toUsage(
  look: CounterResult,
  { capacity }: ExplainedLimit,
): Pick<ShownCounter, "used" | "remaining"> {
  return typeof look === "number"
    ? { used: look, remaining: Math.max(0, capacity - look) }
    : { used: capacity - look.remaining, remaining: look.remaining };
}

/** Returns a counter as a line for a person. */
export function counterLine(counter: ShownCounter, isReset: boolean): string {
  const { rule, label, limit, key, used, remaining } = counter;
  const name = rule ?? "limit of the request";
  const which = label === "" ? "" : ` (${label})`;
  const state = isReset
    ? `reset, ${used} had been used`
    : `${used} used, ${remaining} left`;
  return `${name}${which}: ${limit}: ${state}; counter ${quote(key)}`;
}
