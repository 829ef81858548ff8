/**
 * Limits the requests of an HTTP server: for handlers of `fetch`, for Express
 * and for Hono, none of which is imported. Answers tell of the limits by the
 * fields `RateLimit` and `RateLimit-Policy`; a refused request gets 429 and
 * `Retry-After`.
 *
 * @module
 */

import type { RateLimitClient, RateLimitError } from "../ratelimit.ts";
import type { Descriptor } from "./decision.ts";
import {
  type AnswerFields,
  type LimitAnswer,
  toAnswer,
  undecidedAnswer,
} from "./limit_answer.ts";

/**
 * How requests are limited.
 *
 * @typeParam Args What a handler of the server gets, such as `[Request]`.
 */
export interface LimitOptions<Args extends readonly unknown[]> {
  /**
   * Asks the service. Its `timeoutMs` bounds how long a request waits for a
   * decision; with `strict` it refuses what no rule is for.
   */
  readonly client: Pick<RateLimitClient, "check">;
  /** The domain whose rules apply. */
  readonly domain: string;
  /**
   * Returns what to ask of a request, such as the address or the user it comes
   * from. A request for which it returns none passes without being counted;
   * what it throws is an error of the application.
   */
  readonly descriptors: (
    ...args: Args
  ) => readonly Descriptor[] | Promise<readonly Descriptor[]>;
  /**
   * What becomes of requests while the service gives no decision: `allow` lets
   * them pass, `deny` answers them with 503. What no rule is for, as a strict
   * client finds, is always denied.
   *
   * @default {"allow"}
   */
  readonly failureMode?: "allow" | "deny";
  /** Takes the error of each request for which there is no decision. */
  readonly onError: (error: RateLimitError) => void;
}

/**
 * Limits the requests of a handler that gets a `Request` and returns a
 * `Response`, as servers in Deno, Bun, Workers and frameworks take them.
 * Further arguments are handed on, and `descriptors` gets them as well.
 *
 * @example Limit by the user of a request
 * ```ts
 * import { RateLimitClient } from "@tercet/sdk/ratelimit";
 * import { limitFetch } from "@tercet/sdk/ratelimit/middleware";
 *
 * const client = new RateLimitClient({
 *   url: "http://127.0.0.1:8080",
 *   timeoutMs: 100,
 *   // A service that refuses everything, so that this example runs by itself.
 *   fetch: () =>
 *     Promise.resolve(Response.json({
 *       overallCode: "OVER_LIMIT",
 *       statuses: [{
 *         code: "OVER_LIMIT",
 *         currentLimit: { requestsPerUnit: 3, unit: "MINUTE" },
 *         durationUntilReset: "17s",
 *       }],
 *     })),
 * });
 * const handler = limitFetch(() => new Response("hello"), {
 *   client,
 *   domain: "edge",
 *   descriptors: (request) => [{
 *     entries: [{ key: "user", value: request.headers.get("x-user") ?? "" }],
 *   }],
 *   onError: (error) => console.error(error.message),
 * });
 * const { status, headers } = await handler(new Request("http://127.0.0.1/"));
 * console.log(status, headers.get("ratelimit")); // 429 "limit";r=0;t=17
 * ```
 *
 * @throws {TypeError} When an option is missing, or is not what it must be.
 */
export function limitFetch<Rest extends readonly unknown[]>(
  handler: (request: Request, ...rest: Rest) => Response | Promise<Response>,
  options: LimitOptions<readonly [Request, ...Rest]>,
): (request: Request, ...rest: Rest) => Promise<Response> {
  if (typeof handler !== "function") {
    throw new TypeError("Cannot limit requests: handler is not a function");
  }
  const decide = deciding(options);
  return async (request, ...rest) => {
    const outcome = await decide(request, ...rest);
    if (outcome.kind === "refuse") {
      const { status, fields, body } = outcome.answer;
      return new Response(body, {
        status,
        headers: withFields(new Headers(), fields),
      });
    }
    const response = await handler(request, ...rest);
    const isBare = Object.keys(outcome.fields).length === 0;
    // Answers below 200 switch protocols, or are errors: they have no copy.
    if (isBare || response.status < 200) return response;
    // Fields of an answer that was fetched, or is given again, may not change.
    const headers = withFields(new Headers(response.headers), outcome.fields);
    const { status, statusText } = response;
    return new Response(response.body, { status, statusText, headers });
  };
}

/** The part of an answer of Express, or of `node:http`, that is used. */
export interface NodeAnswer {
  /** Returns a field that was set. */
  getHeader(name: string): number | string | readonly string[] | undefined;
  /** Sets a field of the answer, in place of an earlier one. */
  setHeader(name: string, value: string): unknown;
  /** Begins the answer. */
  writeHead(status: number): unknown;
  /** Ends the answer. */
  end(body: string): unknown;
}

/**
 * Makes a middleware for Express, or for whatever hands on requests of
 * `node:http` in the same way.
 *
 * @example Limit by the address of the client
 * ```ts
 * import { RateLimitClient } from "@tercet/sdk/ratelimit";
 * import { limitExpress } from "@tercet/sdk/ratelimit/middleware";
 *
 * const limit = limitExpress({
 *   client: new RateLimitClient({
 *     url: "http://127.0.0.1:8080",
 *     // A service that allows everything, so that this example runs by itself.
 *     fetch: () => Promise.resolve(Response.json({ overallCode: "OK" })),
 *   }),
 *   domain: "edge",
 *   descriptors: ({ ip }: { readonly ip?: string | undefined }) => [{
 *     entries: [{ key: "remote_address", value: ip ?? "" }],
 *   }],
 *   onError: (error) => console.error(error.message),
 * });
 * // app.use(limit);
 * console.log(limit.length); // 3
 * ```
 *
 * @throws {TypeError} When an option is missing, or is not what it must be.
 */
export function limitExpress<Req>(
  options: LimitOptions<readonly [Req]>,
): (
  request: Req,
  answer: NodeAnswer,
  next: (error?: unknown) => void,
) => Promise<void> {
  const decide = deciding(options);
  return async (request, answer, next) => {
    let outcome: LimitAnswer;
    try {
      outcome = await decide(request);
    } catch (error) {
      // Express 4 does not look at promises.
      return next(error);
    }
    if (outcome.kind === "refuse") {
      const { status, fields, body } = outcome.answer;
      for (const [name, value] of Object.entries(fields)) {
        answer.setHeader(name, value);
      }
      answer.writeHead(status);
      answer.end(body);
      return;
    }
    for (const [name, value] of Object.entries(outcome.fields)) {
      const before = [answer.getHeader(name) ?? []].flat();
      answer.setHeader(name, [...before, value].join(", "));
    }
    next();
  };
}

/** The part of a context of Hono that is used. */
export interface HonoContext {
  /** The answer. */
  readonly res: Response;
  /** Adds a field to the answer. */
  header(
    name: string,
    value: string,
    options: { readonly append: boolean },
  ): void;
  /** Makes an answer, with the fields that were set before. */
  body(
    text: string,
    status: 429 | 503,
    fields: Record<string, string>,
  ): Response;
}

/**
 * Makes a middleware for Hono.
 *
 * @example Limit by a field of the request
 * ```ts
 * import { RateLimitClient } from "@tercet/sdk/ratelimit";
 * import { type HonoContext, limitHono } from "@tercet/sdk/ratelimit/middleware";
 *
 * type Context = HonoContext & {
 *   readonly req: { header(name: string): string | undefined };
 * };
 * const limit = limitHono({
 *   client: new RateLimitClient({
 *     url: "http://127.0.0.1:8080",
 *     // A service that allows everything, so that this example runs by itself.
 *     fetch: () => Promise.resolve(Response.json({ overallCode: "OK" })),
 *   }),
 *   domain: "edge",
 *   descriptors: (context: Context) => [{
 *     entries: [{ key: "user", value: context.req.header("x-user") ?? "" }],
 *   }],
 *   onError: (error) => console.error(error.message),
 * });
 * // app.use(limit);
 * console.log(limit.length); // 2
 * ```
 *
 * @throws {TypeError} When an option is missing, or is not what it must be.
 */
export function limitHono<Context extends HonoContext>(
  options: LimitOptions<readonly [Context]>,
): (
  context: Context,
  next: () => Promise<void>,
) => Promise<Response | undefined> {
  const decide = deciding(options);
  return async (context, next) => {
    const outcome = await decide(context);
    if (outcome.kind === "refuse") {
      const { status, fields, body } = outcome.answer;
      return context.body(body, status, { ...fields });
    }
    await next();
    if (context.res.status < 200) return undefined;
    for (const [name, value] of Object.entries(outcome.fields)) {
      context.header(name, value, { append: true });
    }
    return undefined;
  };
}

/**
 * Returns a function that asks what becomes of a request.
 *
 * @throws {TypeError} When an option is missing, or is not what it must be.
 */
function deciding<Args extends readonly unknown[]>(
  options: LimitOptions<Args>,
): (...args: Args) => Promise<LimitAnswer> {
  const { client, domain, failureMode = "allow", onError } = checked(options);
  return async (...args) => {
    const descriptors = await options.descriptors(...args);
    if (descriptors.length === 0) return PASS;
    try {
      return toAnswer(await client.check({ domain, descriptors }));
    } catch (error) {
      if (!isRateLimitError(error)) throw error;
      onError(error);
      return failureMode === "allow" && error.code !== "no_rule"
        ? PASS
        : undecidedAnswer();
    }
  };
}

/** Options that are missing would be noticed at the first request only. */
function checked<Args extends readonly unknown[]>(
  options: LimitOptions<Args>,
): LimitOptions<Args> {
  const { client, domain, descriptors, onError, failureMode }: Partial<
    LimitOptions<Args>
  > = Object(options);
  const wrong = typeof client?.check !== "function"
    ? "client is not a RateLimitClient"
    : typeof domain !== "string" || domain === ""
    ? "domain is not text"
    : typeof descriptors !== "function"
    ? "descriptors is not a function"
    : typeof onError !== "function"
    ? "onError is not a function"
    : failureMode !== undefined && !FAILURE_MODES.includes(failureMode)
    ? 'failureMode is neither "allow" nor "deny"'
    : undefined;
  if (wrong !== undefined) {
    throw new TypeError(`Cannot limit requests: ${wrong}`);
  }
  return options;
}

const FAILURE_MODES = ["allow", "deny"];
const PASS: LimitAnswer = { kind: "pass", fields: {} };

/** By its name, since the client may be of another copy of the module. */
function isRateLimitError(error: unknown): error is RateLimitError {
  return error instanceof Error && error.name === "RateLimitError";
}

function withFields(headers: Headers, fields: AnswerFields): Headers {
  for (const [name, value] of Object.entries(fields)) {
    headers.append(name, value);
  }
  return headers;
}
