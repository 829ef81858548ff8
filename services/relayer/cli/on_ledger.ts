/**
 * How commands reach the embedded ledger: in its file, or in the database that the
 * settings name. Both work beside a running service.
 *
 * @module
 */

import type { Clock } from "../../shared/clock.ts";
import type { CommandIo } from "../../shared/command_line.ts";
import { openLedgerFile } from "../ledger/ledger_file.ts";
import { LocalLedger } from "../ledger/local_ledger.ts";
import { type EmbeddedLedger, openEmbedded } from "../open_ledger.ts";
import { openLedgerStorage, type StorageTools } from "../open_storage.ts";
import type { RelayerSettings } from "../settings.ts";

/** Runs a change on the newest state of a ledger; it may run several times. */
export type ChangeLedger = <T>(
  apply: (ledger: LocalLedger) => T,
) => Promise<T>;

/** Options of commands that work on the embedded ledger. */
export interface LedgerCommandOptions {
  /** Where the command writes its output. */
  readonly io: CommandIo;
  /**
   * Passes the ledger to a function, and closes it; the ledger is opened when
   * it is first changed. Resolves with what the function returns.
   */
  readonly withLedger: (
    use: (change: ChangeLedger) => Promise<number>,
  ) => Promise<number>;
}

/** Where the file of a ledger is. */
interface FileOptions {
  /** The path of the ledger's file; its folder must exist. */
  readonly ledgerPath: string;
  /**
   * The package that the accounts are of.
   *
   * @default that of an embedded ledger
   */
  readonly packageId?: string | undefined;
  /** The time, for entries of the ledger's log. */
  readonly clock: Clock;
}

/** Passes the ledger of a file to a function, and closes the file. */
export async function withLedgerFile(
  { ledgerPath, packageId, clock }: FileOptions,
  use: (change: ChangeLedger) => Promise<number>,
): Promise<number> {
  const file = openLedgerFile(ledgerPath, clock);
  try {
    const ledger = new LocalLedger(file, packageId);
    // deno-lint-ignore require-await -- a throw becomes a rejection
    return await use(async (apply) => apply(ledger));
  } finally {
    await file.close();
  }
}

/** Passes the ledger that settings name to a function, and closes it. */
export async function withSettingsLedger(
  settings: RelayerSettings,
  tools: StorageTools,
  use: (change: ChangeLedger) => Promise<number>,
): Promise<number> {
  const kept = await openLedgerStorage(settings, tools);
  let opened: EmbeddedLedger | undefined;
  try {
    return await use(async (apply) => {
      opened ??= await openEmbedded(settings, kept.place);
      return await opened.change(apply);
    });
  } finally {
    await opened?.ledger.stop();
    await kept.close();
  }
}
