/**
 * `ratelimit counters`: reads or resets the counters of descriptors, through
 * the debug port of a running service.
 *
 * @module
 */

import {
  type CommandIo,
  readCommand,
  wrongArguments,
} from "../../shared/command_line.ts";
import {
  durationOption,
  repeatedOption,
  switchOption,
  textOption,
} from "../../shared/options.ts";
import { quote } from "../../shared/quote.ts";
import { describeError } from "../../shared/settled.ts";
import { counterLine, type ShownCounter } from "../api/counters_page.ts";
import { writtenRequest } from "../api/written_request.ts";

const flags = {
  debug: textOption({
    default: "http://127.0.0.1:6070",
    valueName: "url",
    help: "Address of the service's debug listener.",
  }),
  domain: textOption({ required: true, help: "Domain of the descriptors." }),
  descriptors: repeatedOption({
    required: true,
    valueName: "k=v,k=v",
    help: "One descriptor; repeat the flag for more.",
  }),
  timeout: durationOption({
    default: "5s",
    min: "1ms",
    help: "Time limit for the service.",
  }),
  json: switchOption({ help: "Write the counters as JSON." }),
} as const;

const command = {
  usage: "ratelimit counters get|reset -domain DOMAIN " +
    "-descriptors KEY=VALUE,… …",
  about: "Shows or resets the counters of a request with the descriptors. " +
    "Exit codes: 0 success, 1 failure, 2 invalid arguments.",
} as const;

const METHODS: Readonly<Record<string, "GET" | "DELETE" | undefined>> = {
  get: "GET",
  reset: "DELETE",
};

/**
 * Runs the command; the first argument says what is done.
 *
 * @returns 0 when the counters were read or reset, 1 when they were not, 2 when
 * the arguments are wrong.
 */
export async function runCounters(
  args: readonly string[],
  io: CommandIo,
): Promise<number> {
  const [action = "", ...rest] = args;
  const method = Object.hasOwn(METHODS, action) ? METHODS[action] : undefined;
  const parsed = readCommand(flags, {
    args: method === undefined && action.startsWith("-") ? args : rest,
    io,
    command,
  });
  if (parsed.kind === "done") return parsed.exitCode;
  const wrong = (problem: string): number =>
    wrongArguments(problem, { io, command }).exitCode;
  if (method === undefined) {
    return wrong(
      `Cannot read arguments: the first is ${quote(action)}, expected get or ` +
        "reset",
    );
  }
  const { debug, domain, descriptors, timeout, json } = parsed.values;
  const written = writtenRequest({ domain, descriptors, hits: 1 });
  if (written.kind === "invalid") return wrong(written.problem);
  const url = URL.parse("/debug/counters", debug);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return wrong(`Cannot read arguments: ${quote(debug)} is no http address`);
  }
  for (
    const [name, value] of [
      ["domain", domain],
      ...descriptors.map((text) => ["descriptors", text]),
      ["format", "json"],
    ]
  ) {
    url.searchParams.append(name!, value!);
  }
  const answer = await ask(url, { method, timeoutMs: timeout });
  if (typeof answer === "string") {
    io.err(`Cannot ${action} counters: ${answer}`);
    return 1;
  }
  if (json) io.out(JSON.stringify(answer));
  else if (answer.counters.length === 0) io.out("no limit applies");
  for (const one of json ? [] : answer.counters) {
    io.out(counterLine(one, method === "DELETE"));
  }
  return 0;
}

/** The answer of the page. */
interface CountersAnswer {
  readonly counters: readonly ShownCounter[];
  readonly isReset: boolean;
}

/** Returns the counters, or why there are none. */
async function ask(
  url: URL,
  { method, timeoutMs }: {
    readonly method: "GET" | "DELETE";
    readonly timeoutMs: number;
  },
): Promise<CountersAnswer | string> {
  try {
    const response = await fetch(url, {
      method,
      signal: AbortSignal.timeout(timeoutMs),
      redirect: "error",
    });
    const body: unknown = await response.json();
    const said = body as Partial<
      CountersAnswer & { readonly error: string; readonly detail: string }
    >;
    return response.ok && Array.isArray(said.counters)
      ? said as CountersAnswer
      : said.error ?? said.detail ?? `the answer has status ${response.status}`;
  } catch (error) {
    return `${url.origin} does not answer: ${describeError(error)}`;
  }
}
