import { assertEquals, assertRejects } from "@std/assert";
import { MemDestroyedError } from "../../../sdk/memory/errors.ts";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { ClientPool } from "./client_pool.ts";
import type { AgentCredential } from "./credential.ts";

function credential(number: number): AgentCredential {
  return {
    kind: "ok",
    digest: Uint8Array.of(number),
    config: { key: "07".repeat(32), accountId: `0x${number}` },
    isPrivateKey: true,
    namespace: undefined,
  };
}

function open() {
  const clock = new FakeClock();
  const opened: string[] = [];
  const clients = new ClientPool({
    clock,
    fetch: () => Promise.reject(new Error("no request is made here")),
    onOpen: ({ config }) => opened.push(config.accountId),
  });
  return { clock, clients, opened };
}

Deno.test("ClientPool makes one client of a credential", () => {
  const { clients, opened } = open();
  const first = clients.of(credential(1));
  assertEquals(clients.of(credential(1)) === first, true);
  assertEquals(clients.of(credential(2)) === first, false);
  assertEquals(opened, ["0x1", "0x2"]);
  clients.destroy();
});

Deno.test("ClientPool overwrites the key of a client when it is idle for half an hour", async () => {
  const { clients, clock } = open();
  const idle = clients.of(credential(1));
  const used = clients.of(credential(2));
  clock.advance(1_799_999);
  clients.of(credential(2));
  clock.advance(1);
  clients.of(credential(3));
  assertEquals(clients.size, 2);
  await assertRejects(() => idle.health(), MemDestroyedError);
  assertEquals(clients.of(credential(2)) === used, true);
  clients.destroy();
  await assertRejects(() => used.health(), MemDestroyedError);
});
