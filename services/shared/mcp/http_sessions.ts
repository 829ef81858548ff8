/**
 * Opens and finds the sessions that HTTP requests belong to. A session is found
 * by its id, and only with the credential that opened it.
 *
 * @module
 */

import type { HttpRequest, HttpResponse } from "../http/exchange.ts";
import type { McpEndpointOptions, McpEntry } from "./http_door.ts";
import {
  jsonResponse,
  refusalResponse,
  SESSION_HEADER,
} from "./http_messages.ts";
import { failure, RPC_ERRORS } from "./messages.ts";
import { isSameDigest, type McpSession, McpSessions } from "./sessions.ts";

/** The outcome of looking for a session. */
type FoundSession<Context> =
  | { readonly kind: "ok"; readonly session: McpSession<Context> }
  | { readonly kind: "refused"; readonly response: HttpResponse };

/** The answer to a request whose session is gone. */
export const NO_SESSION: HttpResponse = jsonResponse(
  404,
  failure(null, {
    code: RPC_ERRORS.unauthorized,
    message: "Cannot answer: there is no such session, or it has ended; " +
      "open another one",
  }),
);

/** The sessions of an endpoint. */
export class HttpSessions<Context> {
  readonly #options: Pick<McpEndpointOptions<Context>, "door">;
  readonly #sessions: McpSessions<Context>;

  /** No sessions. */
  constructor(options: McpEndpointOptions<Context>) {
    this.#options = options;
    this.#sessions = new McpSessions(options);
  }

  /** How many there are. */
  get size(): number {
    return this.#sessions.size;
  }

  /** Opens a session when the credential is good and the bounds allow it. */
  async open(
    request: HttpRequest,
    entry: McpEntry<Context>,
  ): Promise<FoundSession<Context>> {
    const group = this.#options.door.clientGroup(request);
    const opened = this.#sessions.open(entry.owner, group);
    if (opened.kind === "full") {
      const seconds = Math.ceil(opened.retryAfterMs / 1_000);
      return refused(refusalResponse(
        429,
        `Cannot open session: ${opened.reason}`,
        {
          code: RPC_ERRORS.refused,
          headers: { "retry-after": String(seconds) },
        },
      ));
    }
    const { session } = opened;
    try {
      const response = await entry.verify();
      if (response === undefined) return { kind: "ok", session };
      this.#sessions.end(session);
      return refused(response);
    } catch (error) {
      this.#sessions.end(session);
      throw error;
    }
  }

  /** Finds the session of a request. */
  find(
    entry: McpEntry<Context>,
    id: string | undefined,
  ): FoundSession<Context> {
    if (id === undefined || id === "") {
      return refused(refusalResponse(
        400,
        `Cannot answer: the field ${SESSION_HEADER} is missing; begin with ` +
          "initialize",
      ));
    }
    const session = this.#sessions.find(id);
    if (session === undefined) return refused(NO_SESSION);
    if (!isSameDigest(session.owner, entry.owner)) {
      return refused(refusalResponse(
        403,
        "Cannot answer: another credential opened the session",
      ));
    }
    return { kind: "ok", session };
  }

  /** Ends a session; harmless twice. */
  end(session: McpSession<Context>): void {
    this.#sessions.end(session);
  }

  /** Ends the sessions of a credential. */
  endOf(owner: Uint8Array): void {
    this.#sessions.endOf(owner);
  }

  /** Ends all sessions, each when its requests under way are answered. */
  drain(): void {
    this.#sessions.drain();
  }

  /** Ends all sessions at once. */
  endAll(): void {
    this.#sessions.endAll();
  }
}

function refused(
  response: HttpResponse,
): { readonly kind: "refused"; readonly response: HttpResponse } {
  return { kind: "refused", response };
}
