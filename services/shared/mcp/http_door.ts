/**
 * What an endpoint of the Model Context Protocol over HTTP is made of, and who
 * may call it.
 *
 * @module
 */

import type { Clock } from "../clock.ts";
import type { HttpRequest, HttpResponse } from "../http/exchange.ts";
import type { McpServer } from "./server.ts";
import type { SessionLimits } from "./sessions.ts";

/** A caller whose credential has the right form. */
export interface McpEntry<Context> {
  /** Tells entries from refusals. */
  readonly kind: "ok";
  /** SHA-256 of what says who the caller is. */
  readonly owner: Uint8Array;
  /** Makes what tools work with. */
  readonly context: () => Context;
  /**
   * Checks the credential before a session is opened, and before each request
   * that stands alone: the response that refuses it, or undefined.
   */
  readonly verify: () => Promise<HttpResponse | undefined>;
}

/** What the owner of the endpoint decides. */
export interface McpDoor<Context> {
  /** Reads the credential of a request; a refusal has the response. */
  readonly enter: (
    request: HttpRequest,
  ) => Promise<
    McpEntry<Context> | {
      readonly kind: "refused";
      readonly response: HttpResponse;
    }
  >;
  /** Whether pages of an origin may call (DNS rebinding). */
  readonly isOriginAllowed: (origin: string) => boolean;
  /** The address group of a request's client. */
  readonly clientGroup: (request: HttpRequest) => string;
}

/** Paths of the endpoint. */
interface McpPaths {
  /** Streamable HTTP. */
  readonly endpoint: string;
  /**
   * The stream of the older transport, and where its messages are sent.
   *
   * @default the older transport is not served
   */
  readonly older?: { readonly stream: string; readonly messages: string };
}

/** Options of an endpoint. */
export interface McpEndpointOptions<Context> extends SessionLimits {
  /** Answers the requests. */
  readonly server: McpServer<Context>;
  /** Decides who may call. */
  readonly door: McpDoor<Context>;
  /** The paths. */
  readonly paths: McpPaths;
  /** Measures time. */
  readonly clock: Clock;
  /** Makes ids that cannot be guessed. */
  readonly newId: () => string;
  /**
   * Most bytes of a body.
   *
   * @default {4194304}
   */
  readonly maxBodyBytes?: number;
  /**
   * After how many milliseconds an answer becomes a stream.
   *
   * @default {2000}
   */
  readonly slowMs?: number;
  /**
   * After how many milliseconds a stream that GET opened ends. Its client opens
   * another one, by which its credential is checked again.
   *
   * @default it ends with its session
   */
  readonly maxStreamMs?: number;
}

/** Most bytes of a body where the options say nothing. */
export const MAX_MESSAGE_BYTES = 4_194_304;
/** After how many milliseconds an answer becomes a stream by default. */
export const SLOW_MS = 2_000;
/** How often a comment keeps a stream open, in milliseconds. */
export const KEEP_ALIVE_MS = 15_000;
