/**
 * A conversation with one client: a session over HTTP, or a process over its
 * standard input. It knows which requests are under way, so that they can be
 * cancelled.
 *
 * @module
 */

import {
  failure,
  RPC_ERRORS,
  type RpcAnswer,
  type RpcId,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  type SentNotification,
  success,
} from "./messages.ts";
import type { McpServer } from "./server.ts";
import { META, readMeta, STATELESS_VERSION, VERSIONS } from "./versions.ts";

/** What goes with a message. */
interface MessageOptions<Context> {
  /** Makes what tools work with. */
  readonly context: () => Context;
  /** Takes notifications that come before the answer. */
  readonly notify: (notification: SentNotification) => void;
}

/** Most requests under way. */
const MAX_UNDER_WAY = 32;

/** A conversation. */
export class McpConversation<Context> {
  readonly #server: McpServer<Context>;
  readonly #underWay = new Map<RpcId, AbortController>();
  #version: string | undefined;
  #onIdle: (() => void) | undefined;

  /** A conversation that has not begun. */
  constructor(server: McpServer<Context>) {
    this.#server = server;
  }

  /**
   * Calls `listener` once when no request is under way, at once if none is;
   * there is one listener.
   */
  onIdle(listener: () => void): void {
    if (this.isBusy) this.#onIdle = listener;
    else listener();
  }

  /** The version that `initialize` settled; undefined before. */
  get version(): string | undefined {
    return this.#version;
  }

  /** Whether a request is under way. */
  get isBusy(): boolean {
    return this.#underWay.size > 0;
  }

  /**
   * Takes a message.
   *
   * @returns The answer; undefined for messages that get none, which are
   * notifications and requests that were cancelled. It never rejects.
   */
  async take(
    message: RpcMessage,
    options: MessageOptions<Context>,
  ): Promise<RpcAnswer | undefined> {
    if (message.kind === "response") return undefined;
    if (message.kind === "notification") return this.#note(message);
    const { id, method, params } = message;
    if (method === "initialize") {
      const { version, result } = this.#server.initialize(params);
      this.#version = version;
      return success(id, result);
    }
    const { [META.version]: named } = readMeta(params);
    if (named !== undefined && named !== STATELESS_VERSION) {
      return wrongVersion(id, named);
    }
    return await this.#answer(message, {
      ...options,
      isStateless: named === STATELESS_VERSION,
    });
  }

  /** Cancels all requests under way. */
  cancelAll(): void {
    for (const ending of this.#underWay.values()) ending.abort();
    this.#underWay.clear();
  }

  async #answer(
    request: RpcRequest,
    options: MessageOptions<Context> & { readonly isStateless: boolean },
  ): Promise<RpcAnswer | undefined> {
    const { id } = request;
    if (this.#underWay.has(id)) {
      const message = "Cannot answer: a request with this id is under way";
      return failure(id, { code: RPC_ERRORS.invalid, message });
    }
    if (this.#underWay.size >= MAX_UNDER_WAY) {
      const message = `Cannot answer: ${MAX_UNDER_WAY} requests are under ` +
        "way; wait for one of them";
      return failure(id, { code: RPC_ERRORS.refused, message });
    }
    const ending = new AbortController();
    this.#underWay.set(id, ending);
    try {
      const answer = await this.#server.answer(request, {
        ...options,
        signal: ending.signal,
      });
      return ending.signal.aborted ? undefined : answer;
    } finally {
      if (this.#underWay.get(id) === ending) this.#underWay.delete(id);
      if (!this.isBusy) this.#onIdle?.();
    }
  }

  #note({ method, params }: RpcNotification): undefined {
    if (method !== "notifications/cancelled") return;
    const { requestId } = params;
    if (typeof requestId !== "string" && typeof requestId !== "number") return;
    this.#underWay.get(requestId)?.abort();
    this.#underWay.delete(requestId);
  }
}

/** Answers a request in a version that no request may name. */
export function wrongVersion(id: RpcId, requested: unknown): RpcAnswer {
  return failure(id, {
    code: RPC_ERRORS.version,
    message: "Cannot answer: the version of the protocol is not supported",
    data: { supported: VERSIONS, requested },
  });
}
