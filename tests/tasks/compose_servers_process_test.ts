import { assertEquals, assertStringIncludes } from "@std/assert";
import { ComposeServers } from "../support/compose_servers.ts";
import { serviceTest } from "../support/services.ts";
import { waitUntil } from "../support/wait_until.ts";

serviceTest(["postgres"], {
  name:
    "the servers of the compose file confirm each other's commits, change places, and are never two primaries",
  async fn() {
    await using servers = await ComposeServers.make("tasks");
    await servers.start("postgres2");
    await servers.start("postgres1");
    await servers.healthy("postgres1");
    await servers.healthy("postgres2");
    // Answered, since the other server confirms it.
    await servers.sql("postgres1", "create table kept as select 7 as value");
    assertEquals(
      await servers.sql(
        "postgres1",
        "select application_name, sync_state, slot_name " +
          "from pg_stat_replication, pg_replication_slots where active",
      ),
      [{
        application_name: "postgres2",
        sync_state: "quorum",
        slot_name: "postgres2",
      }],
    );

    assertEquals((await servers.end("postgres1", "SIGINT")).code, 0);
    assertEquals(
      await servers.exec("postgres2", [
        ...["psql", "--dbname", "postgres"],
        ...["--command", "select pg_promote()"],
      ]),
      true,
    );
    const refusals = [
      [undefined, "postgres1 as the primary"],
      ["postgres2", "postgres1 as a standby: its data are of a primary"],
    ] as const;
    for (const [primary, reason] of refusals) {
      await servers.start("postgres1", primary);
      const { code, said } = await servers.end("postgres1");
      assertEquals(code, 1, said);
      assertStringIncludes(said, reason);
    }
    await servers.removeVolume("postgres1");
    await servers.start("postgres1");
    const { code, said } = await servers.end("postgres1");
    assertEquals(code, 1, said);
    assertStringIncludes(said, "postgres1 as an empty primary");

    await servers.start("postgres1", "postgres2");
    await servers.healthy("postgres1");
    await waitUntil(async () => {
      const rows = await servers.sql(
        "postgres2",
        "select from " +
          "pg_stat_replication where sync_state = 'quorum'",
      );
      return rows.length === 1;
    }, { what: "postgres1 to follow" });
    await servers.sql("postgres2", "update kept set value = value + 1");
    assertEquals(
      await servers.sql("postgres2", "select value from kept"),
      [{ value: 8 }],
    );
  },
});
