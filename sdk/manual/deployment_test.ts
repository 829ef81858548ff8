import { assertEquals, assertRejects } from "@std/assert";
import { StubRelayer } from "../memory/testing/stub_relayer.ts";
import { type Deployment, findDeployment } from "./deployment.ts";
import { type MemManualConfig, resolveManualConfig } from "./manual_config.ts";
import { MemLedgerError } from "./manual_errors.ts";

const createId = (digit: string) => `0x${digit.repeat(64)}`;
const BASE: MemManualConfig = {
  key: "07".repeat(32),
  accountId: "0xa11ce",
  embed: () => [1],
};
/** The configuration that a relayer with an embedded ledger reports. */
const LOCAL = {
  packageId: createId("1"),
  registryId: createId("2"),
  network: "localnet",
  suiRpcUrl: "http://ledger.test/rpc",
  keyServers: [{ objectId: "0xb", weight: 2 }, { objectId: "0xc" }],
  keyServerThreshold: 3,
};

function found(
  config: Partial<MemManualConfig>,
  told: unknown = LOCAL,
): Promise<Deployment> {
  const exchange = new StubRelayer().on("GET /config", { json: told });
  return findDeployment(resolveManualConfig({ ...BASE, ...config }), {
    exchange,
    preflightTimeoutMs: 5_000,
  });
}

Deno.test("findDeployment() takes from a relayer on localnet what ids prove, and the key servers from the application", async () => {
  const deployment = await found({
    ledgerNetwork: "localnet",
    keyServers: { one: "0xd", two: "0xe", three: "0xf" },
  });
  assertEquals(deployment, {
    network: "localnet",
    isSelfCertified: true,
    packageId: LOCAL.packageId,
    registryId: LOCAL.registryId,
    ledgerRpcUrl: LOCAL.suiRpcUrl,
    keyServers: ["d", "e", "f"].map((digit) => ({
      objectId: `0x${digit.padStart(64, "0")}`,
      aggregatorUrl: undefined,
    })),
    // The default is two, whatever the relayer says.
    threshold: 2,
  });
});

Deno.test("findDeployment() takes all of it from a relayer that is trusted", async () => {
  const deployment = await found({ trustRelayerKeyServers: true });
  const { network, threshold, keyServers } = deployment;
  assertEquals([network, threshold], ["localnet", 3]);
  assertEquals(keyServers.map(({ weight }) => weight), [2, undefined]);
  const given = await found({
    trustRelayerKeyServers: true,
    keyServerThreshold: 1,
    keyServers: ["0xd"],
  });
  assertEquals([given.threshold, given.keyServers.length], [1, 1]);
});

Deno.test("findDeployment() takes nothing from a relayer on a public network", async () => {
  const told = { ...LOCAL, network: "testnet" };
  const config = { ledgerNetwork: "testnet", keyServers: ["0xd"] };
  await assertRejects(
    () => found(config, told),
    MemLedgerError,
    "give packageId",
  );
  const deployment = await found({ ...config, packageId: "0x9" }, told);
  const { ledgerRpcUrl, packageId, isSelfCertified, threshold } = deployment;
  assertEquals(ledgerRpcUrl, "https://fullnode.testnet.sui.io:443");
  assertEquals(packageId, `0x${"9".padStart(64, "0")}`);
  assertEquals([isSelfCertified, threshold], [false, 1]);
  const own = await found({
    ...config,
    packageId: "0x9",
    ledgerRpcUrl: "https://node.test/",
  }, told);
  assertEquals(own.ledgerRpcUrl, "https://node.test");
});

Deno.test("findDeployment() names what is missing or does not fit", async () => {
  const faults: readonly (readonly [
    Partial<MemManualConfig>,
    unknown,
    string,
  ])[] = [
    [
      { keyServers: ["0xd"] },
      LOCAL,
      'is mainnet and the relayer\'s is "localnet"',
    ],
    [{ ledgerNetwork: "localnet", keyServers: ["0xd"] }, {}, "give packageId"],
    [
      { ledgerNetwork: "localnet", keyServers: ["0xd"], packageId: "0x1" },
      null,
      "give ledgerRpcUrl",
    ],
    [
      { trustRelayerKeyServers: true },
      { ...LOCAL, keyServers: [{ objectId: "zz" }, 7] },
      "the relayer names none",
    ],
    [
      { trustRelayerKeyServers: true, keyServerThreshold: 9 },
      LOCAL,
      "cannot be met by 3 shares",
    ],
    [
      { trustRelayerKeyServers: true },
      { ...LOCAL, keyServers: [{ objectId: "0xb", weight: 2 ** 32 }] },
      "they have 4294967296 shares, and 254 are the most",
    ],
  ];
  for (const [config, told, words] of faults) {
    await assertRejects(() => found(config, told), MemLedgerError, words);
  }
});
