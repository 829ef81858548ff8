/**
 * The page `/debug/explain`: which rule applies to a request, why the other
 * rules do not, and what its counters hold. Counters are read, not changed.
 *
 * @module
 */

import type { RateLimitRequest } from "../../../proto/rate_limit_request.ts";
import type { Clock } from "../../shared/clock.ts";
import type { HttpRequest } from "../../shared/http/exchange.ts";
import type { CounterStore } from "../counters/counter_store.ts";
import { type DecisionRules, explainRequest } from "../decision/explain.ts";
import {
  type ExplainedCounts,
  explanationJson,
  explanationText,
  type WholeExplanation,
} from "../decision/explain_text.ts";
import { lookBatch, predict, resetBatch } from "../decision/predict.ts";
import type { Snapshot } from "../rules/snapshot.ts";
import { type DebugPage, parseQuery } from "./debug_page.ts";
import {
  jsonRequest,
  viewOfRequest,
  type WrittenRequest,
  writtenRequest,
} from "./written_request.ts";

/** The parts of an {@linkcode Explainer}. */
interface ExplainerOptions {
  /** Returns the current rules; undefined before the first. */
  readonly snapshot: () => Snapshot | undefined;
  /** Store whose counters are read. */
  readonly store: CounterStore;
  /** How decisions are made. */
  readonly rules: DecisionRules;
  /** Gives the time. */
  readonly clock: Pick<Clock, "nowMs">;
}

/** An explanation, or why no explanation can be given. */
type ExplainOutcome =
  | { readonly kind: "explained"; readonly whole: WholeExplanation }
  | { readonly kind: "invalid"; readonly problem: string }
  | { readonly kind: "no_rules" };

/** Most descriptors of a request that is explained: a person reads the page. */
const MAX_DESCRIPTORS = 100;
const MAX_BODY_BYTES = 65_536;

/** Explains requests by the rules in force and the counters as they are. */
export class Explainer {
  readonly #options: ExplainerOptions;

  /** Makes an explainer from the parts of a running service. */
  constructor(options: ExplainerOptions) {
    this.#options = options;
  }

  /** Explains a request; its counters are read from the store, not changed. */
  explain(request: RateLimitRequest): Promise<ExplainOutcome> {
    return this.#explain(request, { isReset: false });
  }

  /**
   * Resets the counters of a request: all their hits are given back. Explains
   * the request as it was before.
   */
  reset(request: RateLimitRequest): Promise<ExplainOutcome> {
    return this.#explain(request, { isReset: true });
  }

  async #explain(
    request: RateLimitRequest,
    { isReset }: { readonly isReset: boolean },
  ): Promise<ExplainOutcome> {
    const { store, rules, clock } = this.#options;
    const snapshot = this.#options.snapshot();
    if (snapshot === undefined) return { kind: "no_rules" };
    const view = viewOfRequest(request, { maxDescriptors: MAX_DESCRIPTORS });
    if (typeof view === "string") return { kind: "invalid", problem: view };
    const explanation = explainRequest(view, { snapshot, rules });
    if (explanation.kind === "invalid") {
      return { kind: "invalid", problem: explanation.reason };
    }
    const nowSeconds = Math.floor(clock.nowMs() / 1000);
    const { plan } = explanation;
    const answer = plan.operations.length === 0
      ? { kind: "counted" as const, results: [] }
      : await store.apply(lookBatch(plan, nowSeconds));
    if (isReset && answer.kind === "counted" && answer.results.length > 0) {
      const reset = await store.apply(resetBatch(plan, nowSeconds));
      if (reset.kind === "unavailable") {
        const whole = { explanation, counts: reset, nowSeconds };
        return { kind: "explained", whole };
      }
    }
    const counts: ExplainedCounts = answer.kind === "unavailable" ? answer : {
      kind: "counted",
      looks: answer.results,
      prediction: predict(plan, { looks: answer.results, nowSeconds, rules }),
    };
    return {
      kind: "explained",
      whole: { explanation, counts, nowSeconds },
    };
  }
}

/** The explainers that a request for the page can choose from. */
export interface Explainers {
  /** Explains by the rules in force and their counters. */
  readonly live: Explainer;
  /**
   * Explains by the candidate's rules and counters; undefined without a
   * candidate.
   */
  readonly candidate: Explainer | undefined;
}

const USAGE = `Explains a decision without counting it:
  curl 'http://127.0.0.1:6070/debug/explain?domain=D&descriptors=key=value,key2=value2'
  curl -d '{"domain":"D","descriptors":[{"entries":[{"key":"k","value":"v"}]}]}' \\
    http://127.0.0.1:6070/debug/explain
Further parameters: descriptors may be repeated; hits=N; rules=live|candidate,
for the rules and counters of CANDIDATE_CONFIG_DIR; format=text|json.
`;

/**
 * Makes the page that explains the request in the query, or in the JSON body.
 */
export async function explainPage(
  request: HttpRequest,
  explainers: Explainers,
): Promise<DebugPage> {
  const query = parseQuery(request);
  const isPost = request.method === "POST";
  if (!isPost && !query.has("domain") && !query.has("descriptors")) {
    return usagePage();
  }
  const explainer = pickExplainer(query.get("rules") ?? "live", explainers);
  if (typeof explainer === "string") return faultPage(explainer);
  const written = isPost ? await postedRequest(request) : queryRequest(query);
  if (written.kind === "invalid") return faultPage(written.problem);
  const outcome = await explainer.explain(written.request);
  switch (outcome.kind) {
    case "no_rules":
      return faultPage("no rate limit configuration loaded", 503);
    case "invalid":
      return faultPage(outcome.problem);
    case "explained": {
      const { whole } = outcome;
      return {
        text: () => explanationText(whole),
        json: () => explanationJson(whole),
      };
    }
  }
}

/** Returns the explainer of the rules in `?rules=`, or the reason of a refusal. */
export function pickExplainer(
  rules: string,
  { live, candidate }: Explainers,
): Explainer | string {
  if (rules === "live") return live;
  if (rules !== "candidate") {
    return "Cannot explain: rules is live or candidate";
  }
  return candidate ??
    "Cannot explain: there is no candidate, CANDIDATE_CONFIG_DIR is not set";
}

/** Reads the request in the query of a page. */
export function queryRequest(query: URLSearchParams): WrittenRequest {
  const hits = query.get("hits") ?? "1";
  if (!/^\d{1,9}$/.test(hits)) {
    const problem = "Cannot explain: hits is a whole number up to 999999999";
    return { kind: "invalid", problem };
  }
  return writtenRequest({
    domain: query.get("domain") ?? "",
    // Browsers send the empty fields of the form too.
    descriptors: query.getAll("descriptors").filter((text) => text !== ""),
    hits: Number(hits),
  });
}

async function postedRequest(request: HttpRequest): Promise<WrittenRequest> {
  const body = await request.body(MAX_BODY_BYTES);
  if (body.kind !== "ok") {
    const problem = body.kind === "too_large"
      ? `Cannot explain: the body has more than ${MAX_BODY_BYTES} bytes`
      : "Cannot explain: the body is incomplete";
    return { kind: "invalid", problem };
  }
  return jsonRequest(new TextDecoder().decode(body.bytes));
}

function usagePage(): DebugPage {
  return {
    text: () => USAGE,
    json: () => ({ usage: USAGE }),
  };
}

/** Makes the page that tells why there is nothing to show. */
export function faultPage(
  reason: string,
  status: 400 | 503 = 400,
): DebugPage {
  return {
    status,
    text: () => `${reason}\n`,
    json: () => ({ error: reason }),
  };
}
