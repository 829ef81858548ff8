/**
 * The command `relayer vault`: `rewrap` moves memories from keys of the data
 * folder to the key servers, while the relayer is stopped; `new-receipt-key`
 * makes a new key to sign receipts with.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import {
  type CommandIo,
  readCommand,
  wrongArguments,
} from "../../shared/command_line.ts";
import type { SignalSource } from "../../shared/lifecycle.ts";
import type { Logger } from "../../shared/logger.ts";
import { openDataFolder } from "../../shared/data_folder.ts";
import { switchOption } from "../../shared/options.ts";
import { quote } from "../../shared/quote.ts";
import { openData } from "../open_data.ts";
import { openStorage } from "../open_storage.ts";
import { openLocalVault } from "../open_vault.ts";
import { addKey } from "../receipts/receipt.ts";
import { type RewrapCounts, rewrapMemories } from "../recall/rewrap.ts";
import { type RelayerSettings, usesDataFolder } from "../settings.ts";

const FLAGS = {
  json: switchOption({
    help:
      "Write the outcome as JSON: memories, rewrapped, kept and failed, or " +
      "id, publicKey and fromMs.",
  }),
} as const;

const COMMAND = {
  usage: "relayer vault rewrap|new-receipt-key",
  about:
    "rewrap moves memories of keys in DATA_DIR behind KEY_SERVERS, with the " +
    "settings of the relayer (VAULT=key-servers), which must be stopped. It " +
    "needs no session and calls no key server. Memories that are behind key " +
    "servers already, or that only clients can open, do not change. You may " +
    "interrupt it; the next run continues. new-receipt-key creates the key " +
    "that signs receipts from the next start on. Earlier keys stay known, so " +
    "earlier receipts can be verified. Exit codes: 0 success, 1 some " +
    "memories not moved, 2 invalid arguments.",
  positionals: 1,
} as const;

/** Options of {@linkcode runVault}. */
interface VaultOptions {
  /** Where the command writes its output. */
  readonly io: CommandIo;
  /**
   * Runs a function with the relayer's settings; resolves with 1 when they
   * cannot be used.
   */
  readonly withSettings: (
    run: (settings: RelayerSettings) => Promise<number>,
  ) => Promise<number>;
  /** The time. */
  readonly clock: Clock;
  /** Makes the log for memories that fail. */
  readonly logger: (settings: RelayerSettings) => Logger;
  /** Signals; SIGTERM and SIGINT end the command. */
  readonly signals: SignalSource;
}

/** Runs a function with a signal that aborts on SIGTERM or SIGINT. */
async function untilSignalled<Result>(
  signals: SignalSource,
  run: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const ending = new AbortController();
  const listening = (["SIGTERM", "SIGINT"] as const).map((signal) =>
    signals.listen(signal, () => ending.abort())
  );
  try {
    return await run(ending.signal);
  } finally {
    for (const end of listening) end();
  }
}

/**
 * Runs the command.
 *
 * @returns 0 when all memories are behind key servers or the new key is made, 1
 * when some memories are not, 2 when the arguments are wrong.
 */
export async function runVault(
  args: readonly string[],
  options: VaultOptions,
): Promise<number> {
  const { io } = options;
  const read = readCommand(FLAGS, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const { values: { json: isJson }, positionals: [verb = ""] } = read;
  if (verb === "new-receipt-key") {
    return await options.withSettings((settings) =>
      newReceiptKey(settings, { ...options, isJson })
    );
  }
  if (verb !== "rewrap") {
    return wrongArguments(
      `Cannot run ${quote(verb)}: there is no such command`,
      { io, command: COMMAND },
    ).exitCode;
  }
  return await options.withSettings(async (settings) => {
    if (settings.vault !== "key-servers") {
      io.err("Cannot rewrap: VAULT has to be key-servers");
      return 1;
    }
    return await untilSignalled(
      options.signals,
      (signal) => rewrap(settings, { ...options, isJson, signal }),
    );
  });
}

async function newReceiptKey(
  settings: RelayerSettings,
  { io, clock, logger, isJson }: VaultOptions & {
    readonly isJson: boolean;
  },
): Promise<number> {
  if (usesDataFolder(settings)) {
    await openDataFolder(settings.dataDir, { service: "relayer" });
  }
  const tools = { clock, logger: logger(settings) };
  // A database has to be opened for the keys in it.
  const kept = settings.store === "postgres"
    ? await openStorage(settings, tools)
    : undefined;
  try {
    const { openRows } = kept ?? {};
    const local = openLocalVault(settings, { ...tools, openRows });
    await local.start();
    try {
      const key = await addKey(local.keys, clock);
      io.out(isJson ? JSON.stringify(key) : `${key.id} ${key.publicKey}`);
      return 0;
    } finally {
      await local.stop();
    }
  } finally {
    await kept?.close();
  }
}

async function rewrap(
  settings: RelayerSettings,
  options: VaultOptions & {
    readonly isJson: boolean;
    readonly signal: AbortSignal;
  },
): Promise<number> {
  const { io, clock, signal, isJson } = options;
  const logger = options.logger(settings);
  if (usesDataFolder(settings)) {
    await openDataFolder(settings.dataDir, { service: "relayer" });
  }
  const data = await openData(settings, { clock, logger });
  const beganMs = clock.nowMs();
  const dataKeys = data.local.keys.data;
  const counts = await rewrapMemories({ ...data, dataKeys, logger }, {
    onProgress: (so) =>
      io.progress?.(formatProgress(so, clock.nowMs() - beganMs)),
    signal,
  }).finally(() => data.close());
  io.progress?.("");
  io.out(isJson ? JSON.stringify(counts) : formatSummary(counts));
  if (!signal.aborted) return counts.failed === 0 ? 0 : 1;
  io.err("Ended before all were looked at; run it again for the rest");
  return 1;
}

function formatProgress(
  { memories, failed }: RewrapCounts,
  ms: number,
): string {
  const perSecond = Math.round(memories / Math.max(ms / 1_000, 0.001));
  return `${memories} memories, ${failed} failed, ${perSecond} a second`;
}

function formatSummary(
  { memories, rewrapped, kept, failed }: RewrapCounts,
): string {
  return `${memories} memories: ${rewrapped} put behind the key servers, ` +
    `${kept} left as they are, ${failed} failed`;
}
