import { assert, assertEquals } from "@std/assert";
import { freePort, startRedisServer } from "./redis_server.ts";
import { serviceTest } from "./services.ts";

serviceTest(["redis-server"], {
  name: "RedisServer answers on its port and its socket until it is stopped",
  fn: async () => {
    const server = await startRedisServer();
    assertEquals(await server.ask("PING"), "PONG");
    assert((await Deno.stat(server.socketPath)).isSocket);
    await server.stop();
    await server.stop();
    assertEquals(await server.ask("PING"), "");
    assertEquals(await exists(server.socketPath), false);
  },
});

serviceTest(["redis-server"], {
  name: "RedisServer.restart() keeps the port and loses the data",
  fn: async () => {
    const server = await startRedisServer({ port: freePort() });
    const { port } = server;
    await server.ask("SET", "a", "1");
    await server.restart();
    assertEquals(server.port, port);
    assertEquals(await server.ask("GET", "a"), "");
    await server.stop();
  },
});

serviceTest(["redis-server"], {
  name: "RedisServer.stop() ends a server that is paused",
  fn: async () => {
    const server = await startRedisServer();
    server.pause();
    await server.stop();
    assertEquals(await server.ask("PING"), "");
  },
});

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch {
    return false;
  }
}
