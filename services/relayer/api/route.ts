/**
 * The types of routes: method, path, who may call, the cost in points, and the
 * function that answers.
 *
 * @module
 */

import type { HttpRequest } from "../../shared/http/exchange.ts";
import type { Shape } from "../../shared/schema/schema.ts";
import type { Pausing } from "../../shared/slices.ts";
import type { Caller } from "../auth/authenticate.ts";
import type { Answer } from "./answer.ts";
import type { RouteWords } from "./document/route_words.ts";
import type { TokenRule } from "./token_rule.ts";

/** Methods of routes; a GET route also answers HEAD. */
type RouteMethod = "DELETE" | "GET" | "POST";

/** A request that matched a route. */
export interface OpenCall {
  /** The request. */
  readonly request: HttpRequest;
  /**
   * Segments of the path that match `:name` in the pattern, by name and still
   * encoded as they were sent.
   */
  readonly params: Readonly<Record<string, string>>;
  /** The query after the question mark; empty when there is none. */
  readonly query: string;
  /** When the request arrived, by `steadyMs()` of the relayer's clock. */
  readonly arrivedMs: number;
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal;
  /** Pauses long work between steps, so that others get their turn. */
  readonly pausing: Pausing;
  /** The body's bytes; none of a route that takes no body. */
  readonly body: Uint8Array;
}

/** A call whose signature or access token is valid. */
export interface SignedCall extends OpenCall {
  /** The caller that signed the request, or its access token. */
  readonly caller: Caller;
}

/** An authorized call about the owner that its path names. */
interface OwnerCall extends OpenCall {
  /** The owner's address. */
  readonly owner: string;
  /** The caller whose points pay for the call. */
  readonly spender: Caller;
}

/** Members that all routes have. */
interface RouteBase {
  /** The method. */
  readonly method: RouteMethod;
  /** The path; a segment `:name` matches any one segment. */
  readonly path: string;
  /**
   * Most bytes of the body.
   * @default {0} no body is read
   */
  readonly maxBodyBytes?: number | undefined;
  /** The texts on the route in the OpenAPI document. */
  readonly words: RouteWords;
  /**
   * The schema of the body, for the OpenAPI document.
   * @default there is no body
   */
  readonly body?: Shape | undefined;
  /**
   * The points that a signed call costs; calls that make other services work
   * cost more.
   * @default {1}
   */
  readonly points?: number | undefined;
  /**
   * Whether calls change nothing. A replay of such a call after a crash does no
   * harm, so the call does not wait for its nonce to reach the disk.
   * @default {false} GET calls count as read-only in any case
   */
  readonly onlyReads?: boolean | undefined;
}

/** A public route, without authentication. */
export interface OpenRoute extends RouteBase {
  /** Tells that anyone may call. */
  readonly access: "open";
  /** Answers a call. */
  answer(call: OpenCall): Answer | Promise<Answer>;
}

/**
 * A route for delegates of accounts, who sign their requests or send an access
 * token.
 */
export interface SignedRoute extends RouteBase {
  /** Tells that calls are signed. */
  readonly access: "signed";
  /** What an access token needs. */
  readonly token: TokenRule;
  /** Answers a call. */
  answer(call: SignedCall): Answer | Promise<Answer>;
}

/**
 * A route below `/v1/owners/:owner`, for the owner's delegates, who sign or
 * send an access token, and bearers of the owner's token.
 */
export interface OwnerRoute extends RouteBase {
  /**
   * Tells that the owner's delegates and bearers of the owner's token may call.
   */
  readonly access: "owner";
  /** What an access token needs. */
  readonly token: TokenRule;
  /** Answers a call. */
  answer(call: OwnerCall): Answer | Promise<Answer>;
}

/** A route. */
export type Route = OpenRoute | SignedRoute | OwnerRoute;

/** Most bytes of the body of any route. */
export const MAX_BODY_BYTES = 2_097_152;

/** Most bytes of a body that has only names and ids. */
export const MAX_SMALL_BODY_BYTES = 65_536;
