/**
 * The relayer as a process of its own, with the permissions it has in production.
 *
 * @module
 */

import { generateDelegateKey } from "../../scripts/delegate_key.ts";
import {
  ServiceProcess,
  type ServiceRun,
  START_MS,
} from "./service_process.ts";

/** How a {@linkcode RelayerProcess} is started. */
export interface RelayerProcessOptions {
  /** The folder of its data. */
  readonly dataDir: string;
  /**
   * Settings, over those that keep it on this machine and on a free port.
   *
   * @default none
   */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Arguments of the program.
   *
   * @default none, which serves
   */
  readonly args?: readonly string[];
}

/** Somebody who may use the relayer. */
export interface RelayerAccount {
  /** The private key of a delegate, 64 hexadecimal digits. */
  readonly key: string;
  /** Its public key, 64 hexadecimal digits. */
  readonly publicKey: string;
  /** The account. */
  readonly accountId: string;
  /** The owner's address. */
  readonly owner: string;
}

const LOCAL_ENV: Readonly<Record<string, string>> = {
  HOST: "127.0.0.1",
  PORT: "0",
  RATE_LIMIT_DISABLED: "true",
};

/** Starts the service and waits until it listens. */
export async function startRelayer(
  options: RelayerProcessOptions,
): Promise<RelayerProcess> {
  const service = new RelayerProcess(options);
  try {
    await service.waitForLine("Listening on ", { timeoutMs: START_MS });
  } catch (error) {
    await service.kill();
    throw error;
  }
  return service;
}

/** Runs the program to its end, for commands and for starts that fail. */
export async function runRelayer(
  options: RelayerProcessOptions,
): Promise<ServiceRun> {
  await using service = new RelayerProcess(options);
  const code = await service.waitForExit(START_MS);
  return { code, stdout: service.stdout, stderr: service.stderr };
}

/** Makes an account by the command, for a new key. */
export async function createAccount(dataDir: string): Promise<RelayerAccount> {
  const { key, publicKey } = await generateDelegateKey();
  const run = await runRelayer({
    dataDir,
    args: ["account", "create", "--public-key", publicKey, "--json"],
  });
  if (run.code !== 0) {
    throw new Error(`Cannot make the account: ${run.stderr}`);
  }
  const made: unknown = JSON.parse(run.stdout);
  const textOf = (name: string): string => {
    const value: unknown = Reflect.get(Object(made), name);
    if (typeof value === "string") return value;
    throw new Error(`Cannot make the account: no ${name} in ${run.stdout}`);
  };
  return {
    key,
    publicKey,
    accountId: textOf("account_id"),
    owner: textOf("owner"),
  };
}

/** A process of the service, from its start to its end. */
export class RelayerProcess extends ServiceProcess {
  /** Starts the process and does not wait for anything. */
  constructor({ dataDir, env, args }: RelayerProcessOptions) {
    super({
      service: "relayer",
      env: { ...LOCAL_ENV, DATA_DIR: dataDir, ...env },
      ...(args === undefined ? {} : { args }),
    });
  }

  /** Base of its addresses, without a slash at its end. */
  get url(): string {
    for (const line of this.lines) {
      const found = /Listening on (http:\/\/[^"\s]+)/.exec(line)?.[1];
      if (found !== undefined) return found;
    }
    throw this.failure("it does not say where it listens");
  }
}
