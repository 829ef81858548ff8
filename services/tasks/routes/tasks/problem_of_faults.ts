/**
 * The problem that the faults of a task come to.
 *
 * @module
 */

import {
  invalidRequest,
  problem,
  type ProblemAnswer,
} from "../../http/problem_answer.ts";
import type { Fault } from "../../../shared/schema/fault.ts";
import { DATA_TOO_LARGE } from "./define_task.ts";

/** The problem of a task with faults: too much data alone is 413. */
export function problemOfFaults(
  faults: readonly Fault[],
  { payloadBytes }: { readonly payloadBytes: number },
): ProblemAnswer {
  const [first] = faults;
  if (first?.code === DATA_TOO_LARGE && faults.length === 1) {
    return problem("too_large", {
      detail: first.detail,
      errors: faults,
      extensions: { limit: payloadBytes },
    });
  }
  return invalidRequest(faults);
}
