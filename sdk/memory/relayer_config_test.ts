import { assertEquals, assertThrows } from "@std/assert";
import { MemError } from "./errors.ts";
import { readRelayerConfig } from "./relayer_config.ts";

const LOCAL = {
  packageId: "0x2",
  network: "localnet",
  suiTransport: "jsonrpc",
  suiRpcUrl: "http://localhost:8000/rpc",
  rateLimitDisabled: true,
} as const;

Deno.test("readRelayerConfig() returns what a relayer says of the ledger", () => {
  assertEquals(readRelayerConfig(LOCAL), LOCAL);
  assertEquals(
    readRelayerConfig({
      packageId: "0x2",
      network: "mainnet",
      suiTransport: "grpc",
      suiGrpcUrl: "https://grpc.test",
    }),
    {
      packageId: "0x2",
      network: "mainnet",
      suiTransport: "grpc",
      suiGrpcUrl: "https://grpc.test",
      rateLimitDisabled: false,
    },
  );
});

Deno.test("readRelayerConfig() takes gRPC on testnet and JSON-RPC elsewhere when nothing else is said", () => {
  const testnet = { ...LOCAL, network: "testnet" };
  assertEquals(readRelayerConfig(testnet).suiTransport, "grpc");
  const { suiTransport: _, ...silent } = LOCAL;
  assertEquals(readRelayerConfig(silent).suiTransport, "jsonrpc");
});

Deno.test("readRelayerConfig() throws when something is missing or contradicts itself", () => {
  const { suiRpcUrl: _, ...unreachable } = LOCAL;
  const faults = [
    undefined,
    {},
    { ...LOCAL, packageId: "" },
    { ...LOCAL, network: 5 },
    { ...LOCAL, suiTransport: "http" },
    { ...LOCAL, suiRpcUrl: "" },
    { ...LOCAL, suiGrpcUrl: "" },
    { ...LOCAL, rateLimitDisabled: "no" },
    unreachable,
    { ...unreachable, suiGrpcUrl: "https://grpc.test" },
    { ...unreachable, suiTransport: "grpc" },
  ];
  for (const json of faults) {
    assertThrows(() => readRelayerConfig(json), MemError);
  }
});
