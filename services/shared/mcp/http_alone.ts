/**
 * Requests over HTTP that stand alone, as since the version 2026-07-28: nothing
 * is kept between two of them, and a client that goes away cancels its request.
 *
 * @module
 */

import type { HttpRequest, HttpResponse } from "../http/exchange.ts";
import { wrongVersion } from "./conversation.ts";
import { EventStream } from "./event_stream.ts";
import { answerSoonOrStream } from "./http_answer.ts";
import {
  KEEP_ALIVE_MS,
  type McpEndpointOptions,
  type McpEntry,
  SLOW_MS,
} from "./http_door.ts";
import {
  type Accepted,
  jsonResponse,
  statelessFault,
} from "./http_messages.ts";
import { RPC_ERRORS, type RpcAnswer, type RpcRequest } from "./messages.ts";
import { META, readMeta, STATELESS_VERSION } from "./versions.ts";

/** Answers requests that stand alone. */
export class AloneRequests<Context> {
  readonly #options: McpEndpointOptions<Context>;
  readonly #underWay = new Set<AbortController>();

  /** None is under way. */
  constructor(options: McpEndpointOptions<Context>) {
    this.#options = options;
  }

  /** Answers a request. */
  async answer(
    request: HttpRequest,
    { entry, message, accepted }: {
      readonly entry: McpEntry<Context>;
      readonly message: RpcRequest;
      readonly accepted: Accepted;
    },
  ): Promise<HttpResponse> {
    const { server, clock } = this.#options;
    const version = readMeta(message.params)[META.version];
    const fault = statelessFault(request, message);
    if (fault !== undefined) return jsonResponse(400, fault);
    if (version !== STATELESS_VERSION) {
      return jsonResponse(400, wrongVersion(message.id, version));
    }
    const refusal = await entry.verify();
    if (refusal !== undefined) return refusal;
    const ending = new AbortController();
    const end = () => ending.abort();
    this.#underWay.add(ending);
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
        this.#underWay.delete(ending);
        return [answer];
      },
      openStream: () =>
        new EventStream({ clock, keepAliveMs: KEEP_ALIVE_MS, onLost: end }),
      status: statusOf,
      headers: {},
      clock,
      slowMs: this.#options.slowMs ?? SLOW_MS,
    });
  }

  /** Cancels those under way. */
  end(): void {
    for (const ending of this.#underWay) ending.abort();
  }
}

/** The status of an answer to a request that stands alone. */
function statusOf(answer: RpcAnswer): number {
  if (!("error" in answer)) return 200;
  return answer.error.code === RPC_ERRORS.noMethod ? 404 : 200;
}
