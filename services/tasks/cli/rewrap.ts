/**
 * The command `tasks rewrap`, which wraps the keys of all tenants again with
 * the current master key, so that an older master key can be removed. It may
 * run beside the service.
 *
 * @module
 */

import { type CommandShape, readCommand } from "../../shared/command_line.ts";
import { attempt } from "../../shared/command_work.ts";
import { switchOption, textOption } from "../../shared/options.ts";
import { quote } from "../../shared/quote.ts";
import { sealedKeyId } from "../secrets/envelope.ts";
import type { MasterKeys, OpenKeysOutcome } from "../secrets/master_keys.ts";
import { planRewrap, type WrappedKey } from "../secrets/tenant_key.ts";
import { type StoredData, storedData } from "../stored_data.ts";
import type { DataCommandOptions } from "./data_commands.ts";

const FLAGS = {
  "data-dir": textOption({
    default: "",
    help: "The data folder, with the master key where none is set. Default: " +
      "DATA_DIR.",
  }),
  json: switchOption({ help: "Write one JSON object." }),
  "replace-lost": switchOption({
    help: "Give a new key to each tenant whose key no master key opens. Set " +
      "its secrets again; the old key is kept.",
  }),
} as const;

const COMMAND: CommandShape = {
  usage: "tasks rewrap",
  about: "Wraps every tenant's key with the first of MASTER_KEYS or " +
    "MASTER_KEYS_FILE, and prints the master keys in use. The service may " +
    "run, if it has the first key already. Secrets do not change, and a " +
    "second run changes nothing. Exit codes: 0 all keys wrapped, 1 some keys " +
    "not wrapped, 2 invalid arguments.",
  positionals: 0,
};

/**
 * Stands for the id of the master key where the stored text is not a wrapped
 * key.
 */
const UNKNOWN = "unknown";

/** The keys that were found, by what was done with them. */
interface Tally {
  rewrapped: number;
  current: number;
  replaced: number;
  /** Tenants whose key no master key opens, and which have no other key. */
  lost: number;
  /** How many keys each master key wraps now, by the master key's id. */
  readonly inUse: Map<string, number>;
  /** Ids of the master keys that would open the lost keys. */
  readonly missing: Set<string>;
}

/** Options of {@linkcode runRewrap}. */
interface RunRewrapOptions extends DataCommandOptions {
  /**
   * Opens the master keys of the service with this data folder; never makes new
   * ones.
   */
  readonly openKeys: (dataFolder: string) => Promise<OpenKeysOutcome>;
}

/** Runs the command; returns the exit code. */
export async function runRewrap(
  args: readonly string[],
  { io, settings, openKeys }: RunRewrapOptions,
): Promise<number> {
  const read = readCommand(FLAGS, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const { values } = read;
  const dataDir = values["data-dir"] || settings.dataDir;
  return await attempt(io, async () => {
    const opened = await openKeys(dataDir);
    if (opened.kind !== "ok") {
      io.err(
        opened.kind === "invalid"
          ? opened.problem
          : "Cannot rewrap keys: no master key is configured",
      );
      return 1;
    }
    const { masterKeys } = opened;
    const tally = await rewrapAll(storedData({ ...settings, dataDir }), {
      masterKeys,
      replacesLost: values["replace-lost"],
    });
    if (values.json) io.out(formatJson(tally, masterKeys));
    else for (const line of formatLines(tally, masterKeys)) io.out(line);
    if (tally.lost === 0) return 0;
    io.err(
      `Cannot open the keys of ${tally.lost} tenants: the master keys that ` +
        `wrap them are not given, or others with their ids: ` +
        `${formatList(tally.missing)}`,
    );
    return 1;
  });
}

async function rewrapAll(
  data: Pick<StoredData, "changeKeys">,
  options: { readonly masterKeys: MasterKeys; readonly replacesLost: boolean },
): Promise<Tally> {
  const tally: Tally = {
    rewrapped: 0,
    current: 0,
    replaced: 0,
    lost: 0,
    inUse: new Map(),
    missing: new Set(),
  };
  const { id: currentId } = options.masterKeys.current;
  // Keys that this run adds may be visited as well, and are skipped then.
  const kept = new Set<string>();
  await data.changeKeys((stored): readonly WrappedKey[] => {
    if (kept.has(formatName(stored))) return [];
    const step = planRewrap(stored, options);
    if (step.kind === "lost") {
      const masterKeyId = step.masterKeyId ?? UNKNOWN;
      count(tally, masterKeyId);
      if (!step.isReplaced) {
        tally.lost++;
        tally.missing.add(masterKeyId);
      }
      return [];
    }
    tally[step.kind]++;
    count(tally, currentId);
    if (step.kind === "current") return [];
    if (step.kind === "rewrapped") return [step.next];
    count(tally, sealedKeyId(step.kept.wrapped) ?? UNKNOWN);
    kept.add(formatName(step.kept));
    return [step.next, step.kept];
  });
  return tally;
}

function formatName({ tenantId, id }: WrappedKey): string {
  return `${tenantId}\n${id}`;
}

function count({ inUse }: Tally, masterKeyId: string): void {
  inUse.set(masterKeyId, (inUse.get(masterKeyId) ?? 0) + 1);
}

function listUnused(
  { inUse }: Tally,
  masterKeys: MasterKeys,
): readonly string[] {
  return masterKeys.ids().filter((id) =>
    id !== masterKeys.current.id && !inUse.has(id)
  );
}

function formatJson(tally: Tally, masterKeys: MasterKeys): string {
  const { rewrapped, current, replaced, lost, inUse } = tally;
  return JSON.stringify({
    masterKey: masterKeys.current.id,
    rewrapped,
    current,
    replaced,
    lost,
    inUse: Object.fromEntries(inUse),
    unused: listUnused(tally, masterKeys),
  });
}

function formatLines(tally: Tally, masterKeys: MasterKeys): readonly string[] {
  const { rewrapped, current, replaced, inUse } = tally;
  const unused = listUnused(tally, masterKeys);
  const used = [...inUse].toSorted(([left], [right]) => left < right ? -1 : 1)
    .map(([id, keys]) => `${quote(id)} (${keys})`);
  return [
    `Keys rewrapped: ${rewrapped}; wrapped by ` +
    `${quote(masterKeys.current.id)} already: ${current}`,
    ...replaced === 0 ? [] : [
      `Tenants given a new key: ${replaced}; set their secrets again`,
    ],
    `Master keys in use: ${used.length === 0 ? "none" : used.join(", ")}`,
    ...unused.length === 0 ? [] : [
      `Master keys that no stored key needs: ${formatList(unused)}`,
    ],
  ];
}

function formatList(ids: Iterable<string>): string {
  return [...ids].map((id) => quote(id)).join(", ");
}
