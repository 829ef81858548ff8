/**
 * The relayer's endpoint for agents, `/api/mcp`. It is loaded with the first
 * request for it.
 *
 * @module
 */

import { MemError } from "../../../sdk/memory/errors.ts";
import type { Clock } from "../../shared/clock.ts";
import type { HttpHandler, HttpResponse } from "../../shared/http/exchange.ts";
import { toClientGroup } from "../../shared/http/client_address.ts";
import type { Network } from "../../shared/ip_network.ts";
import { type Logger, RateLimitedLog } from "../../shared/logger.ts";
import type { McpEntry } from "../../shared/mcp/http_door.ts";
import { McpEndpoint } from "../../shared/mcp/http_endpoint.ts";
import { refusalResponse } from "../../shared/mcp/http_messages.ts";
import { RPC_ERRORS } from "../../shared/mcp/messages.ts";
import { type EndedToolCall, McpServer } from "../../shared/mcp/server.ts";
import { describeError } from "../../shared/settled.ts";
import { MAX_BODY_BYTES } from "../api/route.ts";
import { ClientPool } from "./client_pool.ts";
import { type AgentCredential, readCredential } from "./credential.ts";
import { innerFetch } from "./inner_fetch.ts";
import { memoryCatalog } from "./memory_catalog.ts";
import type { MemoryContext } from "./memory_context.ts";

/** Options of {@linkcode openRelayerMcp}. */
interface RelayerMcpOptions {
  /** Answers the API, which the tools call. */
  readonly handler: HttpHandler;
  /** The relayer's version. */
  readonly version: string;
  /** Measures time. */
  readonly clock: Clock;
  /** Logs failures and the use of private keys. */
  readonly logger: Logger;
  /** Origins whose pages may call; `*` stands for all. */
  readonly corsOrigins: readonly string[];
  /** Proxies whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly Network[];
  /** Makes the ids of sessions, which cannot be guessed. */
  readonly newId: () => string;
  /** Called with each call of a tool that has ended. */
  readonly onCall: (call: EndedToolCall) => void;
}

/** The endpoint. */
export interface RelayerMcp {
  /** Answers requests below `/api/mcp`; undefined for other paths. */
  readonly answer: McpEndpoint<MemoryContext>["answer"];
  /** How many sessions are open. */
  readonly sessions: () => number;
  /** Answers the calls under way, and ends the sessions. */
  readonly drain: () => void;
  /** Ends all sessions, streams and calls, and overwrites the keys. */
  readonly end: () => void;
}

const UNAUTHORIZED = {
  "www-authenticate": 'Bearer realm="memwal", error="invalid_token"',
};
/** A body of the API, and what the protocol puts around it. */
const MAX_MESSAGE_BYTES = MAX_BODY_BYTES + 65_536;
/** The address of calls from within; points count by the caller's key. */
const SELF = { address: "127.0.0.1", port: 0 };

/** Opens the endpoint. */
export function openRelayerMcp(options: RelayerMcpOptions): RelayerMcp {
  const { handler, version, clock, logger, corsOrigins, newId } = options;
  const keyLog = new RateLimitedLog(logger, clock);
  const clients = new ClientPool({
    clock,
    fetch: innerFetch({ handler, from: () => SELF }),
    onOpen: ({ isPrivateKey, accountId }) => {
      if (!isPrivateKey) return;
      keyLog.warn(
        "An agent sent a private key as its bearer: give agents access " +
          "tokens, or let them sign on their own machine",
        { account: accountId },
      );
    },
  });
  const server = new McpServer<MemoryContext>({
    catalog: memoryCatalog({ version, clock }),
    clock,
    onCall: options.onCall,
    onError(error, method) {
      const fields = { method, error: describeError(error) };
      logger.error("Cannot answer a call of an agent", fields);
    },
  });
  const endpoint = new McpEndpoint<MemoryContext>({
    server,
    paths: {
      endpoint: "/api/mcp",
      older: { stream: "/api/mcp/sse", messages: "/api/mcp/messages" },
    },
    clock,
    newId,
    maxBodyBytes: MAX_MESSAGE_BYTES,
    door: {
      isOriginAllowed: (origin) =>
        corsOrigins.includes("*") || corsOrigins.includes(origin),
      clientGroup: (request) => toClientGroup(request, options.trustedProxies),
      enter: ({ headers }) => {
        const credential = readCredential(headers);
        return Promise.resolve(
          credential.kind === "ok"
            ? entryOf(credential, clients)
            : refused(unauthorized(credential.reason)),
        );
      },
    },
  });
  return {
    answer: (request) => endpoint.answer(request),
    sessions: () => endpoint.sessions,
    drain: () => endpoint.drain(),
    end() {
      endpoint.end();
      clients.destroy();
    },
  };
}

function entryOf(
  credential: AgentCredential,
  clients: ClientPool,
): McpEntry<MemoryContext> {
  const { digest, namespace } = credential;
  return {
    kind: "ok",
    owner: digest,
    context: () => ({ mem: clients.of(credential), namespace }),
    async verify() {
      try {
        await clients.verify(credential);
      } catch (error) {
        if (!(error instanceof MemError)) throw error;
        return refusalOf(error);
      }
      return undefined;
    },
  };
}

function refusalOf(error: MemError): HttpResponse {
  const { status = 0, retryAfterSeconds: seconds, message } = error;
  if (status === 401) return unauthorized("the relayer refused the credential");
  const headers: Readonly<Record<string, string>> = seconds === undefined
    ? {}
    : { "retry-after": String(seconds) };
  return status === 429
    ? refusalResponse(429, message, { code: RPC_ERRORS.refused, headers })
    : refusalResponse(503, message, { headers });
}

function unauthorized(reason: string): HttpResponse {
  return refusalResponse(401, `Cannot answer: ${reason}`, {
    code: RPC_ERRORS.unauthorized,
    headers: UNAUTHORIZED,
  });
}

function refused(
  response: HttpResponse,
): { readonly kind: "refused"; readonly response: HttpResponse } {
  return { kind: "refused", response };
}
