/**
 * The Model Context Protocol over HTTP: the transport "Streamable HTTP", with
 * sessions up to version 2025-11-25 and requests that stand alone since
 * 2026-07-28, and the older one with two paths (2024-11-05).
 *
 * @module
 */

import { BoundedMap } from "../bounded_map.ts";
import type { Clock } from "../clock.ts";
import type { HttpRequest, HttpResponse } from "../http/exchange.ts";
import { wrongVersion } from "./conversation.ts";
import { EventStream, readEventId } from "./event_stream.ts";
import { answerSoonOrStream } from "./http_answer.ts";
import {
  ACCEPTED,
  firstId,
  jsonResponse,
  readPost,
  refusalResponse,
  requestsOf,
  SESSION_HEADER,
  standsAlone,
  statelessFault,
  toldVersion,
} from "./http_messages.ts";
import {
  failure,
  RPC_ERRORS,
  type RpcAnswer,
  type RpcRequest,
} from "./messages.ts";
import type { McpServer } from "./server.ts";
import {
  isSameDigest,
  type McpSession,
  McpSessions,
  type SessionLimits,
} from "./sessions.ts";
import {
  isConversationVersion,
  META,
  readMeta,
  STATELESS_VERSION,
} from "./versions.ts";

/** A caller whose credential has the right form. */
export interface McpEntry<Context> {
  /** Tells entries from refusals. */
  readonly kind: "ok";
  /** SHA-256 of what says who the caller is. */
  readonly owner: Uint8Array;
  /** Makes what tools work with. */
  readonly context: () => Context;
  /**
   * Checks the credential before a session is opened: the response that
   * refuses it, or undefined.
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
export interface McpPaths {
  /** Streamable HTTP. */
  readonly endpoint: string;
  /**
   * The stream of the older transport, and where its messages are sent.
   *
   * @default the older transport is not served
   */
  readonly older?: { readonly stream: string; readonly messages: string };
}

/** Options of {@linkcode McpEndpoint}. */
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

const KEEP_ALIVE_MS = 15_000;
/** The clients of the older transport expect signs of life so often. */
const OLDER_KEEP_ALIVE_MS = 3_000;
/** Most bytes of streams that have ended, kept for clients that come again. */
const MAX_KEPT_BYTES = 33_554_432;
const MAX_KEPT = 4_096;
/** Most streams that a session has open at a time. */
const MAX_STREAMS = 32;

interface Kept {
  readonly sessionId: string;
  readonly stream: EventStream;
}

/** Serves the endpoint. */
export class McpEndpoint<Context> {
  readonly #options: McpEndpointOptions<Context>;
  readonly #sessions: McpSessions<Context>;
  readonly #kept = new BoundedMap<string, Kept>({
    maxEntries: MAX_KEPT,
    maxWeight: MAX_KEPT_BYTES,
    weigh: ({ stream }) => stream.keptBytes,
  });
  readonly #alone = new Set<AbortController>();
  #streams = 0;
  #isEnded = false;

  /** An endpoint without sessions. */
  constructor(options: McpEndpointOptions<Context>) {
    this.#options = options;
    this.#sessions = new McpSessions(options);
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
    for (const ending of this.#alone) ending.abort();
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
    if (methods === OLDER) return await this.#openOlder(request, entry);
    if (methods === MESSAGES) {
      const id = new URLSearchParams(query).get("sessionId") ?? "";
      return await this.#takeOlder(request, { entry, id });
    }
    switch (request.method) {
      case "POST":
        return await this.#post(request, entry);
      case "GET":
        return await this.#read(request, entry);
      default:
        return this.#delete(request, entry);
    }
  }

  async #post(
    request: HttpRequest,
    entry: McpEntry<Context>,
  ): Promise<HttpResponse> {
    const read = await readPost(
      request,
      this.#options.maxBodyBytes ?? 4_194_304,
    );
    if (read.kind === "refused") return read.response;
    const [message] = read.messages;
    if (message !== undefined && standsAlone(request, message)) {
      if (message.kind !== "request") return ACCEPTED;
      return read.isBatch
        ? refusalResponse(400, "Cannot answer: it is a list of messages", {
          code: RPC_ERRORS.invalid,
        })
        : await this.#answerAlone(request, { entry, message, ...read });
    }
    const isOpening = read.messages.some((one) =>
      one.kind === "request" && one.method === "initialize"
    );
    const found = isOpening && request.headers.get(SESSION_HEADER) === undefined
      ? await this.#open(request, entry)
      : this.#find(entry, request.headers.get(SESSION_HEADER));
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
      slowMs: this.#options.slowMs ?? 2_000,
    });
  }

  async #answerAlone(
    request: HttpRequest,
    { entry, message, accepted }: {
      readonly entry: McpEntry<Context>;
      readonly message: RpcRequest;
      readonly accepted: { readonly json: boolean; readonly events: boolean };
    },
  ): Promise<HttpResponse> {
    const { server, clock } = this.#options;
    const version = readMeta(message.params)[META.version];
    const fault = statelessFault(request, message);
    if (fault !== undefined) return jsonResponse(400, fault);
    if (version !== STATELESS_VERSION) {
      return jsonResponse(400, wrongVersion(message.id, version));
    }
    const ending = new AbortController();
    const end = () => ending.abort();
    this.#alone.add(ending);
    const stopListening = request.onGone(end);
    return await answerSoonOrStream({
      accepted,
      isBatch: false,
      work: async (notify) => {
        const answer = await server.answer(message, {
          ...{ context: entry.context, signal: ending.signal, notify },
          isStateless: true,
        });
        stopListening();
        this.#alone.delete(ending);
        return [answer];
      },
      openStream: () =>
        new EventStream({ clock, keepAliveMs: KEEP_ALIVE_MS, onLost: end }),
      status: statusOf,
      headers: {},
      clock,
      slowMs: this.#options.slowMs ?? 2_000,
    });
  }

  async #read(
    request: HttpRequest,
    entry: McpEntry<Context>,
  ): Promise<HttpResponse> {
    const id = request.headers.get(SESSION_HEADER);
    const found = this.#find(entry, id);
    if (found.kind === "refused") return await found.response;
    const { session } = found;
    const last = request.headers.get("last-event-id");
    if (last !== undefined && last !== "") {
      const at = readEventId(last);
      const stream = at && this.#streamOf(session, at.name);
      if (at === undefined || stream === undefined) {
        return refusalResponse(
          404,
          "Cannot read on: what came after this event is no longer kept",
        );
      }
      return {
        ...stream.response(),
        stream: stream.read(at.number),
      };
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

  #delete(request: HttpRequest, entry: McpEntry<Context>): HttpResponse {
    const id = request.headers.get(SESSION_HEADER);
    const found = this.#find(entry, id);
    if (found.kind === "refused") return found.response;
    this.#sessions.end(found.session);
    return { status: 204, headers: { "cache-control": "no-store" } };
  }

  async #openOlder(
    request: HttpRequest,
    entry: McpEntry<Context>,
  ): Promise<HttpResponse> {
    const opened = await this.#open(request, entry);
    if (opened.kind === "refused") return opened.response;
    const { session } = opened;
    const stream = new EventStream({
      clock: this.#options.clock,
      keepAliveMs: OLDER_KEEP_ALIVE_MS,
      onLost: () => this.#sessions.end(session),
      onEnd: () => this.#sessions.end(session),
    });
    session.streams.add(stream);
    const { older } = this.#options.paths;
    const query = new URLSearchParams({ sessionId: session.id });
    stream.event("endpoint", `${older?.messages}?${query}`);
    return stream.response();
  }

  async #takeOlder(
    request: HttpRequest,
    { entry, id }: { readonly entry: McpEntry<Context>; readonly id: string },
  ): Promise<HttpResponse> {
    const found = this.#find(entry, id);
    if (found.kind === "refused") return found.response;
    const { conversation, streams } = found.session;
    const [stream] = streams;
    if (stream === undefined) return NO_SESSION;
    const read = await readPost(
      request,
      this.#options.maxBodyBytes ?? 4_194_304,
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

  async #open(
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

  #find(
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

type FoundSession<Context> =
  | { readonly kind: "ok"; readonly session: McpSession<Context> }
  | { readonly kind: "refused"; readonly response: HttpResponse };

const ENDPOINT = ["POST", "GET", "DELETE"];
const OLDER = ["GET"];
const MESSAGES = ["POST"];

const NO_SESSION = jsonResponse(
  404,
  failure(null, {
    code: RPC_ERRORS.unauthorized,
    message: "Cannot answer: there is no such session, or it has ended; " +
      "open another one",
  }),
);

function refused(
  response: HttpResponse,
): { readonly kind: "refused"; readonly response: HttpResponse } {
  return { kind: "refused", response };
}

/** The status of an answer to a request that stands alone. */
function statusOf(answer: RpcAnswer): number {
  if (!("error" in answer)) return 200;
  return answer.error.code === RPC_ERRORS.noMethod ? 404 : 200;
}
