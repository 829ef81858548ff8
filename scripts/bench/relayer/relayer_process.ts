/**
 * Starts the relayer as a process of its own, with its production permissions,
 * and makes accounts to measure with.
 *
 * @module
 */

import { generateDelegateKey } from "../../../sdk/account.ts";
import { freePorts } from "../../smoke/smoke.ts";
import { outputFrom } from "../kit/clients.ts";
import { MeasuredProcess, serviceCommand } from "../kit/measured_process.ts";

/** An account, the key that signs its requests, and its owner. */
export interface BenchAccount {
  /** The private key of a delegate. */
  readonly key: string;
  /** The account's id. */
  readonly accountId: string;
  /** The owner's address. */
  readonly owner: string;
}

/** A running relayer. */
export interface RelayerProcess {
  /** Its process. */
  readonly process: MeasuredProcess;
  /** The URL on which it listens. */
  readonly url: string;
}

/** Where a relayer keeps its data, and other settings. */
export interface RelayerEnv extends Readonly<Record<string, string>> {
  /** The data folder. */
  readonly DATA_DIR: string;
}

/**
 * Starts the relayer with settings, and rate limits off.
 *
 * @param options.flags Flags of the runtime beside the permissions.
 * @param options.waitsFor What it waits for: health, which waits a moment for
 * the index, or an open port.
 */
export async function startRelayer(
  env: RelayerEnv,
  { flags = [], waitsFor = "health" }: {
    readonly flags?: readonly string[];
    readonly waitsFor?: "health" | "port";
  } = {},
): Promise<RelayerProcess> {
  const [port] = freePorts(1);
  const settings = {
    PORT: String(port),
    METRICS_PORT: "0",
    RATE_LIMIT_DISABLED: "true",
    LOG_LEVEL: "warn",
    ...env,
  };
  const url = `http://127.0.0.1:${port}`;
  const process = await MeasuredProcess.start({
    command: serviceCommand("relayer", { env: settings, flags }),
    env: settings,
    readyUrl: waitsFor === "port" ? `tcp://127.0.0.1:${port}` : `${url}/health`,
  });
  return { process, url };
}

/** Makes an account where the settings say. */
export async function createAccount(env: RelayerEnv): Promise<BenchAccount> {
  const { privateKey: key, publicKey } = await generateDelegateKey();
  const args = ["account", "create", "--public-key", publicKey.toHex()];
  const [program = "", ...rest] = serviceCommand("relayer", {
    env,
    args: [...args, "--json"],
  });
  const output = await outputFrom(program, rest, { env, isPinned: false });
  const account: unknown = JSON.parse(output);
  const member = (name: string): string =>
    String(Reflect.get(Object(account), name));
  return { key, accountId: member("account_id"), owner: member("owner") };
}
