/**
 * The page that explains a decision: which rule applies to each descriptor, why
 * the others do not, and what its counters hold.
 *
 * @module
 */

import type { VNode } from "preact";
import { Badge, Code, FactList, Note } from "../../shared/console/parts.tsx";
import { Table } from "../../shared/console/table.tsx";
import { CODE } from "../../../proto/rate_limit_response.ts";
import { pickExplainer, queryRequest } from "../api/explain_page.ts";
import type {
  ExplainedDescriptor,
  ExplainedLimit,
} from "../decision/explain.ts";
import {
  explanationText,
  findLook,
  type WholeExplanation,
} from "../decision/explain_text.ts";
import { fixedStatPath } from "../decision/stat_path.ts";
import { limitWords } from "../rules/snapshot.ts";
import { statPathText } from "../stats/stats.ts";
import { ExplainForm } from "./explain_form.tsx";
import {
  descriptorOf,
  type PageCall,
  type PageContent,
  toHref,
} from "./page.ts";

/** Shows the form, and the explanation of what it asks. */
export async function explainPage(call: PageCall): Promise<PageContent> {
  const { source: { explainers }, query } = call;
  const outcome = await explain(call);
  return {
    title: "Explain",
    status: outcome?.kind === "fault" ? outcome.status : 200,
    content: (
      <>
        <p class="dim">
          Tells how a request would be decided now. Counters are read, not
          changed.
        </p>
        <ExplainForm
          asked={{
            domain: query.get("domain") ?? "",
            descriptors: query.getAll("descriptors").filter((one) =>
              one !== ""
            ),
            hits: query.get("hits") ?? "1",
            rules: query.get("rules") ?? "live",
          }}
          hasCandidate={explainers.candidate !== undefined}
        />
        {outcome === undefined
          ? null
          : outcome.kind === "fault"
          ? (
            <Note tone="bad" isUrgent>
              <p>{outcome.reason}</p>
            </Note>
          )
          : <Explanation whole={outcome.whole} />}
      </>
    ),
  };
}

type Explained =
  | { readonly kind: "explained"; readonly whole: WholeExplanation }
  | {
    readonly kind: "fault";
    readonly status: 400 | 503;
    readonly reason: string;
  };

async function explain(
  { source: { explainers }, query }: PageCall,
): Promise<Explained | undefined> {
  if (!query.has("domain") && !query.has("descriptors")) return undefined;
  const explainer = pickExplainer(query.get("rules") ?? "live", explainers);
  if (typeof explainer === "string") {
    return { kind: "fault", status: 400, reason: explainer };
  }
  const written = queryRequest(query);
  const outcome = written.kind === "invalid"
    ? written
    : await explainer.explain(written.request);
  switch (outcome.kind) {
    case "explained":
      return outcome;
    case "invalid":
      return { kind: "fault", status: 400, reason: outcome.problem };
    case "no_rules": {
      const reason = "There are no rules yet.";
      return { kind: "fault", status: 503, reason };
    }
  }
}

function Explanation({ whole }: { readonly whole: WholeExplanation }): VNode {
  const { explanation } = whole;
  return (
    <>
      <Verdict whole={whole} />
      {explanation.descriptors.map((descriptor, index) => (
        <Descriptor descriptor={descriptor} whole={whole} index={index} />
      ))}
      <details class="more">
        <summary>As text</summary>
        <Code id="text" name="Explanation" text={explanationText(whole)} />
      </details>
    </>
  );
}

function Verdict(
  { whole: { counts } }: { readonly whole: WholeExplanation },
): VNode {
  if (counts.kind !== "counted") {
    const why = counts.kind === "unavailable" ? counts.reason : "not asked";
    return (
      <Note tone="warn">
        <p>{`The store does not answer: ${why}`}</p>
      </Note>
    );
  }
  const { response, isShadowed } = counts.prediction;
  const isOver = response.overallCode === CODE.OVER_LIMIT;
  return (
    <Note tone={isOver ? "bad" : "good"}>
      <p class="lead">
        {"The answer would be "}
        <CodeBadge code={response.overallCode} />
        {isShadowed ? ", by SHADOW_MODE alone" : ""}
      </p>
    </Note>
  );
}

function CodeBadge({ code }: { readonly code: number }): VNode {
  return code === CODE.OVER_LIMIT
    ? <Badge tone="bad">OVER_LIMIT</Badge>
    : <Badge tone="good">OK</Badge>;
}

function Descriptor(
  { descriptor, whole, index }: {
    readonly descriptor: ExplainedDescriptor;
    readonly whole: WholeExplanation;
    readonly index: number;
  },
): VNode {
  const { entries, outcome, why, rule, limits, levels, notes } = descriptor;
  const id = `descriptor-${index}-title`;
  const status = whole.counts.kind === "counted"
    ? whole.counts.prediction.response.statuses[index]
    : undefined;
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>
        {`Descriptor ${index + 1}: `}
        <code>
          {descriptorOf(entries.map(({ key, value }) => [key, value]))}
        </code>
      </h2>
      <p>
        {outcome === "free" ? "No limit: " : ""}
        {why}
      </p>
      {notes.map((note) => <p class="warn">{note}</p>)}
      <FactList
        facts={[
          [
            "Rule",
            rule && (
              <a
                href={toHref("rules", {
                  rule: statPathText(fixedStatPath(rule)),
                })}
              >
                {statPathText(fixedStatPath(rule))}
              </a>
            ),
          ],
          ...limits.flatMap((limit) => limitFacts(limit, whole)),
          [
            "Would be",
            status && limits.length > 0
              ? (
                <>
                  <CodeBadge code={status.code} />
                  {` with ${status.limitRemaining} left, reset in ${
                    status.durationUntilResetSeconds ?? 0
                  } s`}
                </>
              )
              : undefined,
          ],
        ]}
      />
      {levels.map((level, depth) => (
        <details class="more" open={depth === 0 && limits.length === 0}>
          <summary>
            {`Level ${depth + 1}: rules with the key of `}
            <code>{level.entry}</code>
          </summary>
          {level.candidates.length === 0
            ? <p class="dim">No rule has this key.</p>
            : (
              <Table
                label={`Rules of level ${depth + 1}`}
                rows={level.candidates}
                columns={[
                  {
                    name: "Rule",
                    cell: ({ rule, isMatch }) =>
                      isMatch ? <strong>{rule}</strong> : rule,
                  },
                  {
                    name: "Why",
                    cell: ({ why }) => why,
                  },
                ]}
              />
            )}
          {level.omitted === 0
            ? null
            : <p class="dim">{`${level.omitted} more`}</p>}
        </details>
      ))}
    </section>
  );
}

function limitFacts(
  limit: ExplainedLimit,
  whole: WholeExplanation,
): readonly (readonly [string, VNode | string])[] {
  const look = findLook(whole, limit);
  const used = look === undefined
    ? undefined
    : typeof look === "number"
    ? look
    : limit.capacity - look.remaining;
  const label = limit.label === "" ? "" : ` (${limit.label})`;
  return [
    [`Limit${label}`, limitWords(limit)],
    [
      `Used${label}`,
      used === undefined ? "" : (
        <>
          {`${used} of ${limit.capacity}`}
          <progress
            max={Math.max(1, limit.capacity)}
            value={Math.min(used, limit.capacity)}
            aria-label={`Used${label}`}
          />
        </>
      ),
    ],
    [`Counter${label}`, <code>{limit.counterKey}</code>],
  ];
}
