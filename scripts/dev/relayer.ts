/**
 * Configures the relayer for development, and the text that announces it.
 *
 * @module
 */

import {
  addDelegateKey,
  createAccount,
  generateDelegateKey,
} from "../../sdk/account.ts";
import { delegateKeyToPublicKey } from "../../sdk/memory/private_key.ts";
import { type DevService, storingService } from "./dev_service.ts";
import { devKeyServers } from "./key_servers.ts";

/** The relayer as `deno task dev` runs it. */
export const RELAYER: DevService = storingService({
  name: "relayer",
  port: 8000,
  metricsPort: 9092,
  readyPath: "/health",
  settings: async (read) => ({
    // Rate limits are off by default: someone who tries the relayer would have
    // to wait for a minute after six memories.
    RATE_LIMIT_DISABLED: read("RATE_LIMIT_DISABLED") || "true",
    KEY_SERVERS: read("KEY_SERVERS") || await devKeyServers(read),
  }),
  async announcement(env, deno) {
    const { key, accountId } = await devAccount(env);
    const url = `http://127.0.0.1:${env.PORT}`;
    return `
relayer is ready

  API      ${url}
  metrics  http://127.0.0.1:${env.METRICS_PORT}/metrics
  data     ${env.DATA_DIR}

Remember something and find it again; save it as try.ts beside mod.ts and run
${deno} run --allow-net try.ts:

  import { Mem } from "./mod.ts";
  await using mem = Mem.create({
    serverUrl: "${url}",
    key: "${key}",
    accountId:
      "${accountId}",
    ranking: "fused",
  });
  await mem.rememberAndWait("Ada prefers tea to coffee.");
  const { results } = await mem.recall({ query: "What does Ada drink?" });
  console.log(results[0]?.text);

The same without the relayer being able to read it: what opens the memory is shared
out among three key servers, two of which are asked. Save and run it in the same way:

  import { MemManual } from "./sdk/manual.ts";
  await using mem = MemManual.create({
    serverUrl: "${url}",
    key: "${key}",
    accountId:
      "${accountId}",
    // Made to try it: an application names its key servers and its embedder.
    trustRelayerKeyServers: true,
    embedWithRelayer: true,
  });
  await mem.rememberManual("Ada prefers tea to coffee.");
  const { results } = await mem.recallManual("What does Ada drink?");
  console.log(results[0]?.text);
`;
  },
});

/**
 * An account and the key of its owner, which also signs requests as a delegate.
 */
export interface DevAccount {
  /** The private key. */
  readonly key: string;
  /** The id of the account. */
  readonly accountId: string;
  /**
   * Whether the owner has created the account by a signature, which key servers
   * require.
   */
  readonly isSigned?: boolean;
}

/** Returns the account for development; creates it when it does not exist. */
export async function devAccount(
  env: Readonly<Record<string, string>>,
): Promise<DevAccount> {
  const file = `${env.DATA_DIR}/dev_account.json`;
  const known = await readAccount(file);
  if (known?.isSigned === true) return known;
  // An account that was entered by a command, without a signature, gets its
  // owner's signature here.
  const key = known?.key ?? (await generateDelegateKey()).privateKey;
  const publicKey = (await delegateKeyToPublicKey(key)).toHex();
  const signer = {
    key,
    ledgerNetwork: "localnet",
    serverUrl: `http://127.0.0.1:${env.PORT}`,
  };
  const { accountId } = await createAccount(signer);
  await addDelegateKey({ ...signer, accountId, publicKey, label: "dev" });
  const account: DevAccount = { key, accountId, isSigned: true };
  await Deno.writeTextFile(file, `${JSON.stringify(account)}\n`, {
    mode: 0o600,
  });
  return account;
}

async function readAccount(file: string): Promise<DevAccount | undefined> {
  try {
    return JSON.parse(await Deno.readTextFile(file));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
