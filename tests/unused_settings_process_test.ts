import { assertEquals, assertStringIncludes } from "@std/assert";
import type { DataServiceOptions } from "./support/data_service_process.ts";
import { makeKey, startKeyServer } from "./support/keyserver_process.ts";
import { startRelayer } from "./support/relayer_process.ts";
import { startTasks } from "./support/tasks_process.ts";

for (
  const { name, start, typo, meant } of [
    {
      name: "tasks",
      start: startTasks,
      typo: "IDP_ISSUERS",
      meant: "did you mean IDP_ISSUER?",
    },
    {
      name: "relayer",
      start: startRelayer,
      typo: "BLOB_PUBLISHER_URI",
      meant: "did you mean BLOB_PUBLISHER_URL?",
    },
    {
      name: "keyserver",
      start: async (options: DataServiceOptions) => {
        await makeKey(options.dataDir);
        return await startKeyServer(options);
      },
      typo: "LEDGER_RPC_URI",
      meant: "did you mean LEDGER_RPC_URL?",
    },
  ]
) {
  Deno.test(`${name} names variables at the start that are no settings`, async () => {
    const dataDir = await Deno.makeTempDir();
    try {
      await using service = await start({
        dataDir,
        env: { [typo]: "secret", LOG_TOKENS: "secret" },
      });
      const line = `${typo} is set and has no effect: there is no such ` +
        `setting; ${meant}`;
      assertStringIncludes(service.stderr, line);
      assertEquals(service.stderr.includes("secret"), false);
      assertEquals(await service.stop(), 0);
    } finally {
      await Deno.remove(dataDir, { recursive: true });
    }
  });
}
