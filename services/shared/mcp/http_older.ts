/**
 * The transport of the version 2024-11-05: a stream of events, and a path to
 * post messages to, which the first event names.
 *
 * @module
 */

import type { HttpRequest, HttpResponse } from "../http/exchange.ts";
import { EventStream } from "./event_stream.ts";
import {
  MAX_MESSAGE_BYTES,
  type McpEndpointOptions,
  type McpEntry,
} from "./http_door.ts";
import { ACCEPTED, readPost } from "./http_messages.ts";
import { type HttpSessions, NO_SESSION } from "./http_sessions.ts";

/** The clients of this transport expect signs of life so often. */
const KEEP_ALIVE_MS = 3_000;

/** Serves the older transport. */
export class OlderTransport<Context> {
  readonly #options: McpEndpointOptions<Context>;
  readonly #sessions: HttpSessions<Context>;

  /** Serves it with the sessions of an endpoint. */
  constructor(
    options: McpEndpointOptions<Context>,
    sessions: HttpSessions<Context>,
  ) {
    this.#options = options;
    this.#sessions = sessions;
  }

  /** Answers with the stream of a new session, which ends with it. */
  async open(
    request: HttpRequest,
    entry: McpEntry<Context>,
  ): Promise<HttpResponse> {
    const opened = await this.#sessions.open(request, entry);
    if (opened.kind === "refused") return opened.response;
    const { session } = opened;
    const stream = new EventStream({
      clock: this.#options.clock,
      keepAliveMs: KEEP_ALIVE_MS,
      onLost: () => this.#sessions.end(session),
      onEnd: () => this.#sessions.end(session),
    });
    session.streams.add(stream);
    const { older } = this.#options.paths;
    const query = new URLSearchParams({ sessionId: session.id });
    stream.event("endpoint", `${older?.messages}?${query}`);
    return stream.response();
  }

  /** Takes a POST to the stream's other path; the stream gets the answers. */
  async take(
    request: HttpRequest,
    { entry, id }: { readonly entry: McpEntry<Context>; readonly id: string },
  ): Promise<HttpResponse> {
    const found = this.#sessions.find(entry, id);
    if (found.kind === "refused") return found.response;
    const { conversation, streams } = found.session;
    const [stream] = streams;
    if (stream === undefined) return NO_SESSION;
    const read = await readPost(
      request,
      this.#options.maxBodyBytes ?? MAX_MESSAGE_BYTES,
    );
    if (read.kind === "refused") return read.response;
    for (const message of read.messages) {
      void conversation.take(message, {
        context: entry.context,
        notify: (notification) => stream.notify(notification),
      }).then((answer) => {
        if (answer !== undefined) stream.answer(answer);
      });
    }
    return ACCEPTED;
  }
}
