/**
 * A ledger's file for tests, in a folder that goes away with it.
 *
 * @module
 */

import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { systemClock } from "../../../shared/clock.ts";
import { type LedgerFile, openLedgerFile } from "../ledger_file.ts";

/** An open file, and where it is. */
export interface TestLedger {
  /** The file. */
  readonly file: LedgerFile;
  /** Its path. */
  readonly path: string;
}

/** What {@linkcode withLedger} runs. */
export type LedgerTest = (ledger: TestLedger) => void | Promise<void>;

/** The time in a test's file: it stands still, but timers fire. */
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
