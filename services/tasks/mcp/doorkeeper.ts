/**
 * Admits agents as the API does: it is asked about each credential. Its answer
 * is remembered for a short time, in which the API still judges each call of a
 * tool.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { BoundedMap } from "../../shared/bounded_map.ts";
import { type Clock, steadyClock } from "../../shared/clock.ts";
import type {
  HttpHandler,
  HttpRequest,
  HttpResponse,
} from "../../shared/http/exchange.ts";
import type { McpEntry } from "../../shared/mcp/http_door.ts";
import { refusalResponse } from "../../shared/mcp/http_messages.ts";
import { RPC_ERRORS } from "../../shared/mcp/messages.ts";
import { isJsonObject } from "../../shared/schema/schema.ts";
import type { Destination } from "../http/locate.ts";
import { type AgentAnswer, askAs } from "./agent_api.ts";
import type { AgentContext } from "./route_tool.ts";

/** Options of {@linkcode Doorkeeper}. */
interface DoorkeeperOptions {
  /** Answers the API. */
  readonly handler: HttpHandler;
  /** Measures how long ago the API was asked. */
  readonly clock: Clock;
}

/** The outcome of entering: who calls, or the response that refuses it. */
type Entered = McpEntry<AgentContext> | {
  readonly kind: "refused";
  readonly response: HttpResponse;
};

/** For how long the API is not asked again whether it knows a credential. */
const KNOWN_MS = 30_000;
/** Most credentials that are remembered, by client address. */
const MAX_KNOWN = 1_024;
/** From how many bytes on a request counts against the rates by itself. */
const LONG_BYTES = 65_536;

interface Known {
  readonly scopes: ReadonlySet<string>;
  readonly untilMs: number;
}

/** Admits agents. */
export class Doorkeeper {
  readonly #handler: HttpHandler;
  readonly #clock: Clock;
  readonly #known = new BoundedMap<string, Known>({ maxEntries: MAX_KNOWN });

  /** No credential is known yet. */
  constructor({ handler, clock }: DoorkeeperOptions) {
    this.#handler = handler;
    this.#clock = steadyClock(clock);
  }

  /** Admits a request, or refuses it in the API's words. */
  async enter(
    request: HttpRequest,
    { destination, onRefused }: {
      /** Where the request leads. */
      readonly destination: Destination;
      /** Called with the digest of a credential that is no longer valid. */
      readonly onRefused: (owner: Uint8Array) => void;
    },
  ): Promise<Entered> {
    const { part, prefix, origin } = destination;
    const tenant = part.kind === "tenant" ? part.label : "";
    const owner = createHash("sha256")
      .update(JSON.stringify([tenant, request.headers.all("authorization")]))
      .digest();
    // The API may admit a credential from some addresses alone.
    const name = `${owner.toHex()} ${origin.clientAddress}`;
    const ask = askAs(request, { handler: this.#handler, prefix });
    let scopes = isShort(request) ? this.#scopesOf(name) : undefined;
    if (scopes === undefined) {
      const answer = await ask({ method: "GET", target: "/mcp/rights" });
      if (answer.status !== 200) {
        // Too many requests, or a failure, say nothing of the credential.
        if (answer.status < 429) this.#known.delete(name);
        if (isOver(answer)) onRefused(owner);
        return { kind: "refused", response: refusalOf(answer) };
      }
      scopes = readScopes(answer.body);
      const untilMs = this.#clock.nowMs() + KNOWN_MS;
      this.#known.set(name, { scopes, untilMs });
    }
    const context: AgentContext = {
      scopes,
      ask: async (question) => {
        const answer = await ask(question);
        if (isOver(answer)) this.#known.delete(name);
        return answer;
      },
    };
    return {
      kind: "ok",
      owner,
      context: () => context,
      verify: () => Promise.resolve(undefined),
    };
  }

  #scopesOf(name: string): ReadonlySet<string> | undefined {
    const known = this.#known.get(name);
    return known !== undefined && this.#clock.nowMs() < known.untilMs
      ? known.scopes
      : undefined;
  }
}

function isShort({ method, headers }: HttpRequest): boolean {
  if (method !== "POST") return true;
  return Number(headers.get("content-length") ?? NaN) < LONG_BYTES;
}

/** Whether a credential or its tenant has come to its end. */
function isOver({ status, body }: AgentAnswer): boolean {
  if (status === 401) return true;
  const code = isJsonObject(body) ? body["code"] : undefined;
  return code === "tenant_suspended" || code === "tenant_not_found";
}

function readScopes(body: unknown): ReadonlySet<string> {
  const scopes = isJsonObject(body) ? body["scopes"] : undefined;
  return new Set(Array.isArray(scopes) ? scopes.map(String) : []);
}

function refusalOf({ status, headers, body }: AgentAnswer): HttpResponse {
  const { detail, title } = isJsonObject(body) ? body : {} as AgentFault;
  const passedOn = ["www-authenticate", "retry-after"].flatMap((name) => {
    const value = headers[name];
    return typeof value === "string" ? [[name, value] as const] : [];
  });
  return refusalResponse(status, String(detail ?? title ?? "Cannot answer"), {
    code: status === 401
      ? RPC_ERRORS.unauthorized
      : status === 429
      ? RPC_ERRORS.refused
      : RPC_ERRORS.internal,
    headers: Object.fromEntries(passedOn),
  });
}

interface AgentFault {
  readonly detail?: unknown;
  readonly title?: unknown;
}
