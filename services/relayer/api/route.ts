/**
 * What a route is: method, path, who may call it and at what cost, who answers.
 *
 * @module
 */

import type { HttpRequest } from "../../shared/http/exchange.ts";
import type { Shape } from "../../shared/schema/schema.ts";
import type { Pausing } from "../../shared/slices.ts";
import type { Caller } from "../auth/authenticate.ts";
import type { Answer } from "./answer.ts";

/** Methods of routes; that of a GET answers HEAD too. */
type RouteMethod = "DELETE" | "GET" | "POST";

/** A request that found its route. */
export interface OpenCall {
  /** The request. */
  readonly request: HttpRequest;
  /** Segments of the path where the pattern has `:name`, as they were sent. */
  readonly params: Readonly<Record<string, string>>;
  /** What stands behind the question mark; empty when there is none. */
  readonly query: string;
  /** When it came, as `steadyMs()` reads the relayer's clock. */
  readonly arrivedMs: number;
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal;
  /** Asked between steps of long work, so that others get their turn. */
  readonly pausing: Pausing;
  /** The body's bytes; none of a route that takes no body. */
  readonly body: Uint8Array;
}

/** A call whose signature was checked. */
export interface SignedCall extends OpenCall {
  /** Who asks. */
  readonly caller: Caller;
}

/** An authorized call about the owner that its path names. */
interface OwnerCall extends OpenCall {
  /** The owner's address. */
  readonly owner: string;
  /** Who pays for it with points. */
  readonly spender: Caller;
}

/** What all routes have. */
interface RouteBase {
  /** The method. */
  readonly method: RouteMethod;
  /** The path; a segment `:name` stands for any one. */
  readonly path: string;
  /**
   * Most bytes of a body.
   * @default {0} there is none to read
   */
  readonly maxBodyBytes?: number | undefined;
  /**
   * What a body looks like, for the document.
   * @default the document's words say it, or there is none
   */
  readonly body?: Shape | undefined;
  /**
   * The points that a signed call costs; those that make other services work cost
   * more.
   * @default {1}
   */
  readonly points?: number | undefined;
  /**
   * Whether calls change nothing, so that one which is repeated after a crash does no
   * harm: then no disk is waited for to remember it.
   * @default {false} for GET it is so whatever stands here
   */
  readonly onlyReads?: boolean | undefined;
}

/** A public route. */
export interface OpenRoute extends RouteBase {
  /** Who may call. */
  readonly access: "open";
  /** Answers. */
  answer(call: OpenCall): Answer | Promise<Answer>;
}

/** A route for delegates of accounts. */
export interface SignedRoute extends RouteBase {
  /** Who may call. */
  readonly access: "signed";
  /** Answers. */
  answer(call: SignedCall): Answer | Promise<Answer>;
}

/**
 * A route below `/v1/owners/:owner`, for the owner's delegates and bearers of
 * the owner's token.
 */
export interface OwnerRoute extends RouteBase {
  /** Who may call. */
  readonly access: "owner";
  /** Answers. */
  answer(call: OwnerCall): Answer | Promise<Answer>;
}

/** A route. */
export type Route = OpenRoute | SignedRoute | OwnerRoute;

/** Most bytes of any body. */
export const MAX_BODY_BYTES = 2_097_152;

/** Most bytes of a body that holds nothing but names. */
export const MAX_SMALL_BODY_BYTES = 65_536;
