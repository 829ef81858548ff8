/**
 * Answers the requests of the Model Context Protocol from a catalog; knows
 * nothing of transports and keeps nothing between two requests.
 *
 * @module
 */

import type { Clock } from "../clock.ts";
import { quote } from "../quote.ts";
import { isJsonObject } from "../schema/schema.ts";
import {
  errorResult,
  type McpCall,
  type McpCatalog,
  McpRequestError,
  type McpTool,
} from "./catalog.ts";
import {
  failure,
  RPC_ERRORS,
  type RpcAnswer,
  type RpcParams,
  type RpcRequest,
  type SentNotification,
  success,
} from "./messages.ts";
import { META, readMeta, settleVersion, VERSIONS } from "./versions.ts";

/** On whose behalf a request is answered. */
interface McpCaller<Context> {
  /** Makes what tools work with; it is called when one needs it. */
  readonly context: () => Context;
  /** Aborts when the answer is no longer waited for. */
  readonly signal: AbortSignal;
  /** Sends a notification before the answer. */
  readonly notify: (notification: SentNotification) => void;
  /** Whether the request stands alone, as since 2026-07-28. */
  readonly isStateless: boolean;
}

/** A call of a tool that has ended. */
export interface EndedToolCall {
  /** The tool; `unknown` for a name that no tool has. */
  readonly tool: string;
  /** How it ended: `error` is a result that says so, `failed` an exception. */
  readonly outcome: "ok" | "error" | "failed" | "cancelled";
}

/** Options of {@linkcode McpServer}. */
export interface McpServerOptions<Context> {
  /** What the server offers. */
  readonly catalog: McpCatalog<Context>;
  /** Sets the timer of each call. */
  readonly clock: Clock;
  /**
   * Most milliseconds of a call.
   *
   * @default {240000}
   */
  readonly maxCallMs?: number;
  /** Called with each call of a tool that has ended. */
  readonly onCall?: (call: EndedToolCall) => void;
  /** Called with exceptions, which the client is not told. */
  readonly onError?: (error: unknown, method: string) => void;
}

type Method<Context> = (
  params: RpcParams,
  call: McpCall<Context>,
) => Promise<RpcParams> | RpcParams;

/** The result that methods without one have. */
const NOTHING: RpcParams = {};
/** How long clients may keep a list that changes only with the server. */
const LIST_TTL_MS = 3_600_000;

/** A server. */
export class McpServer<Context> {
  /** What the server offers. */
  readonly catalog: McpCatalog<Context>;
  readonly #options: McpServerOptions<Context>;
  readonly #tools: ReadonlyMap<string, McpTool<Context>>;
  readonly #methods: ReadonlyMap<string, Method<Context>>;
  readonly #capabilities: RpcParams;
  /** Whether the list of tools depends on the caller. */
  readonly #isOwnList: boolean;

  /** Makes a server of a catalog. */
  constructor(options: McpServerOptions<Context>) {
    const { catalog } = options;
    this.catalog = catalog;
    this.#options = options;
    this.#tools = new Map(catalog.tools.map((tool) => [tool.name, tool]));
    this.#isOwnList = catalog.tools.some(({ isOffered }) => isOffered);
    this.#capabilities = {
      tools: {},
      ...(catalog.resources === undefined ? {} : { resources: {} }),
      ...(catalog.prompts === undefined ? {} : { prompts: {} }),
      ...(catalog.sendsLogs ? { logging: {} } : {}),
    };
    this.#methods = this.#table();
  }

  /**
   * Returns the result of `initialize`, and the version that it settles.
   */
  initialize(
    params: RpcParams,
  ): { readonly version: string; readonly result: RpcParams } {
    const version = settleVersion(params["protocolVersion"]);
    return {
      version,
      result: {
        protocolVersion: version,
        capabilities: this.#capabilities,
        serverInfo: this.catalog.info,
        instructions: this.catalog.instructions,
      },
    };
  }

  /** Answers a request. It never rejects. */
  async answer(
    request: RpcRequest,
    caller: McpCaller<Context>,
  ): Promise<RpcAnswer> {
    const { id, method, params } = request;
    const run = this.#methods.get(method);
    if (run === undefined) {
      const message = `Cannot answer: there is no method ${shown(method)}`;
      return failure(id, { code: RPC_ERRORS.noMethod, message });
    }
    const ending = new AbortController();
    const end = () => ending.abort(caller.signal.reason);
    if (caller.signal.aborted) end();
    caller.signal.addEventListener("abort", end);
    const timer = this.#options.clock.setTimer(
      () => ending.abort(new McpRequestError("the time is up")),
      this.#options.maxCallMs ?? 240_000,
    );
    try {
      const call = openCall(params, { caller, signal: ending.signal });
      const result = await run(params, call);
      return success(
        id,
        caller.isStateless ? this.#asStateless(method, result) : result,
      );
    } catch (error) {
      return this.#failed(request, error);
    } finally {
      timer.cancel();
      caller.signal.removeEventListener("abort", end);
    }
  }

  /** Results of requests that stand alone name their kind and the server. */
  #asStateless(method: string, result: RpcParams): RpcParams {
    const isList = method.endsWith("/list") || method === "resources/read" ||
      method === "server/discover";
    const isOwn = method === "resources/list" || method === "resources/read" ||
      method === "tools/list" && this.#isOwnList;
    return {
      resultType: "complete",
      ...(isList
        ? {
          ttlMs: isOwn ? 0 : LIST_TTL_MS,
          cacheScope: isOwn ? "private" : "public",
        }
        : {}),
      ...result,
      _meta: { [META.server]: this.catalog.info },
    };
  }

  #failed({ id, method }: RpcRequest, error: unknown): RpcAnswer {
    if (error instanceof McpRequestError) {
      const message = `Cannot answer ${method}: ${error.message}`;
      return failure(id, { code: RPC_ERRORS.badParams, message });
    }
    this.#options.onError?.(error, method);
    const message = `Cannot answer ${method}: something failed here; try again`;
    return failure(id, { code: RPC_ERRORS.internal, message });
  }

  #table(): ReadonlyMap<string, Method<Context>> {
    const { catalog } = this;
    const methods = new Map<string, Method<Context>>();
    methods.set("ping", () => NOTHING);
    methods.set("server/discover", () => ({
      supportedVersions: VERSIONS,
      capabilities: this.#capabilities,
      instructions: catalog.instructions,
    }));
    const listed = catalog.tools.map(listedTool);
    methods.set("tools/list", (_, call) => ({
      tools: this.#isOwnList
        ? listed.filter((_, at) =>
          catalog.tools[at]?.isOffered?.(call.context) ?? true
        )
        : listed,
    }));
    methods.set("tools/call", (params, call) => this.#callTool(params, call));
    if (catalog.sendsLogs) methods.set("logging/setLevel", () => NOTHING);
    const { resources, prompts } = catalog;
    if (resources !== undefined) {
      methods.set("resources/list", async ({ cursor }, call) => {
        const page = await resources.list(readCursor(cursor), call);
        return { ...page };
      });
      methods.set("resources/templates/list", () => ({
        resourceTemplates: resources.templates,
      }));
      methods.set("resources/read", async ({ uri }, call) => {
        const wanted = typeof uri === "string" ? uri : "";
        const content = await resources.read(wanted, call);
        if (content !== undefined) return { contents: [content] };
        throw new McpRequestError(`there is no resource ${shown(wanted)}`);
      });
    }
    if (prompts !== undefined) {
      const shownPrompts = {
        prompts: prompts.map(({ get: _, ...facts }) => facts),
      };
      methods.set("prompts/list", () => shownPrompts);
      methods.set("prompts/get", async (params, call) => {
        const prompt = prompts.find(({ name }) => name === params["name"]);
        if (prompt === undefined) {
          const name = shown(String(params["name"]));
          throw new McpRequestError(`there is no prompt ${name}`);
        }
        const args = readPromptArguments(params["arguments"], prompt);
        const messages = await prompt.get(args, call);
        return { description: prompt.description, messages };
      });
    }
    return methods;
  }

  async #callTool(
    params: RpcParams,
    call: McpCall<Context>,
  ): Promise<RpcParams> {
    const { name, arguments: args = {} } = params;
    const tool = this.#tools.get(String(name));
    const { onCall, onError } = this.#options;
    if (tool === undefined) {
      onCall?.({ tool: "unknown", outcome: "error" });
      throw new McpRequestError(`there is no tool ${shown(String(name))}`);
    }
    try {
      const result = await tool.call(args, call);
      onCall?.({ tool: tool.name, outcome: result.isError ? "error" : "ok" });
      return { ...result };
    } catch (error) {
      const isEnded = call.signal.aborted;
      onCall?.({ tool: tool.name, outcome: isEnded ? "cancelled" : "failed" });
      if (!isEnded) onError?.(error, `tools/call ${tool.name}`);
      const reason = isEnded
        ? "the call was cancelled, or took too long; it may still take effect"
        : "something failed here; try again";
      return { ...errorResult(`Cannot call ${tool.name}: ${reason}`) };
    }
  }
}

function openCall<Context>(
  params: RpcParams,
  { caller, signal }: {
    readonly caller: McpCaller<Context>;
    readonly signal: AbortSignal;
  },
): McpCall<Context> {
  const meta = readMeta(params);
  const { progressToken } = meta;
  const isAsked = typeof progressToken === "string" ||
    typeof progressToken === "number";
  const isMuted = caller.isStateless && meta[META.logLevel] === undefined;
  const notify = (method: string, params: RpcParams): void => {
    if (signal.aborted) return;
    if (isMuted && method === "notifications/message") return;
    caller.notify({ jsonrpc: "2.0", method, params });
  };
  return {
    get context() {
      return caller.context();
    },
    signal,
    notify,
    progress(done, { total, message } = {}) {
      if (!isAsked) return;
      notify("notifications/progress", {
        progressToken,
        progress: done,
        ...(total === undefined ? {} : { total }),
        ...(message === undefined ? {} : { message }),
      });
    },
  };
}

function listedTool<Context>(tool: McpTool<Context>): RpcParams {
  const { name, title, description, annotations, input, output } = tool;
  return {
    ...{ name, title, description, annotations: { title, ...annotations } },
    inputSchema: input,
    ...(output === undefined ? {} : { outputSchema: output }),
  };
}

function readCursor(cursor: unknown): string | undefined {
  if (cursor === undefined || typeof cursor === "string") return cursor;
  throw new McpRequestError("the cursor is not a text");
}

function readPromptArguments(
  given: unknown,
  { arguments: known }: {
    readonly arguments: readonly {
      readonly name: string;
      readonly required: boolean;
    }[];
  },
): Readonly<Record<string, string>> {
  const values = isJsonObject(given) ? given : {};
  const read: Record<string, string> = {};
  for (const { name, required } of known) {
    const value = values[name];
    if (typeof value === "string" && value !== "") read[name] = value;
    else if (required) {
      throw new McpRequestError(`the argument "${name}" is missing`);
    }
  }
  return read;
}

/** A client's text in a message, not longer than a name is. */
function shown(text: string): string {
  return quote(text, { maxChars: 64 });
}
