/**
 * Reading the body of a request, as long as its route and its tenant's plan
 * allow.
 *
 * @module
 */

import type { Pausing } from "../../shared/slices.ts";
import type { BodyRoom } from "./body_room.ts";
import type { ClaimedLease } from "./admission.ts";
import { readJsonBody } from "./json_body.ts";
import { problem, type ProblemAnswer } from "./problem_answer.ts";
import type { AnyRoute } from "./route.ts";
import { DEFAULT_MAX_BODY_BYTES } from "./route_body.ts";
import type { Incoming } from "./locate.ts";

/** Options of {@linkcode readBody}. */
export interface ReadBodyOptions {
  /** What the request is for. */
  readonly route: AnyRoute;
  /** Longest body of any request. */
  readonly maxBodyBytes: number;
  /** Bounds what the long bodies of all requests hold. */
  readonly room: BodyRoom;
  /** Gives way once the body has come, and while a long one is parsed. */
  readonly pausing: Pausing;
  /**
   * The lease that the request is about.
   * @default it is about none
   */
  readonly lease?: ClaimedLease | undefined;
}

/** A body. */
export interface ReadBody {
  /** It could be read. */
  readonly kind: "ok";
  /** What it says; undefined when there is none. */
  readonly value: unknown;
  /** The body as it came. */
  readonly bytes: Uint8Array;
  /** Gives back the room that it takes; to be called when it is answered. */
  readonly release: () => void;
}

const NO_BYTES = new Uint8Array(0);
const noop = (): void => {};

/** A body is read up to here before the plan of a tenant says something. */
const NO_PLAN = { payloadBytes: 65_536, batchSize: 0 };

/** Reads the body of a request, if its route takes one. */
export async function readBody(
  incoming: Incoming,
  { route, maxBodyBytes, lease, room, pausing }: ReadBodyOptions,
): Promise<ReadBody | ProblemAnswer> {
  if (route.body === undefined) {
    return { kind: "ok", value: undefined, bytes: NO_BYTES, release: noop };
  }
  const { request, limits } = incoming;
  const contentLength = request.headers.get("content-length");
  if (lease !== undefined && !isShort(contentLength) && !lease.isKnown()) {
    // Nobody but its holder makes us read a long body.
    const refusal = await lease.refusal();
    if (refusal !== undefined) return refusal;
  }
  const maxBytes = Math.min(
    route.body.maxBytes(limits ?? NO_PLAN),
    maxBodyBytes,
  );
  let release = noop;
  const outcome = await readJsonBody({
    contentType: request.headers.get("content-type"),
    contentLength,
    async read(most) {
      const body = await request.body(most);
      if (body.kind !== "ok") return body;
      const taking = room.take({
        key: incoming.tenant?.id ?? "",
        bytes: body.bytes.byteLength,
        onGone: (listener) => request.onGone(listener),
      });
      const taken = taking instanceof Promise ? await taking : taking;
      if (taken.kind === "ok") release = taken.release;
      else if (taken.kind === "busy") return taken;
      else return { kind: "aborted", reason: "disconnected" };
      await pausing.pause();
      return body;
    },
  }, {
    maxBytes,
    maxValues: route.body.maxValues,
    pausing,
    isOptional: route.body.isOptional,
    mediaTypes: route.body.mediaTypes,
    tooLargeAdvice: route.body.tooLargeAdvice,
  });
  if (outcome.kind === "ok") return { ...outcome, release };
  release();
  // Nobody is there to read this answer.
  return outcome.kind === "gone" ? problem("malformed_json") : outcome;
}

/** Whether a body is declared to be as short as anybody's may be. */
function isShort(contentLength: string | undefined): boolean {
  return contentLength !== undefined &&
    Number(contentLength) <= DEFAULT_MAX_BODY_BYTES;
}
