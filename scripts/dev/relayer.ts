/**
 * How the relayer runs in development, and what is said of it.
 *
 * @module
 */

import { generateDelegateKey } from "../delegate_key.ts";
import { decidedSource, withStd } from "../launch/deno_process.ts";
import { permissionFlags } from "../permissions.ts";
import { type DevService, withDefaults } from "./dev_service.ts";

const DEFAULTS: Readonly<Record<string, string>> = {
  RELAYER_HOST: "127.0.0.1",
  RELAYER_PORT: "8000",
  RELAYER_METRICS_PORT: "9092",
  RELAYER_DATA_DIR: ".tercet/relayer",
};

/** The relayer in development. Several services, so its variables begin with RELAYER_. */
export const RELAYER: DevService = {
  name: "relayer",
  listeners: [
    {
      name: "relayer",
      hostVariable: "RELAYER_HOST",
      portVariable: "RELAYER_PORT",
    },
    {
      name: "relayer metrics",
      hostVariable: "METRICS_HOST",
      portVariable: "RELAYER_METRICS_PORT",
    },
  ],
  environment(read) {
    const own = withDefaults(DEFAULTS, read);
    return {
      ...own,
      HOST: own.RELAYER_HOST ?? "",
      PORT: own.RELAYER_PORT ?? "",
      METRICS_HOST: read("METRICS_HOST") || "127.0.0.1",
      METRICS_PORT: own.RELAYER_METRICS_PORT ?? "",
      DATA_DIR: own.RELAYER_DATA_DIR ?? "",
      // Who plays with it would wait for a minute after six memories.
      RATE_LIMIT_DISABLED: read("RATE_LIMIT_DISABLED") || "true",
      LOG_LEVEL: read("LOG_LEVEL") || "info",
    };
  },
  readyUrl: (env) => `http://127.0.0.1:${env.PORT}/health`,
  async announcement(env) {
    const { key, accountId } = await devAccount(env);
    const url = `http://127.0.0.1:${env.PORT}`;
    return `
relayer is ready

  API      ${url}
  metrics  http://127.0.0.1:${env.METRICS_PORT}/metrics
  data     ${env.DATA_DIR}

Remember something and find it again; save it as try.ts beside mod.ts and run
deno run --allow-net try.ts:

  import { Mem } from "./mod.ts";
  await using mem = Mem.create({
    serverUrl: "${url}",
    key: "${key}",
    accountId:
      "${accountId}",
  });
  await mem.rememberAndWait("Ada prefers tea to coffee.");
  const { results } = await mem.recall({ query: "What does Ada drink?" });
  console.log(results[0]?.text);
`;
  },
};

/** An account and the key of its delegate. */
interface DevAccount {
  readonly key: string;
  readonly accountId: string;
}

/** The account that is there from the beginning; made when it is not there. */
async function devAccount(
  env: Readonly<Record<string, string>>,
): Promise<DevAccount> {
  const file = `${env.DATA_DIR}/dev_account.json`;
  try {
    return JSON.parse(await Deno.readTextFile(file));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  const { key, publicKey } = await generateDelegateKey();
  const account: DevAccount = {
    key,
    accountId: await createAccount(env, publicKey),
  };
  await Deno.writeTextFile(file, `${JSON.stringify(account)}\n`, {
    mode: 0o600,
  });
  return account;
}

/** Asks the relayer's own command, as its users do. */
async function createAccount(
  env: Readonly<Record<string, string>>,
  publicKey: string,
): Promise<string> {
  const execPath = Deno.execPath();
  const { success, stdout, stderr } = await new Deno.Command(execPath, {
    args: [
      ...withStd(
        ["run", ...permissionFlags("relayer", { execPath })],
        decidedSource(),
      ),
      "services/relayer/main.ts",
      ...["account", "create", "--label", "dev", "--json"],
      ...["--public-key", publicKey],
    ],
    cwd: new URL("../../", import.meta.url),
    env,
  }).output();
  const decoder = new TextDecoder();
  const made: unknown = success ? JSON.parse(decoder.decode(stdout)) : {};
  const id: unknown = Reflect.get(Object(made), "account_id");
  if (typeof id === "string") return id;
  throw new Error(
    `Cannot make an account: ${decoder.decode(stderr)}; remove ` +
      `${env.DATA_DIR} to start over`,
  );
}
