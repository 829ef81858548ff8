/**
 * Facts are found in a text and taken in, each as a memory of its own.
 *
 * @module
 */

import { type Fact, MAX_FACTS } from "../../extract/extractor.ts";
import { ok } from "../answer.ts";
import { deadlineSignal } from "../call_signal.ts";
import { optional } from "../checks/check.ts";
import { namespace } from "../checks/memory_checks.ts";
import { instant } from "../checks/number_checks.ts";
import { MAX_MODEL_TEXT_BYTES, text } from "../checks/text_checks.ts";
import { unavailableAnswer } from "../failure_answer.ts";
import { given } from "../given.ts";
import { intakeRefusal } from "../intake_answer.ts";
import { readFields } from "../json_body.ts";
import type { RelayerParts } from "../parts.ts";
import { MAX_BODY_BYTES, type SignedCall, type SignedRoute } from "../route.ts";

/** Parts of this route. */
export type AnalyzeParts = Pick<
  RelayerParts,
  | "clock"
  | "extractor"
  | "intake"
  | "isRateLimitDisabled"
  | "logger"
  | "rateLimits"
  | "recall"
>;

/** The longest that finding facts may take. */
const MAX_EXTRACT_MS = 50_000;
/** Most memories that are shown so that they are not found again. */
const MAX_KNOWN = 10;
/** The longest that they are looked for: embedding, search and reading. */
const MAX_KNOWN_MS = 1_600;
/** Bytes of all of them. */
const MAX_KNOWN_BYTES = 65_536;
/** What of such a memory is shown: no fact is longer, and a memory may be a book. */
const MAX_KNOWN_CHARS = 1_000;

const CHECKS = {
  text: text(MAX_MODEL_TEXT_BYTES),
  namespace,
  occurred_at: optional(instant),
};

/** The route. */
export function analyzeRoute(parts: AnalyzeParts): SignedRoute {
  return {
    access: "signed",
    method: "POST",
    path: "/api/analyze",
    maxBodyBytes: MAX_BODY_BYTES,
    async answer(call) {
      const read = readFields(call.body, CHECKS, { action: "analyze text" });
      if (read.kind === "refused") return read.answer;
      const { text, namespace, occurred_at: occurredAtMs } = read.value;
      const extracted = await extract(text, {
        parts,
        call,
        namespace,
        occurredAtMs,
      });
      if (extracted.kind === "unavailable") {
        const { reason, retryAfterMs } = extracted;
        return unavailableAnswer(
          "Cannot analyze text: the model does not answer",
          {
            logger: parts.logger,
            route: "POST /api/analyze",
            reason,
            retryAfterMs,
          },
        );
      }
      const { caller } = call;
      const facts = extracted.facts.filter(isStorable).slice(0, MAX_FACTS);
      if (!parts.isRateLimitDisabled && facts.length > 0) {
        parts.rateLimits.charge(caller, facts.length);
      }
      const outcome = facts.length === 0 ? NOTHING : await parts.intake.accept(
        caller,
        facts.map((fact) => ({ ...fact, namespace })),
        { status: "pending", pausing: call.pausing },
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
  };
}

const FACT = text(MAX_MODEL_TEXT_BYTES);

/** A model may write anything. */
function isStorable({ text, importance }: Fact): boolean {
  return FACT(text, "fact").kind === "ok" && importance >= 0 && importance <= 1;
}

const NOTHING = { kind: "accepted", jobIds: [] } as const;

async function extract(
  text: string,
  { parts, call, namespace, occurredAtMs }: {
    readonly parts: AnalyzeParts;
    readonly call: SignedCall;
    readonly namespace: string;
    readonly occurredAtMs: number | undefined;
  },
): ReturnType<AnalyzeParts["extractor"]["extract"]> {
  const { clock, extractor } = parts;
  const { signal, release } = deadlineSignal(call.signal, {
    clock,
    timeoutMs: MAX_EXTRACT_MS,
  });
  try {
    const known = await knownTexts(text, { parts, call, namespace });
    return await extractor.extract(text, {
      known,
      nowMs: clock.nowMs(),
      signal,
      pausing: call.pausing,
      ...given({ occurredAtMs }),
    });
  } finally {
    release();
  }
}

/** What is remembered already; without it, facts are only found once more. */
async function knownTexts(
  text: string,
  { parts, call, namespace }: {
    readonly parts: AnalyzeParts;
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
