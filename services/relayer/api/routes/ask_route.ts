/**
 * A question is answered from memories.
 *
 * @module
 */

import { ok } from "../answer.ts";
import { deadlineSignal } from "../call_signal.ts";
import { withDefault } from "../checks/check.ts";
import {
  namespace,
  orderingChecks,
  orderingOf,
} from "../checks/memory_checks.ts";
import { cappedCount } from "../checks/number_checks.ts";
import { MAX_MODEL_TEXT_BYTES, text } from "../checks/text_checks.ts";
import { unavailableAnswer } from "../failure_answer.ts";
import { readFields } from "../json_body.ts";
import type { RelayerParts } from "../parts.ts";
import { MAX_BODY_BYTES, type SignedRoute } from "../route.ts";
import { recalledView } from "../views/recall_view.ts";
import { MAX_RECALL_LIMIT, recallRefusal } from "./recall_route.ts";

/** Parts of this route. */
export type AskParts = Pick<
  RelayerParts,
  "answerer" | "clock" | "logger" | "recall"
>;

const DEFAULT_ASK_LIMIT = 5;
/** The longest that finding memories may take. */
const MAX_FIND_MS = 10_000;
/** The longest that answering may take. */
const MAX_ANSWER_MS = 45_000;

const { sort: _sort, ...WEIGHING } = orderingChecks;

const CHECKS = {
  question: text(MAX_MODEL_TEXT_BYTES),
  limit: withDefault(cappedCount(MAX_RECALL_LIMIT), DEFAULT_ASK_LIMIT),
  namespace,
  ...WEIGHING,
};

/** The route. It tells which memories the answer rests on, and no others. */
export function askRoute(parts: AskParts): SignedRoute {
  const { answerer, clock, logger, recall } = parts;
  return {
    access: "signed",
    method: "POST",
    path: "/api/ask",
    maxBodyBytes: MAX_BODY_BYTES,
    async answer({ caller, body, signal: gone, pausing }) {
      const read = readFields(body, CHECKS, { action: "answer question" });
      if (read.kind === "refused") return read.answer;
      const { question, limit, namespace } = read.value;
      const found = await recall.recall({
        owner: caller.owner,
        namespace,
        query: question,
        limit,
        ordering: orderingOf(read.value),
        deadlineMs: MAX_FIND_MS,
        signal: gone,
        pausing,
      });
      if (found.kind !== "ok") return recallRefusal(found);
      const held = deadlineSignal(gone, { clock, timeoutMs: MAX_ANSWER_MS });
      const { memories } = found;
      try {
        const outcome = await answerer.answer(question, {
          memories: memories.map(({ text = "", createdAtMs }) => ({
            text,
            createdAtMs,
          })),
          nowMs: clock.nowMs(),
          signal: held.signal,
          pausing,
        });
        if (outcome.kind === "unavailable") {
          const { reason, retryAfterMs } = outcome;
          return unavailableAnswer(
            "Cannot answer question: the model does not answer",
            { logger, route: "POST /api/ask", reason, retryAfterMs },
          );
        }
        const used = outcome.used.flatMap((place) => memories[place] ?? []);
        const json = {
          answer: outcome.answer,
          memories_used: used.length,
          memories: used.map(recalledView),
        };
        return { ...ok(json), readBytes: found.readBytes };
      } finally {
        held.release();
      }
    },
  };
}
