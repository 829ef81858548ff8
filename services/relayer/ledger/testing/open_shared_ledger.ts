/**
 * Opens ledgers whose log is in a database, for tests: each test has a schema of
 * its own, which its ledgers share.
 *
 * @module
 */

import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import { serviceTest } from "../../../../tests/support/services.ts";
import type { Pool } from "../../../shared/postgres/pool.ts";
import {
  type DataSchema,
  withDataSchema,
} from "../../store/postgres/testing/data_schema.ts";
import { SharedLedger } from "../shared_ledger.ts";
import { TransactionExecutor } from "../transaction_executor.ts";
import { TransactionLimits } from "../transaction_limits.ts";
import type { LedgerSubject } from "./ledger_conformance.ts";

/** A ledger on a schema, and ways to open others on it. */
export interface SharedSubject extends LedgerSubject {
  /** The ledger. */
  readonly ledger: SharedLedger;
  /** What it has logged. */
  readonly logger: RecordingLogger;
  /** Opens the same ledger again, as another relayer does. */
  another(options?: OpenOptions): Promise<SharedSubject>;
}

/** How a ledger is opened. */
interface OpenOptions {
  /** Stands between the ledger and its database. @default nothing */
  readonly wrap?: (pool: Pool) => Pool;
  /** The time. @default a clock that stands still */
  readonly clock?: FakeClock;
  /** The limits of transactions. @default limits that tests do not meet */
  readonly limits?: { readonly perMinute: number; readonly perDay: number };
}

const PLENTY = { perMinute: 1_000_000, perDay: 1_000_000 };

/** Runs a test with a ledger on a new schema. */
export async function withSharedLedger(
  use: (
    opened: { readonly subject: SharedSubject; readonly schema: DataSchema },
  ) => Promise<void>,
): Promise<void> {
  await withDataSchema(async (schema) => {
    const opened: SharedLedger[] = [];
    const open = async (
      { wrap = (pool) => pool, clock = new FakeClock(), limits = PLENTY }:
        OpenOptions = {},
    ): Promise<SharedSubject> => {
      const logger = new RecordingLogger();
      const pool = wrap(schema.connect());
      const ledger = await SharedLedger.open({ pool, clock, logger });
      opened.push(ledger);
      const executor = new TransactionExecutor(ledger.replica, {
        file: { clock, writes: ledger.writes },
        limits: new TransactionLimits({
          ...{ ...limits, clock },
          addresses: ledger.addresses,
        }),
      });
      const change: LedgerSubject["change"] = (apply) => ledger.change(apply);
      return { ledger, executor, change, logger, another: open };
    };
    try {
      await use({ subject: await open(), schema });
    } finally {
      for (const ledger of opened) await ledger.stop();
    }
  });
}

/** Registers a test with a ledger on a new schema. */
export function sharedTest(
  name: string,
  run: (
    opened: { readonly subject: SharedSubject; readonly schema: DataSchema },
  ) => Promise<void>,
): void {
  serviceTest(["postgres"], { name, fn: () => withSharedLedger(run) });
}

/** The methods of a pool, for one that does some of them otherwise. */
export function bound(pool: Pool): Pool {
  return {
    query: (...of) => pool.query(...of),
    transaction: (...of) => pool.transaction(...of),
    batch: (...of) => pool.batch(...of),
    close: () => pool.close(),
  };
}
