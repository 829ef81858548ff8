/**
 * Error answers of the HTTP ports as RFC 9457 problem details.
 *
 * @module
 */

import { STATUS_TEXT } from "@std/http/status";
import {
  type HttpResponse,
  PROBLEM_MEDIA_TYPE,
} from "../../shared/http/exchange.ts";

/** The content of a problem answer. */
interface ProblemOptions {
  /** The status code, which gives the title as well. */
  readonly status: keyof typeof STATUS_TEXT;
  /** What went wrong this time, for the person who reads it. */
  readonly detail?: string;
  /**
   * Further headers of the answer.
   * @default none
   */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Makes an answer that says what went wrong. */
export function problem(options: ProblemOptions): HttpResponse {
  const { status, detail, headers } = options;
  return {
    status,
    headers: { ...headers, "content-type": PROBLEM_MEDIA_TYPE },
    // JSON.stringify() leaves out a detail that is undefined.
    body: JSON.stringify({ title: STATUS_TEXT[status], status, detail }),
  };
}
