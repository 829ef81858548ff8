import { assertEquals } from "@std/assert";
import { sharedPostgres } from "./postgres_server.ts";
import { serviceTest } from "./services.ts";

const server = sharedPostgres();

serviceTest(["postgres"], {
  name: "PostgresServer.sql() answers",
  fn: async () => {
    assertEquals(await server.sql("SELECT 1 AS one"), [{ one: 1 }]);
  },
});
