/**
 * Requests over HTTP that belong to a session, as up to the version 2025-11-25.
 * A client that has lost the stream of an answer may read on from any event.
 *
 * @module
 */

import { BoundedMap } from "../bounded_map.ts";
import type { HttpRequest, HttpResponse } from "../http/exchange.ts";
import { wrongVersion } from "./conversation.ts";
import { EventStream, readEventId } from "./event_stream.ts";
import { answerSoonOrStream } from "./http_answer.ts";
import {
  KEEP_ALIVE_MS,
  type McpEndpointOptions,
  type McpEntry,
  SLOW_MS,
} from "./http_door.ts";
import {
  ACCEPTED,
  type Accepted,
  firstId,
  jsonResponse,
  refusalResponse,
  requestsOf,
  SESSION_HEADER,
  toldVersion,
} from "./http_messages.ts";
import type { HttpSessions } from "./http_sessions.ts";
import { RPC_ERRORS, type RpcMessage } from "./messages.ts";
import type { McpSession } from "./sessions.ts";
import { isConversationVersion } from "./versions.ts";

/** Most bytes of streams that have ended, kept for clients that come again. */
const MAX_KEPT_BYTES = 33_554_432;
const MAX_KEPT = 4_096;
/** Most streams that a session has open at a time. */
const MAX_STREAMS = 32;

interface Kept {
  readonly sessionId: string;
  readonly stream: EventStream;
}

/** Messages that came with one POST. */
interface PostedMessages {
  /** The messages. */
  readonly messages: readonly RpcMessage[];
  /** Whether they came as a list. */
  readonly isBatch: boolean;
  /** Which forms of an answer the client takes. */
  readonly accepted: Accepted;
}

/** Answers the requests of sessions. */
export class ConversationRequests<Context> {
  readonly #options: McpEndpointOptions<Context>;
  readonly #sessions: HttpSessions<Context>;
  readonly #kept = new BoundedMap<string, Kept>({
    maxEntries: MAX_KEPT,
    maxWeight: MAX_KEPT_BYTES,
    weigh: ({ stream }) => stream.keptBytes,
  });
  #streams = 0;

  /** Answers with the sessions of an endpoint. */
  constructor(
    options: McpEndpointOptions<Context>,
    sessions: HttpSessions<Context>,
  ) {
    this.#options = options;
    this.#sessions = sessions;
  }

  /** Answers a POST; `initialize` opens a session. */
  async post(
    request: HttpRequest,
    { entry, ...read }: PostedMessages & { readonly entry: McpEntry<Context> },
  ): Promise<HttpResponse> {
    const isOpening = read.messages.some((one) =>
      one.kind === "request" && one.method === "initialize"
    );
    const found = isOpening && request.headers.get(SESSION_HEADER) === undefined
      ? await this.#sessions.open(request, entry)
      : this.#sessions.find(entry, request.headers.get(SESSION_HEADER));
    if (found.kind === "refused") return found.response;
    const { session } = found;
    const version = toldVersion(request);
    if (
      !isOpening && version !== undefined && !isConversationVersion(version)
    ) {
      return jsonResponse(
        400,
        wrongVersion(firstId(read.messages) ?? 0, version),
      );
    }
    if (requestsOf(read.messages).length === 0) {
      for (const one of read.messages) {
        await session.conversation.take(one, {
          context: entry.context,
          notify: () => {},
        });
      }
      return ACCEPTED;
    }
    return await answerSoonOrStream({
      accepted: read.accepted,
      isBatch: read.isBatch,
      work: async (notify) => {
        const answers = await Promise.all(
          read.messages.map((one) =>
            session.conversation.take(one, { context: entry.context, notify })
          ),
        );
        return answers.filter((answer) => answer !== undefined);
      },
      openStream: () => this.#openStream(session),
      status: () => 200,
      headers: isOpening ? { [SESSION_HEADER]: session.id } : {},
      clock: this.#options.clock,
      slowMs: this.#options.slowMs ?? SLOW_MS,
    });
  }

  /** Answers a GET: a stream that is read on, or one of its own. */
  read(
    request: HttpRequest,
    entry: McpEntry<Context>,
  ): HttpResponse {
    const id = request.headers.get(SESSION_HEADER);
    const found = this.#sessions.find(entry, id);
    if (found.kind === "refused") return found.response;
    const { session } = found;
    const last = request.headers.get("last-event-id");
    if (last !== undefined && last !== "") {
      const at = readEventId(last);
      const stream = at && this.#streamOf(session, at.name);
      if (at === undefined || stream === undefined) {
        // 404 would tell the client that its session has ended.
        return refusalResponse(
          400,
          "Cannot read on: what came after this event is no longer kept",
        );
      }
      return stream.response({ after: at.number });
    }
    if (session.streams.size >= MAX_STREAMS) {
      return refusalResponse(
        429,
        `Cannot open stream: the session has ${MAX_STREAMS}`,
        { code: RPC_ERRORS.refused, headers: { "retry-after": "5" } },
      );
    }
    const { clock, maxStreamMs } = this.#options;
    const timer = maxStreamMs === undefined
      ? undefined
      : clock.setTimer(() => stream.end(), maxStreamMs);
    const stream: EventStream = new EventStream({
      clock,
      keepAliveMs: KEEP_ALIVE_MS,
      onLost: () => stream.end(),
      onEnd: () => {
        timer?.cancel();
        session.streams.delete(stream);
      },
    });
    session.streams.add(stream);
    return stream.response();
  }

  /** Answers a DELETE, which ends the session. */
  delete(request: HttpRequest, entry: McpEntry<Context>): HttpResponse {
    const id = request.headers.get(SESSION_HEADER);
    const found = this.#sessions.find(entry, id);
    if (found.kind === "refused") return found.response;
    this.#sessions.end(found.session);
    return { status: 204, headers: { "cache-control": "no-store" } };
  }

  /** Opens the stream of an answer, which can be read on from any event. */
  #openStream(session: McpSession<Context>): EventStream {
    const name = String(++this.#streams);
    const stream: EventStream = new EventStream({
      clock: this.#options.clock,
      keepAliveMs: KEEP_ALIVE_MS,
      name,
      onEnd: () => {
        session.streams.delete(stream);
        this.#kept.set(name, { sessionId: session.id, stream });
      },
    });
    session.streams.add(stream);
    // Older clients cannot read an event without data.
    if ((session.conversation.version ?? "") >= "2025-11-25") stream.prime();
    return stream;
  }

  #streamOf(
    session: McpSession<Context>,
    name: string,
  ): EventStream | undefined {
    const kept = this.#kept.get(name);
    if (kept?.sessionId === session.id) return kept.stream;
    for (const stream of session.streams) {
      if (stream.name === name) return stream;
    }
    return undefined;
  }
}
