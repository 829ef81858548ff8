/**
 * Problems within an answer, where each thing that was asked has a result.
 *
 * @module
 */

import { renderProblem } from "../../http/answer.ts";
import type { CallContext } from "../../http/call.ts";
import type { ProblemAnswer } from "../../http/problem_answer.ts";

/** The body that the problem would have if it were the whole answer. */
export function problemObject(
  call: Pick<CallContext, "requestId" | "baseUrl">,
  problem: ProblemAnswer,
): unknown {
  const { requestId, baseUrl } = call;
  const host = URL.parse(baseUrl)?.host ?? "";
  const { body = "null" } = renderProblem(problem, { requestId, host });
  return JSON.parse(body);
}
