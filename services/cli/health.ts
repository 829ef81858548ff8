/**
 * `tercet health`: checks over HTTP whether a service is healthy, for places
 * without a shell and `curl`, such as an image that contains only `tercet`.
 *
 * @module
 */

import { describeError } from "../shared/settled.ts";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { keyServerSettings } from "../keyserver/settings.ts";
import { rateLimitSettings } from "../ratelimit/settings.ts";
import { relayerSettings } from "../relayer/settings.ts";
import {
  type CommandIo,
  readCommand,
  wrongArguments,
} from "../shared/command_line.ts";
import { durationOption, type Option, textOption } from "../shared/options.ts";
import { quote } from "../shared/quote.ts";
import { readSettings, type ReadVariable } from "../shared/settings.ts";
import { tasksSettings } from "../tasks/settings.ts";

/** Where a service answers health checks. */
export interface HealthPlace {
  /** The settings of the host and port that the service listens on. */
  readonly listens: {
    readonly host: Option<string>;
    readonly port: Option<number>;
  };
  /** The path, which answers with 200 while the service is healthy. */
  readonly path: string;
}

/** Where each service answers health checks, by the service's name. */
export const HEALTH_PLACES: Readonly<Record<string, HealthPlace>> = {
  ratelimit: { listens: rateLimitSettings, path: "/healthcheck" },
  tasks: { listens: tasksSettings, path: "/readyz" },
  relayer: { listens: relayerSettings, path: "/readyz" },
  keyserver: { listens: keyServerSettings, path: "/health" },
};

const FLAGS = {
  url: textOption({
    help: "Address of the service. Default: this machine, with HOST and " +
      "PORT. A service with https needs it, with a host of its certificate.",
  }),
  timeout: durationOption({
    default: "3s",
    min: "1ms",
    help: "Time limit for the answer.",
  }),
} as const;

const COMMAND = {
  usage: "tercet health SERVICE",
  about: "Checks the health of a service. Exit codes: 0 healthy (200), 1 " +
    "unhealthy, 2 invalid arguments.",
  positionals: 1,
} as const;

/** What the command gets from the process it runs in. */
interface HealthIo extends CommandIo {
  /** Reads an environment variable, such as HOST and PORT of the service. */
  readonly readVariable: ReadVariable;
}

/**
 * Runs the command.
 *
 * @returns 0 when the service is healthy, 1 when not, 2 when the arguments are
 * wrong.
 */
export async function runHealth(
  args: readonly string[],
  io: HealthIo,
): Promise<number> {
  const read = readCommand(FLAGS, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [service = ""] } = read;
  const fail = (problem: string): number =>
    wrongArguments(problem, { io, command: COMMAND }).exitCode;
  const place = Object.hasOwn(HEALTH_PLACES, service)
    ? HEALTH_PLACES[service]
    : undefined;
  if (place === undefined) {
    const names = Object.keys(HEALTH_PLACES).join(", ");
    return fail(`Cannot ask ${quote(service)}: the services are ${names}`);
  }
  const address = values.url ?? findServiceUrl(place, io.readVariable);
  if (address === undefined) {
    return fail(`Cannot ask ${service}: HOST or PORT cannot be read`);
  }
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return fail(
      `Cannot ask ${quote(address)}: it is not an address such as ` +
        `http://127.0.0.1:8070${place.path}`,
    );
  }
  const answer = await fetchStatus(url, values.timeout);
  if (answer === 200) return 0;
  io.err(
    `Cannot find ${service} healthy: ${url.href} ${
      typeof answer === "number" ? `answered ${answer}` : `gave none: ${answer}`
    }`,
  );
  return 1;
}

/**
 * The service's URL on this machine; undefined when HOST or PORT is invalid.
 */
function findServiceUrl(
  { listens: { host, port }, path }: HealthPlace,
  readVariable: ReadVariable,
): string | undefined {
  const read = readSettings({ host, port }, readVariable);
  if (read.kind === "invalid") return undefined;
  const { host: hostname, port: number } = read.values;
  return `http://${reachable(hostname)}:${number}${path}`;
}

/** The host for a URL: loopback for a service that listens on all addresses. */
function reachable(host: string): string {
  if (host === "0.0.0.0" || host === "") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}

/**
 * Sends the request over `node:http`, which ignores proxies of the environment.
 *
 * @returns The HTTP status, or why there was no answer.
 */
function fetchStatus(url: URL, timeoutMs: number): Promise<number | string> {
  const { promise, resolve } = Promise.withResolvers<number | string>();
  const send = url.protocol === "https:" ? httpsRequest : httpRequest;
  const call = send(url, { agent: false });
  const end = (outcome: number | string): void => {
    clearTimeout(timer);
    resolve(outcome);
    call.destroy();
  };
  const timer = setTimeout(() => end("it took too long"), timeoutMs);
  call.on("error", (error) => end(describeError(error)));
  call.on("response", ({ statusCode }) => end(statusCode ?? 0));
  call.end();
  return promise;
}
