/**
 * Opens a ledger's file for tests, in a folder that is removed afterwards.
 *
 * @module
 */

import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { systemClock } from "../../../shared/clock.ts";
import { type LedgerFile, openLedgerFile } from "../ledger_file.ts";

/** An open file and its path. */
export interface TestLedger {
  /** The file. */
  readonly file: LedgerFile;
  /** The file's path. */
  readonly path: string;
}

/** A function that {@linkcode withLedger} runs. */
export type LedgerTest = (ledger: TestLedger) => void | Promise<void>;

/** The clock of a test's file: its time stands still, but its timers fire. */
const clock = {
  nowMs: () => new FakeClock().nowMs(),
  setTimer: systemClock.setTimer,
};

/** Opens the file of a path. */
export function openAt(path: string): LedgerFile {
  return openLedgerFile(path, clock);
}

/** Runs a test with a new file. */
export async function withLedger(test: LedgerTest): Promise<void> {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/ledger.db`;
  const file = openAt(path);
  try {
    await test({ file, path });
  } finally {
    await file.close();
    await Deno.remove(folder, { recursive: true });
  }
}
