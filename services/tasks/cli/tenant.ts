/**
 * The command `tasks tenant create`, which creates a tenant over HTTP: the
 * running service alone writes to its store.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { request as httpRequest, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import {
  type CommandIo,
  readCommand,
  wrongArguments,
} from "../../shared/command_line.ts";
import { switchOption, textOption } from "../../shared/options.ts";
import { quote } from "../../shared/quote.ts";
import { describeError } from "../../shared/settled.ts";
import { parseJsonObject } from "../access/bounded_fetch.ts";

const FLAGS = {
  url: textOption({
    default: "http://accounts.localhost:8070",
    help: "Address of the accounts host of the service.",
  }),
  token: textOption({
    help: "Token that may create tenants. Prefer --token-file, because " +
      "others on this machine can see arguments.",
  }),
  tokenFile: textOption({ help: "File with the token." }),
  json: switchOption({ help: "Write the answer as JSON." }),
} as const;

const COMMAND = {
  usage: "tasks tenant create DOMAIN",
  about: "Creates a tenant and shows its owner's key once. Exit codes: 0 " +
    "success, 1 failure, 2 invalid arguments.",
  positionals: 2,
} as const;

/** Options of {@linkcode runTenant}. */
interface RunTenantOptions {
  /** Where the command writes to. */
  readonly io: CommandIo;
  /** Sends the request. */
  readonly post: PostJson;
  /** Reads the file that has the token. */
  readonly readText: (path: string) => Promise<string>;
}

/**
 * Runs the command.
 *
 * @returns 0 when the tenant is created, 1 when it is not, 2 when the arguments
 * are wrong.
 */
export async function runTenant(
  args: readonly string[],
  { io, post, readText }: RunTenantOptions,
): Promise<number> {
  const read = readCommand(FLAGS, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [verb = "", domain = ""] } = read;
  const fail = (problem: string): number =>
    wrongArguments(problem, { io, command: COMMAND }).exitCode;
  if (verb !== "create") {
    return fail(`Cannot run ${quote(verb)}: "create" is all there is`);
  }
  const url = URL.parse(values.url);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return fail(
      `Cannot use address ${quote(values.url)}: it is no http or https URL`,
    );
  }
  let { token } = values;
  if (values.tokenFile !== undefined) {
    if (token !== undefined) {
      return fail("Cannot use both --token and --token-file: one is enough");
    }
    try {
      token = (await readText(values.tokenFile)).trim();
    } catch (error) {
      io.err(
        `Cannot read token file ${quote(values.tokenFile)}: ${
          describeError(error)
        }`,
      );
      return 1;
    }
  }
  const outcome = await post({ url, body: { domain }, token });
  if (outcome.kind === "failed") {
    io.err(`Cannot reach ${url.origin}: ${outcome.reason}`);
    return 1;
  }
  const answer = parseJsonObject(outcome.text);
  if (outcome.status !== 201) {
    const detail = answer?.detail;
    io.err(
      typeof detail === "string"
        ? detail
        : `Cannot create tenant: ${url.origin} answered ${outcome.status}`,
    );
    return 1;
  }
  io.out(values.json ? outcome.text : describe(answer ?? {}));
  return 0;
}

function describe(tenant: Readonly<Record<string, unknown>>): string {
  const lines = [
    ["domain", tenant.domain],
    ["address", tenant.url],
    ["plan", tenant.plan],
    ["owner key", tenant.owner_key],
  ].map(([name, value]) => `${String(name).padEnd(10)} ${String(value)}`);
  return `${lines.join("\n")}\n\nKeep the key now: it is not shown again.`;
}

/** A request to the service. */
interface PostRequest {
  /** The URL. */
  readonly url: URL;
  /** The body. */
  readonly body: unknown;
  /**
   * The bearer token.
   * @default none
   */
  readonly token?: string | undefined;
  /**
   * The timeout, in milliseconds.
   * @default {30000}
   */
  readonly timeoutMs?: number;
}

/** The outcome of a request. */
type PostOutcome =
  | { readonly kind: "ok"; readonly status: number; readonly text: string }
  | {
    readonly kind: "failed";
    /** Why there is no answer, as a message for a person. */
    readonly reason: string;
  };

/** Sends a request and reads its answer; never rejects. */
type PostJson = (request: PostRequest) => Promise<PostOutcome>;

const MAX_ANSWER_BYTES = 1_048_576;

/**
 * Sends a request by `node:http`, with its own Host header. Names below
 * `localhost` are sent to this machine by definition (RFC 6761, 6.3), since
 * most resolvers do not know them.
 */
export function postJson(request: PostRequest): Promise<PostOutcome> {
  const { url, body, token, timeoutMs = 30_000 } = request;
  const isTls = url.protocol === "https:";
  const isLocal = /(?:^|\.)localhost$/.test(url.hostname);
  const text = JSON.stringify(body);
  const headers: Record<string, string> = {
    host: url.host,
    accept: "application/json",
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(text)),
  };
  if (token !== undefined) headers.authorization = `Bearer ${token}`;
  const options: RequestOptions & { readonly servername: string } = {
    method: "POST",
    // An IPv6 address has brackets only in URLs.
    host: isLocal ? "localhost" : url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? (isTls ? 443 : 80) : Number(url.port),
    path: `${url.pathname}${url.search}`,
    servername: url.hostname,
    agent: false,
    headers,
  };
  const { promise, resolve } = Promise.withResolvers<PostOutcome>();
  const call = (isTls ? httpsRequest : httpRequest)(options);
  const timer = setTimeout(() => fail("it did not answer in time"), timeoutMs);
  const fail = (reason: string): void => {
    clearTimeout(timer);
    resolve({ kind: "failed", reason });
    call.destroy();
  };
  call.on("error", (error) => fail(describeError(error)));
  call.on("response", (response) => {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    response.on("data", (chunk: Uint8Array) => {
      bytes += chunk.byteLength;
      if (bytes > MAX_ANSWER_BYTES) return fail("its answer is too large");
      chunks.push(chunk);
    });
    response.on("error", (error) => fail(describeError(error)));
    response.on("end", () => {
      clearTimeout(timer);
      resolve({
        kind: "ok",
        status: response.statusCode ?? 0,
        text: Buffer.concat(chunks).toString(),
      });
    });
  });
  call.end(text);
  return promise;
}
