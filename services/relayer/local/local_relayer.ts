/**
 * A relayer inside another program: its data is in one folder, no port is
 * opened, and its API is a handler.
 *
 * @module
 */

import { randomBytes } from "node:crypto";
import type { Clock } from "../../shared/clock.ts";
import { openDataFolder } from "../../shared/data_folder.ts";
import type { HttpHandler } from "../../shared/http/exchange.ts";
import { Lifecycle } from "../../shared/lifecycle.ts";
import type { Logger } from "../../shared/logger.ts";
import { readSettings, type ReadVariable } from "../../shared/settings.ts";
import { VERSION } from "../../shared/version.ts";
import { withLedgerFile } from "../cli/on_ledger.ts";
import { addParts, type Front } from "../serve.ts";
import {
  LEDGER_FILE,
  type RelayerSettings,
  relayerSettings,
} from "../settings.ts";

/** How a relayer inside a program is opened. */
interface LocalRelayerOptions {
  /** The folder of all data; created if it is missing. */
  readonly folder: string;
  /** Reads a variable of the environment; only those of models are asked. */
  readonly readVariable: ReadVariable;
  /** The time. */
  readonly clock: Clock;
  /** Logs what goes wrong. */
  readonly logger: Logger;
  /** Serves the handler to other programs, too. */
  readonly openFront: (handler: HttpHandler) => Promise<Front>;
}

/** A relayer inside this program. */
export interface LocalRelayer {
  /** Answers requests to the relayer's API. */
  readonly handler: HttpHandler;
  /** Answers what is under way, writes what waits and closes the data. */
  stop(): Promise<void>;
}

/** The settings that differ from the defaults, by the names of variables. */
const LOCAL_VALUES: Readonly<Record<string, string>> = {
  CONSOLE: "false",
  // The embedded ledger has one account; clients cannot reach it.
  LEDGER_RPC_ENABLED: "false",
  RATE_LIMIT_DISABLED: "true",
  // People's own disk is the limit.
  STORAGE_QUOTA_BYTES: "1099511627776",
  RANKING: "fused",
  SHUTDOWN_GRACE: "5s",
};

/**
 * Opens the relayer of a folder.
 *
 * @throws {Error} when the settings of the models, or the folder, cannot be
 * used, as while another relayer has it
 */
export async function openLocalRelayer(
  options: LocalRelayerOptions,
): Promise<LocalRelayer> {
  const { folder, clock, logger } = options;
  const settings = localSettings(folder, options.readVariable);
  await openDataFolder(folder, { service: "relayer" });
  const lifecycle = new Lifecycle({
    ...{ logger, clock },
    graceMs: settings.shutdownGraceMs,
  });
  const opened = Promise.withResolvers<HttpHandler>();
  await addParts(settings, {
    ...{ clock, logger, lifecycle, randomBytes },
    version: VERSION,
    random: Math.random,
    tracing: undefined,
    async openFront(handler) {
      const front = await options.openFront(handler);
      opened.resolve(handler);
      return front;
    },
  });
  await lifecycle.start();
  return {
    handler: await opened.promise,
    async stop() {
      await lifecycle.stop("its program ends");
    },
  };
}

/**
 * Makes the account of a key, unless there is one.
 *
 * @param publicKey The key, 64 hexadecimal digits.
 * @throws {Error} when the ledger's file cannot be opened or written
 */
export async function makeLocalAccount(
  publicKey: string,
  { folder, clock, label }: {
    /** The folder of the data. */
    readonly folder: string;
    /** The time. */
    readonly clock: Clock;
    /** The name of the key. */
    readonly label: string;
  },
): Promise<void> {
  await openDataFolder(folder, { service: "relayer" });
  const ledgerPath = `${folder}/${LEDGER_FILE}`;
  await withLedgerFile({ ledgerPath, clock }, async (change) => {
    const outcome = await change((ledger) =>
      ledger.createAccount({ publicKey, label })
    );
    if (outcome.kind !== "ok" && outcome.kind !== "exists") {
      throw new Error(
        `Cannot make an account in "${folder}": the ledger refuses the key`,
      );
    }
    return 0;
  });
}

/** The settings of a relayer in a folder. */
function localSettings(
  folder: string,
  readVariable: ReadVariable,
): RelayerSettings {
  const models = new Set(
    Object.values(relayerSettings)
      .filter(({ group }) => group === "Models")
      .map(({ name }) => name),
  );
  const read = readSettings(
    relayerSettings,
    (name) => models.has(name) ? readVariable(name) : LOCAL_VALUES[name],
  );
  if (read.kind === "invalid") throw new Error(read.problems.join("\n"));
  return { ...read.values, dataDir: folder };
}
