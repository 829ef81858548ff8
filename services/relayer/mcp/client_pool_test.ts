import { assertEquals, assertRejects } from "@std/assert";
import { MemDestroyedError } from "../../../sdk/memory/errors.ts";
import { MemMock } from "../../../sdk/testing.ts";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { ClientPool } from "./client_pool.ts";
import type { AgentCredential } from "./credential.ts";

function credential(number: number): AgentCredential {
  return {
    kind: "ok",
    digest: Uint8Array.of(number),
    config: { key: "07".repeat(32), accountId: `0x${number}` },
    accountId: `0x${number}`,
    isPrivateKey: true,
    namespace: undefined,
  };
}

function open() {
  const clock = new FakeClock();
  const opened: string[] = [];
  const mock = MemMock.create();
  const clients = new ClientPool({
    clock,
    fetch: (url, init) => mock.config.fetch!(toMock(url), init),
    onOpen: ({ accountId }) => opened.push(accountId),
  });
  return { clock, clients, opened, mock };
}

/** The same request to the mock, whose paths are the relayer's. */
function toMock(url: string): string {
  const { pathname, search } = new URL(url);
  return `http://mem-mock.invalid${pathname}${search}`;
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

Deno.test("ClientPool asks who a caller is when a minute has passed, and not before", async () => {
  const { clients, clock, mock } = open();
  const own = { ...credential(1), config: ownConfig(mock) };
  const asked = () =>
    mock.requests.filter(({ path }) => path === "/api/whoami").length;
  await clients.verify(own);
  await clients.verify(own);
  assertEquals(asked(), 1);
  clock.advance(60_000);
  mock.fail("*", { kind: "status", status: 401 });
  await assertRejects(() => clients.verify(own));
  await clients.verify(own);
  assertEquals(asked(), 3);
  clients.destroy();
});

function ownConfig({ config: { key, accountId } }: MemMock) {
  return { key, accountId };
}
