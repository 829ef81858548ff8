/**
 * Agents that call the tools of an API in memory, without a server.
 *
 * @module
 */

import type { EndedToolCall } from "../../../shared/mcp/server.ts";
import type { Operations } from "../../engine/bulk/operations.ts";
import type { AnyRoute } from "../../http/route.ts";
import { allRoutes } from "../../routes/all_routes.ts";
import {
  openTestApi,
  SERVICE_HOST,
  type TestApi,
  type TestApiOptions,
} from "../../routes/testing/test_api.ts";
import { testRequest } from "../../routes/testing/test_request.ts";
import { openOperations } from "../../routes/tasks/bulk_routes.ts";
import { RIGHTS_ROUTE } from "../rights_route.ts";
import { openTasksMcp, type TasksMcp } from "../tasks_mcp.ts";

/** A value of an answer; a test looks at its members. */
// deno-lint-ignore no-explicit-any
type AnyJson = any;

/** An answer over HTTP. */
export interface AgentReply {
  /** The status; undefined when the endpoint does not answer the path. */
  readonly status: number | undefined;
  /** The header fields. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** The message. */
  readonly json: AnyJson;
}

/** Where a {@linkcode TestAgent} asks. */
export interface AgentOptions {
  /** The credential. */
  readonly key: string;
  /** @default that of the tenant "acme" */
  readonly host?: string;
  /** @default {"/mcp"} */
  readonly target?: string;
  /** @default {"192.0.2.1"} */
  readonly address?: string;
}

/** An agent with one credential. */
export class TestAgent {
  readonly #mcp: TasksMcp;
  readonly #options: AgentOptions;
  /** The session, once one is open; a test may set another one. */
  session: string | undefined;

  /** An agent without a session. */
  constructor(mcp: TasksMcp, options: AgentOptions) {
    this.#mcp = mcp;
    this.#options = options;
  }

  /** Sends a body. */
  async send(
    body: string,
    fields: Readonly<Record<string, string>> = {},
    method = "POST",
  ): Promise<AgentReply> {
    const { key, target = "/mcp", address = "192.0.2.1" } = this.#options;
    const { host = `acme.${SERVICE_HOST}` } = this.#options;
    const response = await this.#mcp.answer(testRequest({
      ...{ method, target, body, address },
      headers: {
        ...{ host, authorization: `Bearer ${key}` },
        "content-type": "application/json",
        accept: "application/json",
        ...this.session === undefined ? {} : { "mcp-session-id": this.session },
        ...fields,
      },
    }));
    response?.stream?.cancel();
    const text = String(response?.body ?? "");
    return {
      status: response?.status,
      headers: response?.headers ?? {},
      json: text === "" ? undefined : JSON.parse(text),
    };
  }

  /** Sends a request. */
  async ask(
    method: string,
    params: object = {},
    fields: Readonly<Record<string, string>> = {},
  ): Promise<AgentReply> {
    const message = { jsonrpc: "2.0", id: 1, method, params };
    return await this.send(JSON.stringify(message), fields);
  }

  /** Opens a session. */
  async open(): Promise<AgentReply> {
    const opened = await this.ask("initialize", {
      ...{ protocolVersion: "2025-06-18", capabilities: {} },
      clientInfo: { name: "test", version: "1" },
    });
    const id = opened.headers["mcp-session-id"];
    if (typeof id === "string") this.session = id;
    return opened;
  }

  /** Calls a tool and returns its result, or the error of the protocol. */
  async call(name: string, args: unknown = {}): Promise<AnyJson> {
    const { json } = await this.ask("tools/call", { name, arguments: args });
    return json.result ?? json;
  }

  /** The tools that the agent is shown. */
  async tools(): Promise<readonly AnyJson[]> {
    return (await this.ask("tools/list")).json.result.tools;
  }
}

/** An API and its endpoint for agents. */
export interface AgentApi extends TestApi {
  /** The endpoint. */
  readonly mcp: TasksMcp;
  /** The calls that have ended. */
  readonly ended: readonly EndedToolCall[];
  /** Opens a session of a key, of the tenant's owner unless another is given. */
  agent(options?: Partial<AgentOptions>): Promise<TestAgent>;
}

/** Runs a test with an API, its endpoint for agents and the worker "mailer". */
export async function withAgents(
  run: (api: AgentApi) => Promise<void>,
  options: Partial<TestApiOptions> = {},
): Promise<void> {
  let operations: Operations | undefined;
  let routes: readonly AnyRoute[] = [];
  const ended: EndedToolCall[] = [];
  const api = await openTestApi({
    ...options,
    routes: (parts) => {
      operations = openOperations(parts.engine);
      return routes = [...allRoutes(parts, { operations }), RIGHTS_ROUTE];
    },
  });
  let ids = 0;
  const { handler, clock, logger } = api;
  const mcp = openTasksMcp({
    ...{ handler, routes, clock, logger, version: "1.2.3" },
    newId: () => `session-${++ids}`,
    maxBodyBytes: 8 * 1_048_576,
    serviceHost: SERVICE_HOST,
    devFallback: options.devFallback ?? false,
    trustedProxies: options.trustedProxies ?? [],
    onCall: (call) => ended.push(call),
  });
  await api.addWorker({ name: "mailer" });
  await run({
    ...api,
    ...{ mcp, ended },
    async agent(given = {}) {
      const agent = new TestAgent(mcp, { key: api.ownerKey, ...given });
      await agent.open();
      return agent;
    },
  });
  mcp.end();
  await operations?.stop();
  await api.close();
}
