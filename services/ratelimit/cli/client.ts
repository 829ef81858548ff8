/**
 * `ratelimit client`: asks a running service for one decision on descriptors
 * written as `key=value,key=value`.
 *
 * @module
 */

import { responseToJson } from "../../../proto/rate_limit_json.ts";
import { encodeRateLimitRequest } from "../../../proto/rate_limit_request.ts";
import { CODE } from "../../../proto/rate_limit_response.ts";
import { decodeRateLimitResponse } from "../../../proto/rate_limit_response_codec.ts";
import { responseToText } from "../../../proto/text_format.ts";
import {
  type CommandIo,
  readCommand,
  wrongArguments,
} from "../../shared/command_line.ts";
import { GrpcClient } from "../../shared/grpc/client.ts";
import { GrpcFailure } from "../../shared/grpc/method.ts";
import {
  durationOption,
  integerOption,
  repeatedOption,
  switchOption,
  textOption,
} from "../../shared/options.ts";
import { SHOULD_RATE_LIMIT_PATH } from "../api/rate_limit_methods.ts";
import { writtenRequest } from "../api/written_request.ts";

const flags = {
  dialString: textOption({
    default: "localhost:8081",
    help: "Address of the service's gRPC listener.",
  }),
  domain: textOption({ default: "", help: "Domain of the request." }),
  descriptors: repeatedOption({
    valueName: "k=v,k=v",
    help: "One descriptor; repeat the flag for more.",
  }),
  hits: integerOption({ default: 1, min: 0, help: "Hits to add." }),
  timeout: durationOption({ default: "5s", help: "How long to wait." }),
  json: switchOption({ help: "Write the answer as JSON." }),
} as const;

const command = {
  usage: "ratelimit client -domain DOMAIN -descriptors KEY=VALUE,… …",
  about: "Asks for one decision. Exits with 0 when it is OK, 3 when a limit " +
    "is exceeded, 1 without an answer, 2 for wrong arguments.",
} as const;

/**
 * Runs the command.
 *
 * @returns 0 when the answer is OK, 3 when a limit is exceeded, 1 when there
 * is no answer, 2 when the arguments are wrong.
 */
export async function runClient(
  args: readonly string[],
  io: CommandIo,
): Promise<number> {
  const parsed = readCommand(flags, { args, io, command });
  if (parsed.kind === "done") return parsed.exitCode;
  const { dialString, domain, descriptors, hits, timeout, json } =
    parsed.values;
  const written = writtenRequest({ domain, descriptors, hits });
  if (written.kind === "invalid") {
    return wrongArguments(written.problem, { io, command }).exitCode;
  }

  const client = new GrpcClient({ target: dialString });
  try {
    const answer = await client.unary(
      SHOULD_RATE_LIMIT_PATH,
      encodeRateLimitRequest(written.request),
      { deadlineMs: timeout },
    );
    if (answer instanceof GrpcFailure) {
      io.err(`request error: ${answer.message} (status ${answer.code})`);
      return 1;
    }
    const response = decodeRateLimitResponse(answer);
    if ("kind" in response) {
      io.err(`request error: ${response.reason}`);
      return 1;
    }
    io.out(
      json ? responseToJson(response) : `response: ${responseToText(response)}`,
    );
    return response.overallCode === CODE.OVER_LIMIT ? 3 : 0;
  } finally {
    client.close();
  }
}
