/**
 * The relayer as a process of its own, with its production permissions.
 *
 * @module
 */

import { generateDelegateKey } from "../../sdk/account.ts";
import { runAccount } from "../../services/relayer/cli/account.ts";
import { LEDGER_FILE } from "../../services/relayer/settings.ts";
import { systemClock } from "../../services/shared/clock.ts";
import { openDataFolder } from "../../services/shared/data_folder.ts";
import {
  type DataServiceOptions,
  DataServiceProcess,
  listening,
  runToEnd,
} from "./data_service_process.ts";
import type { ServiceRun } from "./service_process.ts";

/** An account that may use the relayer, and the key of its delegate. */
export interface RelayerAccount {
  /** The private key of a delegate, 64 hexadecimal digits. */
  readonly key: string;
  /** The delegate's public key, 64 hexadecimal digits. */
  readonly publicKey: string;
  /** The id of the account. */
  readonly accountId: string;
  /** The owner's address. */
  readonly owner: string;
}

const LOCAL_ENV: Readonly<Record<string, string>> = {
  HOST: "127.0.0.1",
  PORT: "0",
  METRICS_PORT: "0",
  RATE_LIMIT_DISABLED: "true",
};

/** Starts the service and waits until it listens. */
export function startRelayer(
  options: DataServiceOptions,
): Promise<RelayerProcess> {
  return listening(new RelayerProcess(options));
}

/** Runs the program to its end, for commands and for starts that fail. */
export function runRelayer(options: DataServiceOptions): Promise<ServiceRun> {
  return runToEnd(new RelayerProcess(options));
}

/**
 * Creates an account for a new key with the relayer's command, as
 * `relayer account create` does. The command runs in this process, since most
 * tests need an account and its start costs more than all it does.
 */
export async function createAccount(dataDir: string): Promise<RelayerAccount> {
  const pair = await generateDelegateKey();
  const publicKey = pair.publicKey.toHex();
  const [out, err]: [string[], string[]] = [[], []];
  await openDataFolder(dataDir, { service: "relayer" });
  const code = await runAccount(
    ["create", "--public-key", publicKey, "--json"],
    {
      io: { out: (text) => out.push(text), err: (text) => err.push(text) },
      ledgerPath: `${dataDir}/${LEDGER_FILE}`,
      clock: systemClock,
    },
  );
  if (code !== 0) {
    throw new Error(`Cannot make the account: ${err.join("\n")}`);
  }
  const text = out.join("\n");
  const made: unknown = JSON.parse(text);
  const textOf = (name: string): string => {
    const value: unknown = Reflect.get(Object(made), name);
    if (typeof value === "string") return value;
    throw new Error(`Cannot make the account: no ${name} in ${text}`);
  };
  return {
    key: pair.privateKey,
    publicKey,
    accountId: textOf("account_id"),
    owner: textOf("owner"),
  };
}

/** A process of the service, from its start to its end. */
export class RelayerProcess extends DataServiceProcess {
  /** Starts the process without waiting for anything. */
  constructor({ dataDir, env, args, runtimeFlags }: DataServiceOptions) {
    super({
      service: "relayer",
      env: { ...LOCAL_ENV, DATA_DIR: dataDir, ...env },
      ...(args === undefined ? {} : { args }),
      ...(runtimeFlags === undefined ? {} : { runtimeFlags }),
    });
  }
}
