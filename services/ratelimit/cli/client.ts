/**
 * `ratelimit client`: asks a running service for decisions on descriptors
 * written as `key=value,key=value`, once or many times.
 *
 * @module
 */

import { responseToJson } from "../../../proto/rate_limit_json.ts";
import { encodeRateLimitRequest } from "../../../proto/rate_limit_request.ts";
import {
  CODE,
  decodeRateLimitResponse,
  type RateLimitResponse,
} from "../../../proto/rate_limit_response.ts";
import { responseToText } from "../../../proto/text_format.ts";
import { type Clock, systemClock } from "../../shared/clock.ts";
import {
  type CommandIo,
  readCommand,
  wrongArguments,
} from "../../shared/command_line.ts";
import type { GrpcChannel } from "../../shared/grpc/channel.ts";
import type { GrpcTarget } from "../../shared/grpc/client_socket.ts";
import { H2GrpcChannel } from "../../shared/grpc/h2_channel.ts";
import { GRPC_STATUS, GrpcFailure } from "../../shared/grpc/method.ts";
import type { SignalSource } from "../../shared/lifecycle.ts";
import {
  durationOption,
  integerOption,
  type OptionValues,
  repeatedOption,
  switchOption,
  textOption,
} from "../../shared/options.ts";
import { oneLine, quote } from "../../shared/quote.ts";
import { SHOULD_RATE_LIMIT_PATH } from "../api/rate_limit_methods.ts";
import { writtenRequest } from "../api/written_request.ts";
import { readTlsFiles } from "../counters/store_tls.ts";
import { GRPC_TARGET_FORMS, parseGrpcTarget } from "../grpc_target.ts";
import { type CallOutcome, runLoad } from "./client_load.ts";

const UINT32_MAX = 4_294_967_295;

const flags = {
  dialString: textOption({
    default: "localhost:8081",
    help: "Address of the service's gRPC listener: " + GRPC_TARGET_FORMS + ".",
  }),
  grpcUseTls: switchOption({ help: "Speak TLS." }),
  grpcServerCaFile: textOption({
    default: "",
    valueName: "path",
    help: "Authorities that sign the server's certificate, as PEM; those of " +
      "the runtime when left out.",
  }),
  grpcServerName: textOption({
    default: "",
    help: "Name that the server's certificate must have; the host of " +
      "-dial_string when left out.",
  }),
  grpcCertFile: textOption({
    default: "",
    valueName: "path",
    help: "The client's own certificate, as PEM.",
  }),
  grpcKeyFile: textOption({
    default: "",
    valueName: "path",
    help: "The key of that, as PEM.",
  }),
  domain: textOption({ required: true, help: "Domain of the request." }),
  descriptors: repeatedOption({
    required: true,
    valueName: "k=v,k=v",
    help: "One descriptor; repeat the flag for more.",
  }),
  hits: integerOption({
    default: 1,
    min: 0,
    max: UINT32_MAX,
    help: "Hits to add; 0 looks without counting.",
  }),
  limit: repeatedOption({
    valueName: "number/unit",
    help:
      "A limit in place of the configured one, such as 10/minute: one for " +
      "all descriptors, or one for each in their order; none leaves a " +
      "descriptor to its rule.",
  }),
  timeout: durationOption({
    default: "5s",
    min: "1ms",
    max: "24h",
    help: "Time limit for an answer.",
  }),
  repeat: integerOption({
    default: 1,
    min: 1,
    max: 1_000_000_000,
    help: "Number of calls; more than one prints a summary of all answers.",
  }),
  concurrency: integerOption({
    default: 1,
    min: 1,
    max: 10_000,
    help: "Number of concurrent calls.",
  }),
  json: switchOption({ help: "Write the answer, or the summary, as JSON." }),
} as const;

const command = {
  usage: "ratelimit client -domain DOMAIN -descriptors KEY=VALUE,… …",
  about: "Asks for a decision. Exit codes: 0 OK, 3 limit exceeded, 1 no " +
    "answer, 2 invalid arguments. Several calls exit with the worst code.",
} as const;

/** What the command uses beside its arguments and output. */
interface ClientTools {
  /**
   * The time, by which calls are measured.
   *
   * @default systemClock
   */
  readonly clock?: Clock | undefined;
  /**
   * Source of SIGINT, which ends many calls early, with a summary of those that
   * were made.
   *
   * @default SIGINT ends the process
   */
  readonly signals?: SignalSource | undefined;
}

/**
 * Runs the command.
 *
 * @returns 0 when the answer is OK, 3 when a limit is exceeded, 1 when there
 * is no answer, 2 when the arguments are wrong, which are not sent anywhere.
 */
export async function runClient(
  args: readonly string[],
  io: CommandIo,
  { clock = systemClock, signals }: ClientTools = {},
): Promise<number> {
  const parsed = readCommand(flags, { args, io, command });
  if (parsed.kind === "done") return parsed.exitCode;
  const { values } = parsed;
  const written = writtenRequest({ ...values, limits: values.limit });
  if (written.kind === "invalid") {
    return wrongArguments(written.problem, { io, command }).exitCode;
  }
  const target = await readTarget(values);
  if (typeof target === "string") {
    return wrongArguments(target, { io, command }).exitCode;
  }
  const { timeout: deadlineMs, json, repeat, concurrency } = values;
  const channel = new H2GrpcChannel({
    target,
    connectTimeoutMs: deadlineMs,
    clock,
  });
  const bytes = encodeRateLimitRequest(written.request);
  const ask = (): Promise<Answer> => decide(channel, bytes, deadlineMs);
  try {
    if (repeat === 1) return tell(await ask(), { io, json });
    return await runLoad({
      call: async () => toOutcome(await ask()),
      repeat,
      concurrency,
      json,
      io,
      clock,
      signals,
    });
  } finally {
    channel.close();
  }
}

type ClientValues = OptionValues<typeof flags>;

/** Returns the server to call; a text says what is wrong with the flags. */
async function readTarget(values: ClientValues): Promise<GrpcTarget | string> {
  const { dialString, grpcUseTls, grpcServerName } = values;
  const target = parseGrpcTarget(dialString);
  if (target === undefined) {
    return `Cannot read arguments: --dial-string is ${quote(dialString)}, ` +
      `expected ${GRPC_TARGET_FORMS}`;
  }
  const tlsFlags = {
    "--grpc-server-ca-file": values.grpcServerCaFile,
    "--grpc-server-name": grpcServerName,
    "--grpc-cert-file": values.grpcCertFile,
    "--grpc-key-file": values.grpcKeyFile,
  };
  if (!grpcUseTls) {
    const idle = Object.entries(tlsFlags).find(([, value]) => value !== "");
    return idle === undefined
      ? target
      : `Cannot read arguments: ${idle[0]} needs --grpc-use-tls`;
  }
  if (target.kind === "unix") {
    return "Cannot read arguments: --grpc-use-tls is for host:port, " +
      "unix sockets are used without TLS";
  }
  const files = await readTlsFiles({
    ca: values.grpcServerCaFile,
    cert: values.grpcCertFile,
    key: values.grpcKeyFile,
    skipHostnameVerification: false,
    names: {
      ca: "--grpc-server-ca-file",
      cert: "--grpc-cert-file",
      key: "--grpc-key-file",
    },
  }, Deno.readTextFile);
  if (files.kind === "invalid") return files.problems.join("\n");
  const serverName = grpcServerName === "" ? undefined : grpcServerName;
  return { ...target, tls: { ...files.tls, serverName } };
}

type Answer = RateLimitResponse | GrpcFailure;

async function decide(
  channel: GrpcChannel,
  request: Uint8Array,
  deadlineMs: number,
): Promise<Answer> {
  const answer = await channel.unary(SHOULD_RATE_LIMIT_PATH, request, {
    deadlineMs,
  });
  if (answer instanceof GrpcFailure) return answer;
  const response = decodeRateLimitResponse(answer);
  return "kind" in response
    ? new GrpcFailure(GRPC_STATUS.INTERNAL, response.reason)
    : response;
}

/** Writes one answer; returns the exit code. */
function tell(
  answer: Answer,
  { io, json }: { readonly io: CommandIo; readonly json: boolean },
): number {
  if (answer instanceof GrpcFailure) {
    const status = `${answer.code} ${statusName(answer)}`;
    io.err(`request error: ${oneLine(answer.message)} (status ${status})`);
    return 1;
  }
  io.out(json ? responseToJson(answer) : `response: ${responseToText(answer)}`);
  return answer.overallCode === CODE.OVER_LIMIT ? 3 : 0;
}

/** Returns the outcome of one call among many. */
function toOutcome(answer: Answer): CallOutcome {
  if (answer instanceof GrpcFailure) {
    const message = oneLine(answer.message);
    return { kind: "failed", name: statusName(answer), message };
  }
  const name = Object.entries(CODE)
    .find(([, code]) => code === answer.overallCode)?.[0] ?? "UNKNOWN";
  const isOver = answer.overallCode === CODE.OVER_LIMIT;
  return { kind: "answered", name, isOver };
}

function statusName({ code }: GrpcFailure): string {
  return Object.entries(GRPC_STATUS)
    .find(([, known]) => known === code)?.[0] ?? String(code);
}
