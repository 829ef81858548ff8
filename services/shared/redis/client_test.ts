import { assert, assertEquals, assertRejects } from "@std/assert";
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
    timeoutMs: 60_000,
    onError: () => {},
  });
  const begun = performance.now();
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
  assert(performance.now() - begun < 5_000);
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

Deno.test("openRedisClient() makes clients of many servers quickly", () => {
  function makeClients(count: number): void {
    for (let port = 1; port <= count; port++) {
      openRedisClient({
        address: { kind: "tcp", host: HOST, port },
        timeoutMs: 1_000,
        onError: () => {},
      }).destroy();
    }
  }
  makeClients(1);
  const begun = performance.now();
  makeClients(50);
  // A class for each of them takes two seconds and more.
  const tookMs = performance.now() - begun;
  assert(tookMs < 500, `${tookMs} ms`);
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
