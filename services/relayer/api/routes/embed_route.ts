/**
 * A text is turned into a vector; nothing is stored.
 *
 * @module
 */

import { finishInSlices } from "../../embed/steps.ts";
import { vectorTextSteps } from "../../jobs/vector_text.ts";
import { ok } from "../answer.ts";
import { MAX_MODEL_TEXT_BYTES, text } from "../checks/text_checks.ts";
import { unavailableAnswer } from "../failure_answer.ts";
import { readFields } from "../json_body.ts";
import type { RelayerParts } from "../parts.ts";
import { MAX_BODY_BYTES, type SignedRoute } from "../route.ts";

const CHECKS = { text: text(MAX_MODEL_TEXT_BYTES) };

/** The route. A text is shortened as it would be when it is remembered. */
export function embedRoute(
  { embedder, logger }: Pick<RelayerParts, "embedder" | "logger">,
): SignedRoute {
  return {
    access: "signed",
    method: "POST",
    path: "/api/embed",
    maxBodyBytes: MAX_BODY_BYTES,
    async answer({ body, signal, pausing }) {
      const read = readFields(body, CHECKS, { action: "embed text" });
      if (read.kind === "refused") return read.answer;
      const { text } = read.value;
      const steps = vectorTextSteps(text);
      const short = await finishInSlices(steps, { pausing, signal });
      const outcome = await embedder.embed([short], { signal, pausing });
      if (outcome.kind === "ok") {
        const [vector = new Float32Array()] = outcome.vectors;
        return ok({ vector: [...vector] });
      }
      const { reason, retryAfterMs } = outcome;
      return unavailableAnswer(
        "Cannot embed text: the embedder does not answer",
        { logger, route: "POST /api/embed", reason, retryAfterMs },
      );
    },
  };
}
