/**
 * Starts the relayer as a process of its own, with its production permissions,
 * and makes accounts to measure with.
 *
 * @module
 */

import { generateDelegateKey } from "../../../sdk/account.ts";
import {
  decidedSource,
  runtimeVariables,
  withStd,
} from "../../launch/deno_process.ts";
import { permissionFlags } from "../../permissions.ts";
import { freePort } from "../tasks/free_port.ts";

/** An account and the key that signs its requests. */
export interface BenchAccount {
  /** The private key of a delegate. */
  readonly key: string;
  /** The account's id. */
  readonly accountId: string;
}

/** An account together with the address of its owner. */
export interface BenchOwner extends BenchAccount {
  /** The owner's address. */
  readonly owner: string;
}

/** A running relayer and the accounts that may use it. */
export interface BenchRelayer extends BenchOwner, AsyncDisposable {
  /** The URL on which the relayer listens. */
  readonly url: string;
  /** A second account, of another owner. */
  readonly other: BenchOwner;
  /** Milliseconds from the start of the process to the first good answer. */
  readonly readyMs: number;
  /**
   * Returns the resident memory of the process in bytes; `undefined` when the
   * system does not tell it.
   */
  residentBytes(): Promise<number | undefined>;
}

const ROOT = decodeURIComponent(new URL("../../../", import.meta.url).pathname);
const READY_MS = 60_000;

/** The two accounts that a bench works with. */
export type BenchAccounts = Pick<BenchRelayer, keyof BenchOwner | "other">;

/**
 * Starts the relayer on a data folder, with rate limits off.
 *
 * @param options.inspectPort The port on which the inspector of the process
 * listens; no inspector unless given.
 * @param options.accounts The accounts that may use it; two new ones unless
 * given.
 * @param options.env Settings beside those that every bench has; none unless
 * given.
 * @throws {Error} When the relayer is not ready in a minute.
 */
export async function startBenchRelayer(
  dataDir: string,
  { inspectPort, accounts, env = {} }: {
    readonly inspectPort?: number;
    readonly accounts?: BenchAccounts;
    readonly env?: Readonly<Record<string, string>>;
  } = {},
): Promise<BenchRelayer> {
  const { other, ...account } = accounts ?? {
    ...await createAccount(dataDir),
    other: await createAccount(dataDir),
  };
  const beginMs = performance.now();
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = command([], {
    DATA_DIR: dataDir,
    PORT: String(port),
    METRICS_PORT: "0",
    RATE_LIMIT_DISABLED: "true",
    LOG_LEVEL: "warn",
    ...env,
  }, inspectPort).spawn();
  const log = new Response(child.stderr).text();
  const isAnswering = await isReady(url);
  const relayer: BenchRelayer = {
    key: account.key,
    accountId: account.accountId,
    owner: account.owner,
    url,
    other,
    readyMs: performance.now() - beginMs,
    residentBytes: () => residentBytesOf(child.pid),
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.status;
      await log;
    },
  };
  if (isAnswering) return relayer;
  await relayer[Symbol.asyncDispose]();
  throw new Error(`Cannot start the relayer: its log:\n${await log}`);
}

/**
 * Reads the memory of a process from `ps`, where it is installed, since Deno
 * itself may read `/proc` only with all permissions.
 */
async function residentBytesOf(pid: number): Promise<number | undefined> {
  try {
    const args = ["-o", "rss=", "-p", String(pid)];
    const { stdout } = await new Deno.Command("ps", { args }).output();
    const kilobytes = Number(new TextDecoder().decode(stdout).trim());
    return kilobytes > 0 ? kilobytes * 1_024 : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Makes an account in a data folder; the relayer must not be running on it. */
export async function createAccount(dataDir: string): Promise<BenchOwner> {
  const { privateKey: key, publicKey } = await generateDelegateKey();
  const made = await command(
    ["account", "create", "--public-key", publicKey.toHex(), "--json"],
    { DATA_DIR: dataDir },
  ).output();
  const account: unknown = JSON.parse(new TextDecoder().decode(made.stdout));
  const memberOf = (name: string): string =>
    String(Reflect.get(Object(account), name));
  return {
    key,
    accountId: memberOf("account_id"),
    owner: memberOf("owner"),
  };
}

function command(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  inspectPort?: number,
): Deno.Command {
  const execPath = Deno.execPath();
  const flags = [
    ...permissionFlags("relayer", { execPath }),
    ...inspectPort === undefined ? [] : [`--inspect=127.0.0.1:${inspectPort}`],
  ];
  return new Deno.Command(execPath, {
    args: [
      ...withStd(["run", ...flags], decidedSource()),
      `${ROOT}services/relayer/main.ts`,
      ...args,
    ],
    cwd: ROOT,
    clearEnv: true,
    env: { ...runtimeVariables(Deno.env.toObject()), ...env },
    stdin: "null",
    stdout: args.length === 0 ? "null" : "piped",
    stderr: "piped",
  });
}

async function isReady(url: string): Promise<boolean> {
  const endMs = performance.now() + READY_MS;
  while (performance.now() < endMs) {
    try {
      const response = await fetch(`${url}/health`);
      await response.body?.cancel();
      if (response.ok) return true;
    } catch (error) {
      // The relayer does not listen yet.
      if (!(error instanceof TypeError)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return false;
}
