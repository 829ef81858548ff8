import { assertEquals } from "@std/assert";
import { createClient } from "npm:redis@^6.3.0";
import {
  openRedisClient,
  replies,
} from "../../services/ratelimit/counters/kvstore/redis/client.ts";
import type { RedisCommand } from "../../services/ratelimit/counters/kvstore/redis/command_writer.ts";
import type { RedisReply } from "../../services/ratelimit/counters/kvstore/redis/reply.ts";
import { systemClock } from "../../services/shared/clock.ts";
import { startRedisServer } from "../support/redis_server.ts";
import { serviceTest } from "../support/services.ts";

const LARGE = "ß€".repeat(200_000);

/** Commands whose replies cover every form of a server's reply. */
const COMMANDS: readonly RedisCommand[] = [
  ["PING"],
  ["SET", "text", "ü\r\n:1\r\n"],
  ["GET", "text"],
  ["GET", "none"],
  ["SET", "large", LARGE],
  ["GET", "large"],
  ["STRLEN", "large"],
  ["INCRBY", "count", "9007199254740000"],
  ["INCRBY", "count", "1"],
  ["DECRBY", "less", "17"],
  ["EXPIRE", "count", "60"],
  ["MGET", "text", "none", "less"],
  ["LRANGE", "none", "0", "-1"],
  ["BLPOP", "none", "0.001"],
  ["RPUSH", "list", ...Array.from({ length: 5_000 }, (_, i) => `item ${i}`)],
  ["LRANGE", "list", "0", "-1"],
  ["EVAL", "return {1, {'a', false, {}}, redis.status_reply('fine')}", "0"],
  ["COMMAND", "DOCS", "GET"],
];

serviceTest(["redis-server"], {
  name:
    "RedisClient has the replies that the client of the `redis` package has",
  fn: async () => {
    const server = await startRedisServer();
    const other = createClient({
      RESP: 2,
      socket: { host: server.host, port: server.port },
    });
    await other.connect();
    const own = openRedisClient({
      address: { kind: "tcp", host: server.host, port: server.port },
      clock: systemClock,
      onError: (error) => {
        throw error;
      },
    });
    await own.connect();
    const received = await replies(own, COMMANDS);
    await other.flushAll();
    const expected: RedisReply[] = [];
    for (const command of COMMANDS) {
      expected.push(await other.sendCommand<RedisReply>([...command]));
    }
    assertEquals(received, expected);

    await server.ask("SET", "word", "no number");
    const refused = await replies(own, [["INCRBY", "word", "1"], ["WHAT"]]);
    for (const [i, command] of [["INCRBY", "word", "1"], ["WHAT"]].entries()) {
      const error = await other.sendCommand(command).catch((thrown) => thrown);
      assertEquals(refused[i], { refusal: error.message });
    }
    own.destroy();
    other.destroy();
    await server.stop();
  },
});
