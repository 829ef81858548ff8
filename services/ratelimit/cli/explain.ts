/**
 * `ratelimit explain`: tells which rule of configuration files applies to a
 * request, and why the other rules do not. Neither a server nor a store is
 * used.
 *
 * @module
 */

import type { RateLimitRequest } from "../../../proto/rate_limit_request.ts";
import {
  type CommandIo,
  readCommand,
  wrongArguments,
} from "../../shared/command_line.ts";
import {
  choiceOption,
  integerOption,
  numberOption,
  repeatedOption,
  switchOption,
  textOption,
} from "../../shared/options.ts";
import {
  jsonRequest,
  viewOfRequest,
  type WrittenRequest,
  writtenRequest,
} from "../api/written_request.ts";
import { explainRequest } from "../decision/explain.ts";
import {
  explanationJson,
  explanationText,
  type WholeExplanation,
} from "../decision/explain_text.ts";
import { formatConfigFault } from "../rules/config.ts";
import { loadRules } from "../rules/load.ts";
import { readConfigFiles } from "../sources/config_loader.ts";
import { quote } from "../../shared/quote.ts";
import { describeError } from "../../shared/settled.ts";

const flags = {
  config: textOption({
    default: ".",
    aliases: ["configDir"],
    valueName: "directory",
    help: "Directory whose *.yaml files hold the rules.",
  }),
  domain: textOption({ default: "", help: "Domain of the request." }),
  descriptors: repeatedOption({
    valueName: "k=v,k=v",
    help: "One descriptor; repeat the flag for more.",
  }),
  hits: integerOption({ default: 1, min: 0, help: "Hits of the request." }),
  request: textOption({
    default: "",
    valueName: "file",
    help: "File with the request as JSON, in place of domain and " +
      "descriptors; - is standard input.",
  }),
  candidate: textOption({
    default: "",
    valueName: "directory",
    help: "Directory with other rules, which are explained as well.",
  }),
  mergeDomainConfigs: switchOption({
    help: "Several files may have rules of one domain.",
  }),
  cacheKeyPrefix: textOption({
    default: "",
    help: "The service's CACHE_KEY_PREFIX, for the counters' keys.",
  }),
  cacheKeyFormat: choiceOption({
    values: { escaped: "escaped", reference: "reference" },
    default: "escaped",
    help: "The service's CACHE_KEY_FORMAT, for the counters' keys.",
  }),
  nearLimitRatio: numberOption({
    default: 0.8,
    min: 0,
    max: 1,
    help: "The service's NEAR_LIMIT_RATIO.",
  }),
  json: switchOption({ help: "Write the explanation as JSON." }),
} as const;

const command = {
  usage: "ratelimit explain -config DIRECTORY -domain DOMAIN " +
    "-descriptors KEY=VALUE,… …",
  about: "Shows which rule applies to each descriptor of a request, why the " +
    "others do not, and which counter changes. Exit codes: 0 success, 1 " +
    "invalid configuration or request, 2 invalid arguments.",
} as const;

const MAX_DESCRIPTORS = 10_000;

/** What the command reads beside its arguments. */
interface ExplainIo extends CommandIo {
  /** Reads a file; "-" is standard input. */
  readonly readText: (path: string) => Promise<string>;
  /** The time of day in milliseconds. */
  readonly nowMs: () => number;
}

/**
 * Runs the command.
 *
 * @returns 0 when the request is explained, 1 when the files or the request are
 * not right, 2 when the arguments are wrong.
 */
export async function runExplain(
  args: readonly string[],
  io: ExplainIo,
): Promise<number> {
  const parsed = readCommand(flags, { args, io, command });
  if (parsed.kind === "done") return parsed.exitCode;
  const { values } = parsed;
  const { domain, descriptors, request: file } = values;
  if ((file === "") === (domain === "" && descriptors.length === 0)) {
    const problem = "Cannot read arguments: either -request, or -domain and " +
      "-descriptors say what to explain";
    return wrongArguments(problem, { io, command }).exitCode;
  }
  if (file !== "") {
    const written = await fileRequest(file, io);
    return written.kind === "invalid"
      ? failed([written.problem], io)
      : await explainWritten(written.request, { values, io });
  }
  const written = writtenRequest(values);
  return written.kind === "invalid"
    ? wrongArguments(written.problem, { io, command }).exitCode
    : await explainWritten(written.request, { values, io });
}

type Values = Extract<
  ReturnType<typeof readCommand<typeof flags>>,
  { readonly kind: "ok" }
>["values"];

async function explainWritten(
  request: RateLimitRequest,
  { values, io }: { readonly values: Values; readonly io: ExplainIo },
): Promise<number> {
  const explained = await explainFolder(values.config, { request, values, io });
  if (explained.kind === "failed") return failed(explained.reasons, io);
  const { whole } = explained;
  if (values.candidate === "") {
    io.out(
      values.json
        ? JSON.stringify(explanationJson(whole))
        : explanationText(whole),
    );
    return 0;
  }
  const other = await explainFolder(values.candidate, { request, values, io });
  if (other.kind === "failed") {
    const reasons = other.reasons.map((reason) => `candidate: ${reason}`);
    return failed(reasons, io);
  }
  io.out(
    values.json
      ? JSON.stringify({
        inForce: explanationJson(whole),
        candidate: explanationJson(other.whole),
      })
      : `${explanationText(whole)}\ncandidate ${quote(values.candidate)}\n` +
        explanationText(other.whole),
  );
  return 0;
}

type FolderOutcome =
  | { readonly kind: "explained"; readonly whole: WholeExplanation }
  | { readonly kind: "failed"; readonly reasons: readonly string[] };

async function explainFolder(
  directory: string,
  { request, values, io }: {
    readonly request: RateLimitRequest;
    readonly values: Values;
    readonly io: ExplainIo;
  },
): Promise<FolderOutcome> {
  const { mergeDomainConfigs, cacheKeyPrefix, cacheKeyFormat } = values;
  const read = await readConfigFiles(directory);
  if (read.kind === "unreadable") {
    return noExplanation(`error loading rate limit configs: ${read.reason}`);
  }
  const { snapshot, faults, warnings } = loadRules(read.files, {
    mergeDomains: mergeDomainConfigs,
    keyPrefix: cacheKeyPrefix,
    keyFormat: cacheKeyFormat,
  });
  for (const warning of warnings) {
    io.err(`warning: ${formatConfigFault(warning)}`);
  }
  if (snapshot === undefined) {
    return noExplanation(
      ...faults.map((fault) =>
        `error loading rate limit configs: ${formatConfigFault(fault)}`
      ),
    );
  }
  const view = viewOfRequest(request, { maxDescriptors: MAX_DESCRIPTORS });
  if (typeof view === "string") return noExplanation(view);
  const explanation = explainRequest(view, {
    snapshot,
    rules: {
      keyFormat: cacheKeyFormat,
      nearLimitRatio: values.nearLimitRatio,
      shadowMode: false,
      quotaMode: false,
      stopWhenOver: false,
    },
  });
  if (explanation.kind === "invalid") return noExplanation(explanation.reason);
  const nowSeconds = Math.floor(io.nowMs() / 1000);
  return {
    kind: "explained",
    whole: { explanation, counts: { kind: "not_asked" }, nowSeconds },
  };
}

function noExplanation(...reasons: readonly string[]): FolderOutcome {
  return { kind: "failed", reasons };
}

async function fileRequest(
  path: string,
  io: ExplainIo,
): Promise<WrittenRequest> {
  try {
    return jsonRequest(await io.readText(path));
  } catch (error) {
    const problem = `Cannot read the request: ${describeError(error)}`;
    return { kind: "invalid", problem };
  }
}

function failed(reasons: readonly string[], io: CommandIo): number {
  for (const reason of reasons) io.err(reason);
  return 1;
}
