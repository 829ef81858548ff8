import { assertEquals, assertRejects } from "@std/assert";
import { createClient } from "redis";
import { assertGrowth } from "../../../../../tests/support/growth.ts";
import { isRedisErrorReply, openRedisClient } from "./client.ts";

const HOST = "127.0.0.1";

Deno.test("RedisClient.destroy() ends a dial that hangs", async () => {
  // With its queue of two full and nobody accepting, the third dial hangs.
  const listener = Deno.listen({ hostname: HOST, port: 0, tcpBacklog: 1 });
  const { port } = listener.addr;
  const fillers = [
    await Deno.connect({ hostname: HOST, port }),
    await Deno.connect({ hostname: HOST, port }),
  ];
  const client = openRedisClient({
    address: { kind: "tcp", host: HOST, port },
    timeoutMs: 3_600_000,
    onError: () => {},
  });
  const dialled = client.connect();
  let isDone = false;
  dialled.then(() => isDone = true, () => isDone = true);
  // A round of the loop lets the dial begin, and would let it succeed.
  const round = await Deno.connect({ hostname: HOST, port: greetOnce() });
  await round.read(new Uint8Array(1));
  round.close();
  assertEquals(isDone, false);
  client.destroy();
  await assertRejects(() => dialled);
  for (const filler of fillers) filler.close();
  listener.close();
});

Deno.test("RedisClient.connect() fails when nobody listens", async () => {
  const listener = Deno.listen({ hostname: HOST, port: 0 });
  const { port } = listener.addr;
  listener.close();
  const client = openRedisClient({
    address: { kind: "tcp", host: HOST, port },
    timeoutMs: 5_000,
    onError: () => {},
  });
  const error = await assertRejects(() => client.connect());
  assertEquals(isRedisErrorReply(error), false);
  client.destroy();
  client.destroy();
});

Deno.test("openRedisClient() makes clients of many servers, and no class for each", async () => {
  let port = 0;
  await assertGrowth({
    // The package makes a class for options that it has not seen last.
    small: () => createClient({ socket: { port: ++port } }).destroy(),
    large: () => {
      for (let count = 0; count < 20; count++) {
        openRedisClient({
          address: { kind: "tcp", host: HOST, port: ++port },
          timeoutMs: 1_000,
          onError: () => {},
        }).destroy();
      }
    },
    atMost: 4,
    runs: 3,
  });
});

/** A port that greets one connection with one byte. */
function greetOnce(): number {
  const listener = Deno.listen({ hostname: HOST, port: 0 });
  listener.accept().then(async (connection) => {
    await connection.write(new Uint8Array(1));
    connection.close();
    listener.close();
  });
  return listener.addr.port;
}
