import { assert, assertEquals } from "@std/assert";
import { startPgBouncer } from "../../../tests/support/pgbouncer.ts";
import {
  makeTestPool,
  PostgresServer,
  sharedPostgres,
} from "../../../tests/support/postgres_server.ts";
import { serviceTest } from "../../../tests/support/services.ts";
import { waitUntil } from "../../../tests/support/wait_until.ts";
import { type Clock, systemClock } from "../clock.ts";
import {
  bundle,
  Notifications,
  type NotificationsOptions,
} from "./notifications.ts";

const server = sharedPostgres();

interface Heard {
  readonly notifications: Notifications;
  readonly notices: unknown[];
  gaps: number;
}

async function withInstances(
  count: number,
  use: (instances: readonly Heard[], channel: string) => Promise<void>,
  { of = server, clock = systemClock, ...options }:
    & { readonly of?: PostgresServer }
    & Partial<
      Pick<NotificationsOptions, "clock" | "maxWaiting" | "bundleMs">
    > = {},
): Promise<void> {
  const channel = server.nextSchema();
  const { pool, watch, logger } = makeTestPool(of.connection());
  const instances = Array.from({ length: count }, (_, at): Heard => {
    const notices: unknown[] = [];
    const heard: Heard = {
      notices,
      gaps: 0,
      notifications: new Notifications({
        connection: of.connection(),
        runner: pool,
        watch,
        channel,
        instanceId: `instance ${at}`,
        clock,
        logger,
        ...options,
        onNotice: (notice) => notices.push(notice),
        onGap: () => heard.gaps++,
      }),
    };
    heard.notifications.start();
    return heard;
  });
  try {
    await waitUntil(() => instances.every(({ gaps }) => gaps === 1), {
      what: "all to listen",
    });
    await use(instances, channel);
  } finally {
    await Promise.all(instances.map((one) => one.notifications.stop()));
    await pool.close();
  }
}

serviceTest(["postgres"], {
  name: "Notifications.tell() reaches all others once and in order, not itself",
  fn: () =>
    withInstances(3, async ([first, second, third]) => {
      assert(first && second && third);
      const told = Array.from({ length: 300 }, (_, n) => ({
        kind: "due",
        workerId: `wörker ${n} ${"x".repeat(50)}`,
      }));
      for (const notice of [...told, ...told]) first.notifications.tell(notice);
      second.notifications.tell({ kind: "done" });
      await waitUntil(
        () => third.notices.length === 301 && second.notices.length === 300,
        { what: "the notices" },
      );
      assertEquals(second.notices, told);
      await waitUntil(() => first.notices.length > 0, { what: "the other" });
      assertEquals(first.notices, [{ kind: "done" }]);
    }),
});

serviceTest(["postgres"], {
  name: "Notifications.tell() gathers only what comes soon after others",
  fn: () => seeGathering({ before: 1, longestMs: 600_000 }),
});

serviceTest(["postgres"], {
  name: "Notifications.tell() gathers for longer when notices come fast",
  fn: () => seeGathering({ before: 5, longestMs: 1_500_000 }),
});

/** Tells notices at once, and then one that has to wait. */
async function seeGathering(
  { before, longestMs }: {
    readonly before: number;
    readonly longestMs: number;
  },
): Promise<void> {
  const delaysMs: number[] = [];
  const clock: Clock = {
    ...systemClock,
    setTimer(callback, delayMs) {
      delaysMs.push(delayMs);
      return systemClock.setTimer(callback, delayMs);
    },
  };
  // Longer than a test may wait.
  const bundleMs = 600_000;
  await withInstances(2, async ([first, second]) => {
    assert(first && second);
    for (let n = 0; n < before; n++) first.notifications.tell(n);
    await waitUntil(() => second.notices.length === before, {
      what: "the notices",
    });
    first.notifications.tell("gathered");
    const hasWait = (): boolean =>
      delaysMs.some((delayMs) =>
        delayMs > longestMs - bundleMs / 2 && delayMs <= longestMs
      );
    await waitUntil(hasWait, { what: "a notice that waits" });
    assertEquals(second.notices.length, before);
  }, { clock, bundleMs });
}

serviceTest(["postgres"], {
  name: "Notifications keep the newest when too many wait",
  fn: () =>
    withInstances(2, async ([first, second]) => {
      assert(first && second);
      for (let n = 0; n < 10; n++) first.notifications.tell(n);
      await waitUntil(() => second.notices.length > 0, { what: "the notices" });
      assertEquals(second.notices, [7, 8, 9]);
    }, { maxWaiting: 3 }),
});

serviceTest(["postgres"], {
  name: "Notifications listen again after a break and say that there was one",
  fn: async () => {
    const own = new PostgresServer();
    await own.start();
    try {
      await withInstances(2, async ([first, second]) => {
        assert(first && second);
        await own.end("SIGKILL");
        first.notifications.tell("kept until it listens again");
        await own.start();
        await waitUntil(() => first.gaps === 2 && second.gaps === 2, {
          what: "both to listen again",
        });
        first.notifications.tell("later");
        await waitUntil(() => second.notices.includes("later"), {
          what: "the notice",
        });
      }, { of: own });
    } finally {
      await own.stop();
    }
  },
});

serviceTest(["postgres"], {
  name: "Notifications go on when somebody else notifies nonsense",
  fn: () =>
    withInstances(1, async ([one], channel) => {
      assert(one);
      await server.sql(`SELECT pg_notify('${channel}', E'x\\n{\\n"good"')`);
      await waitUntil(() => one.notices.length > 0, { what: "the notice" });
      assertEquals([one.notices, one.gaps], [["good"], 1]);
    }),
});

Deno.test("bundle() fills payloads up to PostgreSQL's limit", () => {
  const bytesOf = (text: string) => new TextEncoder().encode(text).length;
  const texts = Array.from({ length: 500 }, (_, n) => `"ä${"b".repeat(n)}"`);
  const payloads = bundle("me", [...texts, `"${"c".repeat(8_000)}"`]);
  assertEquals(
    payloads.flatMap((payload) => payload.split("\n").slice(1)),
    texts,
  );
  assert(payloads.every((payload) => payload.startsWith("me\n")));
  assert(payloads.every((payload) => bytesOf(payload) < 8_000));
  assertEquals(bundle("me", [`"${"c".repeat(7_994)}"`]).length, 1);
  assertEquals(bundle("me", [`"${"c".repeat(7_995)}"`]), []);
  assertEquals(bundle("me", []), []);
});

serviceTest(["postgres", "pgbouncer"], {
  name: "Notifications say that they hear nothing behind PgBouncer",
  fn: async () => {
    const bouncer = await startPgBouncer(server, { poolSize: 2 });
    const { pool, watch, logger } = makeTestPool(bouncer.connection, {
      prepare: false,
    });
    const notifications = new Notifications({
      connection: bouncer.connection,
      runner: pool,
      watch,
      channel: server.nextSchema(),
      instanceId: "me",
      clock: systemClock,
      logger,
      onNotice: () => {},
      onGap: () => {},
    });
    try {
      notifications.start();
      await waitUntil(
        () =>
          logger.lines.some(({ message }) => message.includes("Cannot hear")),
        { what: "the warning" },
      );
    } finally {
      await notifications.stop();
      await pool.close();
      await bouncer.stop();
    }
  },
});
