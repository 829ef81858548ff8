import { assert, assertEquals, assertRejects } from "@std/assert";
import { Mem, MemError, RememberJobNotFound } from "../../mod.ts";
import { generateDelegateKey } from "../../sdk/account.ts";
import { runSteps } from "../support/data_service_process.ts";
import { runRelayer, runRelayerCommand } from "../support/relayer_process.ts";
import { onStores } from "./on_stores.ts";
import { RelayerHome } from "./relayer_home.ts";
import { readList, readText, sendWire } from "./wire_client.ts";
import { signByHand } from "./hand_signer.ts";

onStores({
  name: "relayer lets owners in",
  timeout: 240_000,
  fn: async (storage, t) => {
    // The third account is that of the second step.
    await using home = await RelayerHome.open({ storage, accounts: 3 });
    await runSteps(t, home, {
      "relayer keeps owners apart": keepsApart,
      "relayer lets delegates of an account share, and lets a removed one in no more":
        letsDelegatesShare,
    });
  },
});

async function keepsApart(home: RelayerHome): Promise<void> {
  const [ann, ben] = [home.mem(), home.mem({}, home.account(1))];
  const made = await ann.rememberAndWait("Ann hides the key under a flowerpot");
  await ben.rememberAndWait("Ben hides the key in a shoe");
  const { results } = await ben.recall("Who hides the key under a flowerpot?");
  assertEquals(results.map(({ text }) => text), [
    "Ben hides the key in a shoe",
  ]);
  assertEquals((await ben.getRememberStatus(made.id)).status, "not_found");
  await assertRejects(
    () => ben.waitForRememberJob(made.id),
    RememberJobNotFound,
  );
  const bulk = await ben.getRememberBulkStatus([made.id]);
  assertEquals(bulk.results[0]?.status, "not_found");
  for (
    const act of [
      () => ben.deleteMemory(made.id),
      () => ben.remember("Ben takes its place", { supersedes: made.id }),
    ]
  ) {
    assertEquals((await assertRejects(act, MemError)).status, 404);
  }
  await ben.forget("default");
  assertEquals((await ben.restore("default")).restored, 1);
  assertEquals((await ben.stats()).memory_count, 1);
  assertEquals((await ann.stats()).memory_count, 1);
  assertEquals((await ann.recall("flowerpot")).results[0]?.id, made.id);
  // The same idempotency key of another owner stands for another write.
  const keyed = await Promise.all(
    [ann, ben].map((mem) => mem.remember("Same", { idempotencyKey: "same" })),
  );
  assertEquals(new Set(keyed.map(({ job_id }) => job_id)).size, 2);
  const { owner } = home.account();
  for (const listing of ["memories", "namespaces", "agents"]) {
    const target = `/v1/owners/${owner}/${listing}`;
    assertEquals((await home.wire().call("GET", target)).status, 200);
    const foreign = await home.wire(home.account(1)).call("GET", target);
    assertEquals(foreign.status, 403, listing);
  }
  const health = await sendWire(home.url, { method: "GET", target: "/health" });
  assertEquals([health.status, readText(health.json, "status")], [200, "ok"]);
}

async function letsDelegatesShare(home: RelayerHome): Promise<void> {
  const account = home.account(2);
  const { accountId, owner, key, publicKey } = account;
  const pair = await generateDelegateKey();
  const second = {
    key: pair.privateKey,
    publicKey: pair.publicKey.toHex(),
  };
  const { dataDir, storage: { env } } = home;
  const change = async (
    verb: string,
    runCommand = runRelayerCommand,
  ): Promise<void> => {
    const run = await runCommand({
      ...{ dataDir, env },
      args: [
        "account",
        verb,
        `--account=${accountId}`,
        `--public-key=${second.publicKey}`,
        ...(verb === "add-key" ? ["--label=phone"] : []),
      ],
    });
    assertEquals([run.code, run.stderr], [0, ""], run.stderr);
  };
  const signer = { ...second, accountId };
  const target = "/api/whoami";
  const ask = () => home.wire(signer).call("GET", target);
  assertEquals((await ask()).status, 401);
  await change("add-key", runRelayer);
  assertEquals((await ask()).status, 200);
  const phone = home.mem({ key: second.key }, account);
  const laptop = home.mem({ key }, account);
  const made = await phone.rememberAndWait("The ferry leaves at noon");
  assertEquals((await laptop.recall("ferry noon")).results[0]?.id, made.id);
  const { memories } = await laptop.listMemories();
  assertEquals(memories[0]?.agent_id, second.publicKey);
  const agents = await home.wire(account).expect(200, [
    "GET",
    `/v1/owners/${owner}/agents`,
  ]);
  assertEquals(
    readList(agents, "agents").map((agent) => readText(agent, "label"))
      .toSorted(),
    ["", "phone"],
  );

  // After the removal, a request that was signed before is refused as well.
  const headers = signByHand({ method: "GET", target, body: "" }, signer);
  await change("remove-key");
  const refused = await ask();
  assertEquals([refused.status, refused.text], [401, ""]);
  const early = await sendWire(home.url, { method: "GET", target, headers });
  assertEquals(early.status, 401);
  assert(refused.headers.get("x-auth-error")?.startsWith("ERR_"));
  const error = await assertRejects(() => phone.recall("ferry"), MemError);
  assertEquals(error.status, 401);
  const fresh = Mem.create({
    key: second.key,
    accountId,
    serverUrl: home.url,
  });
  await assertRejects(() => fresh.remember("More"), MemError);
  fresh.destroy();
  assertEquals((await laptop.recall("ferry noon")).results[0]?.id, made.id);
  assertEquals(
    (await home.wire({ key, publicKey, accountId }).call(
      "GET",
      target,
    )).status,
    200,
  );

  const disable = await runRelayerCommand({
    ...{ dataDir, env },
    args: ["account", "disable", `--account=${accountId}`],
  });
  assertEquals(disable.code, 0);
  const off = await home.wire(account).call("GET", target);
  assertEquals([off.status, off.headers.get("x-auth-error")], [
    401,
    "ERR_ACCOUNT_INACTIVE",
  ]);
}
