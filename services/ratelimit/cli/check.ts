/**
 * `ratelimit check`: checks configuration files without starting the service.
 *
 * @module
 */

import { type CommandIo, readCommand } from "../../shared/command_line.ts";
import {
  choiceOption,
  switchOption,
  textOption,
} from "../../shared/options.ts";
import { type ConfigFault, formatConfigFault } from "../rules/config.ts";
import { loadRules } from "../rules/load.ts";
import { ruleSchemaText } from "../rules/rule_schema.ts";
import { describeRules } from "../rules/snapshot.ts";
import { readConfigFiles } from "../sources/config_loader.ts";
import { BACKENDS } from "../store_settings.ts";

const flags = {
  configDir: textOption({
    default: ".",
    help: "Directory whose *.yaml files are checked.",
  }),
  mergeDomainConfigs: switchOption({
    help: "Several files may have rules of one domain.",
  }),
  backendType: choiceOption({
    values: BACKENDS,
    default: "memory",
    ignoreCase: true,
    help: "Where the service keeps its counters, as BACKEND_TYPE says: " +
      "memcached takes fixed windows only.",
  }),
  json: switchOption({ help: "Write the result as JSON." }),
  rules: switchOption({ help: "List the rules as well." }),
  schema: switchOption({
    help: "Print the JSON Schema of rule files, for editors, without " +
      "checking any.",
  }),
} as const;

const command = {
  usage: "ratelimit check -config_dir DIRECTORY",
  about: "Checks configuration files. Exit codes: 0 valid, 1 invalid, 2 " +
    "invalid arguments.",
} as const;

/**
 * Runs the command.
 *
 * @returns 0 when the files are right, 1 when they are not, 2 when the
 * arguments are wrong.
 */
export async function runCheck(
  args: readonly string[],
  io: CommandIo,
): Promise<number> {
  const parsed = readCommand(flags, { args, io, command });
  if (parsed.kind === "done") return parsed.exitCode;
  const { configDir, mergeDomainConfigs, backendType, json, rules, schema } =
    parsed.values;
  if (schema) {
    io.out(ruleSchemaText());
    return 0;
  }
  const read = await readConfigFiles(configDir);
  if (read.kind === "unreadable") {
    report(io, { json, faults: [], warnings: [], unreadable: read.reason });
    return 1;
  }
  const loaded = loadRules(read.files, {
    mergeDomains: mergeDomainConfigs,
    onlyFixedWindow: backendType === "altcache",
  });
  report(io, { json, faults: loaded.faults, warnings: loaded.warnings });
  if (loaded.snapshot === undefined) return 1;
  if (!json) {
    if (rules) io.out(describeRules(loaded.snapshot).join("\n"));
    io.out(
      `all rate limit configs ok: ${read.files.length} files, ` +
        `${loaded.snapshot.domainNames.length} domains, ` +
        `${loaded.snapshot.rules.length} rules`,
    );
  }
  return 0;
}

function report(
  io: CommandIo,
  result: {
    readonly json: boolean;
    readonly faults: readonly ConfigFault[];
    readonly warnings: readonly ConfigFault[];
    readonly unreadable?: string;
  },
): void {
  const { json, faults, warnings, unreadable } = result;
  if (json) {
    const ok = faults.length === 0 && unreadable === undefined;
    io.out(JSON.stringify({ ok, faults, warnings, unreadable }));
    return;
  }
  for (const warning of warnings) {
    io.err(`warning: ${formatConfigFault(warning)}`);
  }
  const reasons = [
    ...(unreadable === undefined ? [] : [unreadable]),
    ...faults.map(formatConfigFault),
  ];
  for (const reason of reasons) {
    io.err(`error loading rate limit configs: ${reason}`);
  }
}
