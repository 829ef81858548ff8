/**
 * Routes that use models: find facts in a text and remember them, embed a text,
 * answer a question from memories.
 *
 * @module
 */

import {
  cappedCount,
  INSTANT_MS,
  MAX_MODEL_TEXT_BYTES,
  members,
  NAMESPACE,
  ORDERING_FIELDS,
  RANKING_FIELDS,
  text,
  toOrdering,
} from "../body_schemas.ts";
import { optional, withDefault } from "../../../shared/schema/object.ts";
import { choice } from "../../../shared/schema/values.ts";
import { described, readWhole } from "../../../shared/schema/schema.ts";
import { boundedWork, finishInSlices } from "../../concurrency/bounded_work.ts";
import {
  type ExtractOptions,
  type Fact,
  MAX_FACTS,
} from "../../extract/extractor.ts";
import { vectorTextSteps } from "../../embed/words.ts";
import { ok, unavailable } from "../answer.ts";
import { TIME_SAMPLE } from "../document/answer_parts.ts";
import { memoryAnswer } from "../document/memory_answers.ts";
import { signedPost } from "../json_body.ts";
import type { RelayerParts } from "../parts.ts";
import type { SignedCall, SignedRoute } from "../route.ts";
import { OPENS, READS, WRITES } from "../token_rule.ts";
import {
  LOCKED_WORDS,
  MAX_RECALL_LIMIT,
  recalledView,
  recallRefusal,
} from "./recall_routes.ts";
import { intakeRefusal, OVER_QUOTA_WORDS } from "./remember_routes.ts";

/** The longest that finding facts may take, in milliseconds. */
const MAX_EXTRACT_MS = 50_000;
/**
 * Most memories that the extractor is shown, so that it does not find the same
 * facts again.
 */
const MAX_KNOWN = 10;
/**
 * The longest that looking for known memories may take, in milliseconds:
 * embedding, search and reading.
 */
const MAX_KNOWN_MS = 1_600;
/** Most bytes of all known memories together. */
const MAX_KNOWN_BYTES = 65_536;
/**
 * Most characters of a known memory that are shown: no fact is longer, and a
 * memory may be as long as a book.
 */
const MAX_KNOWN_CHARS = 1_000;

/** The outcome when a model did not answer in time. */
const TOO_LATE = {
  kind: "unavailable",
  reason: "it took too long, or the call was ended",
} as const;

const ANALYZE = members({
  text: described(text(MAX_MODEL_TEXT_BYTES), "What facts are found in"),
  namespace: NAMESPACE,
  occurred_at: optional(
    described(INSTANT_MS, "When it was said: what days such as today mean"),
  ),
  keep: optional(
    described(
      choice(["statements", "all"]),
      "What is kept without a model: statements of people, or every sentence " +
        "but questions, requests and small talk",
    ),
  ),
});

/** The routes that use models. */
export function modelRoutes(parts: RelayerParts): readonly SignedRoute[] {
  return [analyzeRoute(parts), embedRoute(parts), askRoute(parts)];
}

function analyzeRoute(parts: RelayerParts): SignedRoute {
  return signedPost("/api/analyze", ANALYZE, {
    action: "analyze text",
    words: {
      id: "analyze",
      tag: "remember",
      summary: "Find facts in a text and remember them",
      description: "Costs a further point for each fact.",
      sent: {
        text: "Ada said that she prefers tea.",
        occurred_at: TIME_SAMPLE,
      },
      status: 202,
      answer: memoryAnswer("Analyzed"),
      means: "The facts, each with its job",
      others: OVER_QUOTA_WORDS,
    },
    // Behind key servers a token opens none of the memories that the extractor
    // is shown, so the same fact may be found again.
    token: WRITES,
    namespacesOf: ({ namespace }) => [namespace],
    // Each fact that is found costs one point more.
    points: 5,
    async answer(call, body) {
      const { text, namespace, occurred_at: occurredAtMs, keep } = body;
      const { caller, pausing } = call;
      const extracted = await extract(text, {
        parts,
        call,
        namespace,
        occurredAtMs,
        keep,
      });
      if (extracted.kind === "unavailable") {
        return unavailable(
          "Cannot analyze text: the model does not answer",
          extracted,
        );
      }
      const facts = extracted.facts.filter(isStorable).slice(0, MAX_FACTS);
      if (!parts.isRateLimitDisabled && facts.length > 0) {
        parts.rateLimits.charge(caller, facts.length);
      }
      const outcome = facts.length === 0 ? NOTHING : await parts.intake.accept(
        caller,
        facts.map((fact) => ({ ...fact, namespace })),
        { status: "pending", pausing },
      );
      if (outcome.kind !== "accepted") return intakeRefusal(outcome);
      const { jobIds } = outcome;
      return ok({
        job_ids: jobIds,
        facts: jobIds.map((id, index) => ({
          text: facts[index]?.text ?? "",
          id,
          job_id: id,
        })),
        fact_count: jobIds.length,
        status: "pending",
        owner: caller.owner,
      }, 202);
    },
  });
}

const FACT = text(MAX_MODEL_TEXT_BYTES);

/** Whether a fact can be remembered: a model may write anything. */
function isStorable({ text, importance }: Fact): boolean {
  return readWhole(FACT, text).kind === "ok" && importance >= 0 &&
    importance <= 1;
}

const NOTHING = { kind: "accepted", jobIds: [] } as const;

async function extract(
  text: string,
  { parts, call, namespace, occurredAtMs, keep }: {
    readonly parts: RelayerParts;
    readonly call: SignedCall;
    readonly namespace: string;
    readonly occurredAtMs: number | undefined;
    readonly keep: ExtractOptions["keep"];
  },
): ReturnType<RelayerParts["extractor"]["extract"]> {
  const { clock, extractor } = parts;
  const bounded = await boundedWork({
    clock,
    timeoutMs: MAX_EXTRACT_MS,
    signal: call.signal,
    run: async (signal) =>
      await extractor.extract(text, {
        known: await knownTexts(text, { parts, call, namespace }),
        nowMs: clock.nowMs(),
        signal,
        pausing: call.pausing,
        occurredAtMs,
        keep,
      }),
  });
  return bounded.kind === "done" ? bounded.result : TOO_LATE;
}

/**
 * Returns texts of known memories to show to the extractor. When they cannot be
 * read, the same facts may only be found again.
 */
async function knownTexts(
  text: string,
  { parts, call, namespace }: {
    readonly parts: RelayerParts;
    readonly call: SignedCall;
    readonly namespace: string;
  },
): Promise<readonly string[]> {
  const outcome = await parts.recall.recall({
    owner: call.caller.owner,
    namespace,
    query: text,
    limit: MAX_KNOWN,
    ordering: { kind: "relevance" },
    maxBytes: MAX_KNOWN_BYTES,
    deadlineMs: MAX_KNOWN_MS,
    signal: call.signal,
    pausing: call.pausing,
  });
  if (outcome.kind !== "ok") {
    parts.logger.debug("Cannot show known memories to the extractor", {
      outcome: outcome.kind,
    });
    return [];
  }
  return outcome.memories.flatMap(({ text }) =>
    text === undefined ? [] : text.slice(0, MAX_KNOWN_CHARS).toWellFormed()
  );
}

const EMBED = members({
  text: described(
    text(MAX_MODEL_TEXT_BYTES),
    "What the vector is made of; 65,536 bytes of UTF-8 at most",
  ),
});

/**
 * The route that embeds a text; it is shortened as it would be when it is
 * remembered.
 */
function embedRoute({ embedder }: RelayerParts): SignedRoute {
  return signedPost("/api/embed", EMBED, {
    action: "embed text",
    words: {
      id: "embed",
      tag: "recall",
      summary: "Make the vector of a text",
      sent: { text: "Ada prefers tea" },
      answer: memoryAnswer("Embedded"),
      means: "The vector",
    },
    token: READS,
    namespacesOf: () => [],
    onlyReads: true,
    async answer({ signal, pausing }, { text }) {
      const steps = vectorTextSteps(text);
      const short = await finishInSlices(steps, { pausing, signal });
      const outcome = await embedder.embed([short], { signal, pausing });
      if (outcome.kind === "unavailable") {
        return unavailable(
          "Cannot embed text: the embedder does not answer",
          outcome,
        );
      }
      const [vector = new Float32Array()] = outcome.vectors;
      return ok({ vector: [...vector] });
    },
  });
}

const DEFAULT_ASK_LIMIT = 5;
/** The longest that finding memories may take, in milliseconds. */
const MAX_FIND_MS = 10_000;
/** The longest that answering may take, in milliseconds. */
const MAX_ANSWER_MS = 45_000;

const ASK = members({
  question: described(
    text(MAX_MODEL_TEXT_BYTES),
    "What memories are looked for, and the model is asked",
  ),
  limit: withDefault(
    described(
      cappedCount(MAX_RECALL_LIMIT),
      `Most memories that are looked at; ${MAX_RECALL_LIMIT} for any number above`,
    ),
    DEFAULT_ASK_LIMIT,
  ),
  namespace: NAMESPACE,
  scoring_weights: ORDERING_FIELDS.scoring_weights,
  ...RANKING_FIELDS,
});

/**
 * The route that answers a question; it names the memories that the answer
 * rests on, and no others.
 */
function askRoute({ answerer, clock, recall }: RelayerParts): SignedRoute {
  return signedPost("/api/ask", ASK, {
    action: "answer question",
    words: {
      id: "ask",
      tag: "recall",
      summary: "Answer a question from memories",
      sent: { question: "What does Ada drink?" },
      answer: memoryAnswer("Answered"),
      means: "The answer, and the memories that it rests on",
      others: { ...LOCKED_WORDS, 504: "Finding memories took too long" },
    },
    token: OPENS,
    namespacesOf: ({ namespace }) => [namespace],
    points: 2,
    async answer({ caller, signal: gone, pausing }, body) {
      const { question, limit, namespace } = body;
      const found = await recall.recall({
        owner: caller.owner,
        namespace,
        query: question,
        limit,
        ordering: toOrdering(body),
        ...{ ranking: body.ranking, explain: body.explain },
        deadlineMs: MAX_FIND_MS,
        signal: gone,
        pausing,
      });
      if (found.kind !== "ok") return recallRefusal(found);
      const { memories } = found;
      const bounded = await boundedWork({
        clock,
        timeoutMs: MAX_ANSWER_MS,
        signal: gone,
        run: (signal) =>
          answerer.answer(question, {
            memories: memories.map(({ text = "", createdAtMs }) => ({
              text,
              createdAtMs,
            })),
            nowMs: clock.nowMs(),
            signal,
            pausing,
          }),
      });
      const outcome = bounded.kind === "done" ? bounded.result : TOO_LATE;
      if (outcome.kind === "unavailable") {
        return unavailable(
          "Cannot answer question: the model does not answer",
          outcome,
        );
      }
      const used = outcome.used.flatMap((place) => memories[place] ?? []);
      const json = {
        answer: outcome.answer,
        memories_used: used.length,
        memories: used.map(recalledView),
      };
      return { ...ok(json), readBytes: found.readBytes };
    },
  });
}
