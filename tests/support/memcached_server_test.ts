import { assert, assertEquals } from "@std/assert";
import { MemcachedServer, startMemcachedServer } from "./memcached_server.ts";
import { freePort } from "./redis_server.ts";
import { serviceTest } from "./services.ts";

serviceTest(["memcached"], {
  name: "MemcachedServer answers until it is stopped",
  fn: async () => {
    const server = await startMemcachedServer();
    assertEquals(await server.command("set a 0 0 1\r\nx"), "STORED\r\n");
    assertEquals(await server.command("get a"), "VALUE a 0 1\r\nx\r\nEND\r\n");
    assertEquals(await server.stat("curr_items"), 1);
    server.pause();
    await server.stop();
    await server.stop();
    assertEquals(await answers(server), false);
  },
});

serviceTest(["memcached"], {
  name: "MemcachedServer.restart() keeps the port and loses the data",
  fn: async () => {
    const port = freePort();
    const server = await startMemcachedServer({ port });
    await server.command("set a 0 0 1\r\nx");
    await server.restart();
    assertEquals(server.port, port);
    assertEquals(await server.command("get a"), "END\r\n");
    await server.stop();
  },
});

serviceTest(["memcached"], {
  name: "MemcachedServer.start() says that the port is taken",
  fn: async () => {
    const server = await startMemcachedServer();
    let message = "";
    try {
      await new MemcachedServer({ port: server.port }).start();
    } catch (error) {
      message = String(error);
    }
    assert(message.includes(String(server.port)), message);
    await server.stop();
  },
});

async function answers(server: MemcachedServer): Promise<boolean> {
  try {
    return (await server.command("version")) !== "";
  } catch {
    return false;
  }
}
