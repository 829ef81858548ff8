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

/**
 * Starts the relayer on a data folder, with rate limits off.
 *
 * @param options.env Settings beside those that every bench has; none unless
 * given.
 * @param options.flags Flags of the runtime beside the permissions.
 */
export async function startRelayer(
  dataDir: string,
  { env = {}, flags = [] }: {
    readonly env?: Readonly<Record<string, string>>;
    readonly flags?: readonly string[];
  } = {},
): Promise<RelayerProcess> {
  const [port] = freePorts(1);
  const settings = {
    DATA_DIR: dataDir,
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
    readyUrl: `${url}/health`,
  });
  return { process, url };
}

/** Makes an account in a data folder; the relayer must not be running on it. */
export async function createAccount(dataDir: string): Promise<BenchAccount> {
  const { privateKey: key, publicKey } = await generateDelegateKey();
  const env = { DATA_DIR: dataDir };
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
