/**
 * The Model Context Protocol over HTTP: the transport "Streamable HTTP", with
 * sessions up to version 2025-11-25 and requests that stand alone since
 * 2026-07-28, and the older one with two paths (2024-11-05).
 *
 * @module
 */

import type { HttpRequest, HttpResponse } from "../http/exchange.ts";
import { AloneRequests } from "./http_alone.ts";
import { ConversationRequests } from "./http_conversations.ts";
import {
  MAX_MESSAGE_BYTES,
  type McpEndpointOptions,
  type McpEntry,
} from "./http_door.ts";
import {
  ACCEPTED,
  readPost,
  refusalResponse,
  standsAlone,
} from "./http_messages.ts";
import { OlderTransport } from "./http_older.ts";
import { HttpSessions } from "./http_sessions.ts";
import { RPC_ERRORS } from "./messages.ts";

const ENDPOINT = ["POST", "GET", "DELETE"];
const OLDER = ["GET"];
const MESSAGES = ["POST"];

/** Serves the endpoint. */
export class McpEndpoint<Context> {
  readonly #options: McpEndpointOptions<Context>;
  readonly #sessions: HttpSessions<Context>;
  readonly #conversations: ConversationRequests<Context>;
  readonly #alone: AloneRequests<Context>;
  readonly #older: OlderTransport<Context>;
  #isEnded = false;

  /** An endpoint without sessions. */
  constructor(options: McpEndpointOptions<Context>) {
    this.#options = options;
    this.#sessions = new HttpSessions(options);
    this.#conversations = new ConversationRequests(options, this.#sessions);
    this.#alone = new AloneRequests(options);
    this.#older = new OlderTransport(options, this.#sessions);
  }

  /** How many sessions there are. */
  get sessions(): number {
    return this.#sessions.size;
  }

  /** Ends the sessions of a credential, such as one that was revoked. */
  endOf(owner: Uint8Array): void {
    this.#sessions.endOf(owner);
  }

  /**
   * Answers what is under way and ends the sessions; later requests get 503.
   */
  drain(): void {
    this.#isEnded = true;
    this.#sessions.drain();
  }

  /** Ends all sessions, streams and requests at once. */
  end(): void {
    this.#isEnded = true;
    this.#sessions.endAll();
    this.#alone.end();
  }

  /** Answers a request; undefined when its path is none of the endpoint's. */
  answer(request: HttpRequest): Promise<HttpResponse> | undefined {
    const [path = "", query = ""] = request.target.split("?", 2);
    const { endpoint, older } = this.#options.paths;
    if (path === endpoint) return this.#guarded(request, ENDPOINT, "");
    if (path === older?.stream) return this.#guarded(request, OLDER, "");
    if (path === older?.messages) {
      return this.#guarded(request, MESSAGES, query);
    }
    return undefined;
  }

  async #guarded(
    request: HttpRequest,
    methods: readonly string[],
    query: string,
  ): Promise<HttpResponse> {
    const { door } = this.#options;
    if (this.#isEnded) {
      return refusalResponse(503, "Cannot answer: the server stops", {
        headers: { "retry-after": "1" },
      });
    }
    const origin = request.headers.get("origin");
    if (origin !== undefined && !door.isOriginAllowed(origin)) {
      return refusalResponse(
        403,
        "Cannot answer: pages of this origin may not call",
      );
    }
    if (!methods.includes(request.method)) {
      return refusalResponse(
        405,
        "Cannot answer: the path has no such method",
        {
          headers: { allow: methods.join(", ") },
        },
      );
    }
    const entry = await door.enter(request);
    if (entry.kind === "refused") return entry.response;
    if (methods === OLDER) return await this.#older.open(request, entry);
    if (methods === MESSAGES) {
      const id = new URLSearchParams(query).get("sessionId") ?? "";
      return await this.#older.take(request, { entry, id });
    }
    switch (request.method) {
      case "POST":
        return await this.#post(request, entry);
      case "GET":
        return this.#conversations.read(request, entry);
      default:
        return this.#conversations.delete(request, entry);
    }
  }

  async #post(
    request: HttpRequest,
    entry: McpEntry<Context>,
  ): Promise<HttpResponse> {
    const { maxBodyBytes = MAX_MESSAGE_BYTES } = this.#options;
    const read = await readPost(request, maxBodyBytes);
    if (read.kind === "refused") return read.response;
    const [message] = read.messages;
    if (message === undefined || !standsAlone(request, message)) {
      return await this.#conversations.post(request, { entry, ...read });
    }
    if (message.kind !== "request") return ACCEPTED;
    return read.isBatch
      ? refusalResponse(400, "Cannot answer: it is a list of messages", {
        code: RPC_ERRORS.invalid,
      })
      : await this.#alone.answer(request, { entry, message, ...read });
  }
}
