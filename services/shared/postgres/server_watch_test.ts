import { assertEquals, assertThrows } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import {
  PostgresServer,
  sharedPostgres,
} from "../../../tests/support/postgres_server.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { serviceTest } from "../../../tests/support/services.ts";
import { StoreFailedError } from "../store_failed.ts";
import { type ServerIdentity, ServerWatch } from "./server_watch.ts";

const FIRST: ServerIdentity = {
  isStandby: false,
  system: "7",
  timeline: 1,
  started: "2027-01-15 08:00:00+00",
};

function makeWatch() {
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  return { clock, logger, watch: new ServerWatch({ clock, logger }) };
}

Deno.test("ServerWatch counts from when another server takes over", () => {
  for (
    const other of [
      { timeline: 2 },
      { started: "2027-01-15 08:10:00+00" },
      { system: "8" },
    ]
  ) {
    const { clock, logger, watch } = makeWatch();
    watch.see(FIRST);
    assertEquals(watch.msSinceChange(), Infinity);
    clock.advance(60_000);
    watch.see({ ...FIRST, ...other });
    clock.advance(3_000);
    watch.see({ ...FIRST, ...other });
    assertEquals([watch.msSinceChange(), logger.lines.length], [3_000, 1]);
  }
});

Deno.test("ServerWatch takes a first server that was promoted for a new one", () => {
  const { clock, watch } = makeWatch();
  watch.see({ ...FIRST, timeline: 3 });
  clock.advance(1_000);
  assertEquals(watch.msSinceChange(), 1_000);
});

Deno.test("ServerWatch refuses a standby and a primary of before", () => {
  const { watch } = makeWatch();
  assertThrows(
    () => watch.see({ ...FIRST, isStandby: true, timeline: undefined }),
    StoreFailedError,
    "standby",
  );
  watch.see({ ...FIRST, timeline: 2 });
  assertThrows(() => watch.see(FIRST), StoreFailedError, "old primary");
  watch.see({ ...FIRST, timeline: 2 });
});

const server = sharedPostgres();

serviceTest(["postgres"], {
  name: "Session.identify() tells a server from its later life",
  fn: async () => {
    const own = new PostgresServer();
    await own.start();
    try {
      const identify = async () => {
        const session = await own.session();
        const identity = await session.identify();
        await session.close();
        return identity;
      };
      const before = await identify();
      assertEquals(await identify(), before);
      assertEquals([before.isStandby, before.timeline], [false, 1]);
      await own.end("SIGINT");
      await own.start();
      const after = await identify();
      assertEquals({ ...after, started: before.started }, before);
      assertEquals(after.started === before.started, false);
    } finally {
      await own.stop();
    }
  },
});

serviceTest(["postgres"], {
  name: "Session.identify() needs no rights, and little of the server",
  fn: async () => {
    await server.sql("CREATE ROLE poor LOGIN");
    const session = await server.session({ user: "poor" });
    try {
      assertEquals((await session.identify()).timeline, 1);
      await server.sql(
        "REVOKE EXECUTE ON FUNCTION pg_control_system FROM PUBLIC",
      );
      const { started, ...identity } = await session.identify();
      assertEquals(identity, {
        isStandby: false,
        system: undefined,
        timeline: undefined,
      });
      assertEquals(/^\d{4}-/.test(started), true);
    } finally {
      await session.close();
      await server.sql("GRANT EXECUTE ON FUNCTION pg_control_system TO PUBLIC");
      await server.sql("DROP ROLE poor");
    }
  },
});
