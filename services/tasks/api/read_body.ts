/**
 * Reading the body of a request, as long as its route and its tenant's plan
 * allow.
 *
 * @module
 */

import { readJsonBody } from "./http/json_body.ts";
import { problem, type ProblemAnswer } from "./http/problem_answer.ts";
import type { AnyRoute } from "./http/route.ts";
import type { Incoming } from "./locate.ts";

/** Options of {@linkcode readBody}. */
export interface ReadBodyOptions {
  /** What the request is for. */
  readonly route: AnyRoute;
  /** Longest body of any request. */
  readonly maxBodyBytes: number;
}

/** A body. */
export interface ReadBody {
  /** It could be read. */
  readonly kind: "ok";
  /** What it says; undefined when there is none. */
  readonly value: unknown;
  /** The body as it came. */
  readonly text: string;
}

/** A body is read up to here before the plan of a tenant says something. */
const NO_PLAN = { payloadBytes: 65_536, batchSize: 0 };

/** Reads the body of a request, if its route takes one. */
export async function readBody(
  incoming: Incoming,
  { route, maxBodyBytes }: ReadBodyOptions,
): Promise<ReadBody | ProblemAnswer> {
  if (route.body === undefined) {
    return { kind: "ok", value: undefined, text: "" };
  }
  const { request, limits } = incoming;
  const maxBytes = Math.min(
    route.body.maxBytes(limits ?? NO_PLAN),
    maxBodyBytes,
  );
  const outcome = await readJsonBody({
    contentType: request.headers.get("content-type"),
    contentLength: request.headers.get("content-length"),
    read: (bytes) => request.body(bytes),
  }, {
    maxBytes,
    isOptional: route.body.isOptional,
    mediaTypes: route.body.mediaTypes,
  });
  // Nobody is there to read this answer.
  return outcome.kind === "gone" ? problem("malformed_json") : outcome;
}
