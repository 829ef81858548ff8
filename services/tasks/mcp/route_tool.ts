/**
 * Makes a tool of a route: its arguments, its scope and its answer come from
 * the route, and a call of the tool is a request to it.
 *
 * @module
 */

import {
  errorResult,
  type McpCall,
  type McpTool,
  type ToolAnnotations,
  type ToolResult,
} from "../../shared/mcp/catalog.ts";
import { quote } from "../../shared/quote.ts";
import { isJsonObject, type JsonSchema } from "../../shared/schema/schema.ts";
import type { Scope } from "../access/scope.ts";
import { fullPath } from "../http/locate.ts";
import type { AnyRoute } from "../http/route.ts";
import type { AgentAnswer, AgentQuestion } from "./agent_api.ts";
import { problemResult } from "./tool_results.ts";
import {
  answerSchema,
  argumentsOf,
  outputSchema,
  type RouteArguments,
} from "./tool_schema.ts";

/** On whose behalf a tool works. */
export interface AgentContext {
  /** The scopes of the caller, by which tools are shown. */
  readonly scopes: ReadonlySet<string>;
  /** Asks the API with the caller's rights. */
  readonly ask: (question: AgentQuestion) => Promise<AgentAnswer>;
}

/** A call of a tool for agents. */
export type AgentCall = McpCall<AgentContext>;

/** A tool for agents. */
export type AgentTool = McpTool<AgentContext>;

/** The routes of the API by the names of their operations. */
export type FindRoute = (operationId: string) => AnyRoute;

/** What a tool's arguments are, as a client sent them. */
export type Arguments = Readonly<Record<string, unknown>>;

/** The argument by which a repeated call has no second effect. */
const IDEMPOTENCY_KEY: JsonSchema = {
  type: "string",
  minLength: 1,
  maxLength: 255,
  description:
    "Any text of your own for this one action. Repeat a call whose " +
    "answer you did not get with the same text: it has no second effect",
};

/** Longest answer that is shown; it is sent twice, and no model reads more. */
const MAX_SHOWN_CHARS = 1_048_576;

/** Words about a tool, and what it does with its route. */
export interface RouteToolOptions {
  /** The name, by which it is called. */
  readonly name: string;
  /** The name for people. */
  readonly title: string;
  /** What it does and when to use it, for the model. */
  readonly description: string;
  /** Hints for clients. */
  readonly annotations: ToolAnnotations;
  /**
   * The arguments that are offered, of those that the route takes.
   *
   * @default all
   */
  readonly offers?: readonly string[];
  /**
   * Arguments beside those of the route.
   *
   * @default none
   */
  readonly extra?: Readonly<Record<string, JsonSchema>>;
  /**
   * Arguments that the tool itself decides.
   *
   * @default none
   */
  readonly fixed?: Arguments;
  /** The name of the route's answer in `structuredContent`. */
  readonly as: string;
  /**
   * The schema of `structuredContent`.
   *
   * @default the route's answer, by its name
   */
  readonly output?: JsonSchema;
  /**
   * What arguments that were not given mean, where it is not the API's meaning.
   *
   * @default that of the API
   */
  readonly defaults?: Arguments;
  /** Shows the route's answer, which is no problem. */
  readonly show: (
    body: Arguments,
    more: { readonly args: Arguments; readonly call: AgentCall },
  ) => ToolResult | Promise<ToolResult>;
  /**
   * Does something else than asking the route; undefined goes on with it.
   *
   * @default nothing
   */
  readonly before?: (
    args: Arguments,
    call: AgentCall,
  ) => Promise<ToolResult> | undefined;
}

/** Makes a tool of a route. */
export function routeTool(
  route: AnyRoute,
  options: RouteToolOptions,
): AgentTool {
  const { offers, extra = {}, fixed = {}, as, output, show, before, ...rest } =
    options;
  const { defaults = {}, ...facts } = rest;
  const places = argumentsOf(route);
  const ask = asking(route, places);
  const keyed = route.isIdempotent === true && !facts.annotations.readOnlyHint
    ? { idempotency_key: IDEMPOTENCY_KEY }
    : {};
  const taken = Object.entries({
    ...places.path,
    ...places.query,
    ...places.body,
  }).filter(([name]) =>
    (offers?.includes(name) ?? true) && !Object.hasOwn(fixed, name)
  );
  const properties = { ...Object.fromEntries(taken), ...extra, ...keyed };
  return {
    ...facts,
    input: {
      type: "object",
      properties,
      required: places.required.filter((name) =>
        Object.hasOwn(properties, name)
      ),
      additionalProperties: false,
    },
    output: output ?? outputSchema({ [as]: answerSchema(route) }),
    isOffered: ({ scopes }) => mayCall(route, scopes),
    call: async (given, call) => {
      const args = isJsonObject(given) ? given : {};
      const unknown = Object.keys(args).find((name) =>
        !Object.hasOwn(properties, name)
      );
      if (unknown !== undefined) {
        return errorResult(
          `Cannot call ${facts.name}: argument ${
            quote(unknown, { maxChars: 64 })
          } is unknown; known are ${Object.keys(properties).join(", ")}`,
        );
      }
      const missing = Object.keys(places.path).find((name) =>
        typeof args[name] !== "string" || args[name] === ""
      );
      if (missing !== undefined) {
        return errorResult(
          `Cannot call ${facts.name}: argument "${missing}" is missing`,
        );
      }
      const otherwise = before?.(args, call);
      if (otherwise !== undefined) return await otherwise;
      const answer = await ask({ ...defaults, ...args, ...fixed }, call);
      const { body, chars } = answer;
      if (facts.annotations.readOnlyHint && chars > MAX_SHOWN_CHARS) {
        return errorResult(
          `Cannot show: the answer has ${chars} characters, ` +
            `${MAX_SHOWN_CHARS} are shown; ask for less`,
        );
      }
      return problemResult(answer) ??
        await show(isJsonObject(body) ? body : {}, { args, call });
    },
  };
}

/** Whether a caller with these scopes may call a route of members. */
export function mayCall(
  { access }: AnyRoute,
  scopes: ReadonlySet<string>,
): boolean {
  return access.kind === "member" && scopes.has(access.scope satisfies Scope);
}

/** Asks a route with arguments, each in its place. */
export type AskRoute = (
  args: Arguments,
  call: AgentCall,
) => Promise<AgentAnswer>;

/** Makes what asks a route. */
export function asking(
  route: AnyRoute,
  places: RouteArguments = argumentsOf(route),
): AskRoute {
  const inBody = Object.keys(places.body);
  const inQuery = Object.keys(places.query);
  return async (args, call) => {
    // In the order of the schema, so that a call that is repeated with its
    // arguments in another order is the same request.
    const body = Object.fromEntries(
      inBody.flatMap((name) =>
        Object.hasOwn(args, name) ? [[name, args[name]]] : []
      ),
    );
    const query = new URLSearchParams();
    for (const name of inQuery) addToQuery(query, name, args[name]);
    const path = fullPath(route, "tenant").replaceAll(
      /:([a-z_]+)/g,
      (_, name: string) => segmentOf(args[name]),
    );
    const { idempotency_key: key, version } = args;
    return await call.context.ask({
      method: route.method,
      target: query.size === 0 ? path : `${path}?${query}`,
      ...route.body === undefined ? {} : { body },
      headers: {
        ...key === undefined ? {} : { "idempotency-key": String(key) },
        ...version === undefined ? {} : { "if-match": `"${version}"` },
      },
      signal: call.signal,
    });
  };
}

function addToQuery(
  query: URLSearchParams,
  name: string,
  value: unknown,
): void {
  if (value === null || value === undefined) return;
  query.set(
    name,
    Array.isArray(value)
      ? value.join(",")
      : typeof value === "object"
      ? JSON.stringify(value)
      : String(value),
  );
}

/** Writes a value as one segment of a path, whatever characters it has. */
function segmentOf(value: unknown): string {
  const text = String(value).toWellFormed();
  // Dots alone would lead to another path.
  return /^\.+$/.test(text) ? "-" : encodeURIComponent(text);
}
