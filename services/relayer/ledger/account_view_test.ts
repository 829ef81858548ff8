import { assertEquals } from "@std/assert";
import { viewAgents, viewWhoAmI } from "./account_view.ts";

Deno.test("viewWhoAmI() shows account, owner and package", () => {
  const caller = { accountId: "0x1", owner: "0xf1", publicKey: "aa" };
  assertEquals(viewWhoAmI(caller, "0x9"), {
    account_id: "0x1",
    owner: "0xf1",
    package_id: "0x9",
  });
});

Deno.test("viewAgents() shows labels and addresses, and nobody where there is no account", () => {
  const account = {
    accountId: "0x1",
    owner: "0xf1",
    isActive: true,
    delegateKeys: [{ publicKey: "aa", address: "0xaa", label: "phone" }],
  };
  assertEquals(viewAgents(account), {
    agents: [{ label: "phone", sui_address: "0xaa" }],
    snapshot_version: 2,
  });
  assertEquals(viewAgents(undefined).agents, []);
});
