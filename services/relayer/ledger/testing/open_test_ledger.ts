/**
 * Opens a ledger's file for tests, in a folder that is removed afterwards.
 *
 * @module
 */

import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { systemClock } from "../../../shared/clock.ts";
import { type LedgerFile, openLedgerFile } from "../ledger_file.ts";
import { LocalLedger } from "../local_ledger.ts";
import { TransactionExecutor } from "../transaction_executor.ts";
import { TransactionLimits } from "../transaction_limits.ts";
import type { LedgerSubject } from "./ledger_conformance.ts";

/** An open file and its path. */
export interface TestLedger {
  /** The file. */
  readonly file: LedgerFile;
  /** The file's path. */
  readonly path: string;
}

/** A function that {@linkcode withLedger} runs. */
export type LedgerTest = (ledger: TestLedger) => void | Promise<void>;

/** Runs a test with a new file, which may be opened several times. */
export function withFileLedger(
  use: (subject: LedgerSubject) => Promise<void>,
): Promise<void> {
  return withLedger(async ({ file, path }) => {
    const others: LedgerFile[] = [];
    const subject = (of: LedgerFile): LedgerSubject => ({
      ...ledgerWithExecutor(of),
      another: () => {
        const other = openAt(path);
        others.push(other);
        return Promise.resolve(subject(other));
      },
    });
    try {
      await use(subject(file));
    } finally {
      for (const other of others) await other.close();
    }
  });
}

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

/** Limits that most tests do not meet. */
const PLENTY = { perMinute: 1_000_000, perDay: 1_000_000 };

/** Makes the ledger of an open file, and the executor of its transactions. */
export function ledgerWithExecutor(
  file: LedgerFile,
  limits: { readonly perMinute: number; readonly perDay: number } = PLENTY,
): {
  readonly ledger: LocalLedger;
  readonly executor: TransactionExecutor;
  change<T>(apply: (ledger: LocalLedger) => T): Promise<T>;
} {
  const ledger = new LocalLedger(file);
  const executor = new TransactionExecutor(ledger, {
    file,
    limits: new TransactionLimits({ ...limits, clock: file.clock }),
  });
  return {
    ledger,
    executor,
    change: (apply) => Promise.resolve(apply(ledger)),
  };
}
