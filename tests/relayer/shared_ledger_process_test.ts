/**
 * Tests ledgers as processes of their own that share a database, and a relayer
 * beside them that has its accounts in it as well.
 *
 * @module
 */

import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  LOCAL_PACKAGE_ID,
} from "../../services/shared/ledger/account_contract.ts";
import { TransactionSigner } from "../../services/shared/ledger/testing/transaction_signer.ts";
import { sharedPostgres } from "../support/postgres_server.ts";
import {
  type RelayerProcess,
  runRelayer,
  startRelayer,
} from "../support/relayer_process.ts";
import { serviceTest } from "../support/services.ts";

const SERVER = sharedPostgres({ settings: { fsync: "off" } });

serviceTest(["postgres"], {
  name:
    "processes on one database have the same accounts, and see changes at once",
  timeout: 240_000,
  async fn() {
    const folder = await Deno.makeTempDir();
    const env = {
      STORE: "postgres",
      DATABASE_URL: SERVER.url,
      MASTER_KEYS: crypto.getRandomValues(new Uint8Array(32)).toBase64(),
    };
    const dataDir = `${folder}/none`;
    const command = async (...args: readonly string[]) => {
      const ran = await runRelayer({ dataDir, env, args: [...args] });
      assertEquals(ran.code, 0, ran.stderr);
      return ran.stdout;
    };
    try {
      await using one = await startRelayer({ dataDir, env, args: ["ledger"] });
      await using other = await startRelayer({
        ...{ dataDir, env, args: ["ledger"] },
      });
      const file = `${folder}/empty`;
      await Deno.writeTextFile(file, "");
      const args = ["import", file];
      const refused = await runRelayer({ dataDir, env, args });
      assertEquals(refused.code, 1);
      assertStringIncludes(refused.stderr, "2 instances of the service use it");
      await using relayer = await startRelayer({ dataDir, env });
      const owner = new TransactionSigner({
        ...{ seed: 1, packageId: LOCAL_PACKAGE_ID },
      });
      const { data, signature } = await owner.createAccount();
      await call(one, "sui_executeTransactionBlock", [
        ...[data.toBase64(), [signature.toBase64()], {}],
      ]);
      for (const process of [other, relayer, one]) {
        const shown = await call(process, "sui_getObject", [
          owner.accountId,
          { showContent: true },
        ]);
        assertStringIncludes(JSON.stringify(shown), '"active":true');
      }
      // A command beside them changes it for all.
      await command("account", "disable", "--account", owner.accountId);
      for (const process of [one, other, relayer]) {
        const shown = await call(process, "sui_getObject", [
          owner.accountId,
          { showContent: true },
        ]);
        assertStringIncludes(JSON.stringify(shown), '"active":false');
      }
      const checked = await command("ledger", "check", "--json");
      assertEquals(JSON.parse(checked).entries, 2);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

async function call(
  { url }: RelayerProcess,
  method: string,
  params: readonly unknown[],
): Promise<unknown> {
  const response = await fetch(`${url}/rpc`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const answer: unknown = await response.json();
  assertEquals(Reflect.has(Object(answer), "error"), false, String(response));
  return Reflect.get(Object(answer), "result");
}
