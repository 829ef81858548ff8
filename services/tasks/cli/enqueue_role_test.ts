import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { serviceTest } from "../../../tests/support/services.ts";
import { TEST_SERVER } from "../store/postgres/testing/postgres_subject.ts";
import {
  type InboxBed,
  openInboxBed,
} from "../routes/tasks/testing/inbox_bed.ts";
import { runEnqueueRole } from "./enqueue_role.ts";
import { readDataSettings } from "./testing/data_settings.ts";

/** Runs the command as a role, and returns what it wrote. */
async function run(
  { subject: { schema } }: Pick<InboxBed, "subject">,
  args: readonly string[],
  { as = "postgres" }: { readonly as?: string } = {},
): Promise<{ readonly code: number; readonly text: string }> {
  const lines: string[] = [];
  const take = (text: string): void => void lines.push(text);
  const code = await runEnqueueRole(args, {
    io: { out: take, err: take },
    settings: readDataSettings({
      STORE: "postgres",
      DATABASE_URL: TEST_SERVER.url.replace("postgres:@", `${as}@`),
      DATABASE_SCHEMA: schema,
    }),
  });
  return { code, text: lines.join("\n") };
}

serviceTest(["postgres"], {
  name:
    "runEnqueueRole() lets a role enqueue for one tenant, lists it, and removes it",
  async fn() {
    const bed = await openInboxBed();
    const { schema } = bed.subject;
    await bed.api.addTenant("globex");
    const role = await bed.addRole();
    const session = await TEST_SERVER.session({ user: role });
    const enqueue = () =>
      session.query(`SELECT ${schema}.enqueue('mailer', '1') AS id`);
    await assertRejects(enqueue, Error, "permission denied for schema");
    assertEquals(await run(bed, [role, "--tenant", "ACME"]), {
      code: 0,
      text: `The role "${role}" may enqueue tasks of "ACME"`,
    });
    await enqueue();
    // Mapping a mapped role again changes nothing.
    assertEquals(
      JSON.parse((await run(bed, [role, "--tenant=acme", "--json"])).text),
      { schema, role, domain: "acme", sql: [] },
    );
    assertStringIncludes(
      (await run(bed, [role, "--tenant", "globex"])).text,
      "it does so for another tenant",
    );
    assertEquals(JSON.parse((await run(bed, ["--json"])).text), {
      schema,
      roles: [{ role: bed.role, domain: "acme" }, { role, domain: "acme" }],
    });
    assertEquals((await run(bed, [role, "--remove"])).code, 0);
    await assertRejects(enqueue, Error, "permission denied");
    assertEquals((await run(bed, [role, "--remove"])).code, 1);
    await session.close();
    // Nothing of it is left that would keep it from being dropped.
    await bed.drain();
    assertEquals(await bed.data(), [1]);
    await bed.close();
  },
});

serviceTest(["postgres"], {
  name:
    "runEnqueueRole() prints what the owner of the tables has to run if the role may not",
  async fn() {
    const bed = await openInboxBed();
    const { schema } = bed.subject;
    const service = await bed.addRole();
    const role = await bed.addRole();
    await TEST_SERVER.sql(
      `GRANT USAGE ON SCHEMA ${schema} TO ${service}; GRANT SELECT, INSERT, ` +
        `UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${service}`,
    );
    const { code, text } = await run(bed, [role, "--tenant", "acme"], {
      as: service,
    });
    assertEquals(code, 0);
    const [first, second, ...statements] = text.split("\n");
    assertEquals([first, second], [
      `The role "${role}" may enqueue tasks of "acme"`,
      "The owner of the tables still has to run:",
    ]);
    await TEST_SERVER.sql(statements.join("\n"));
    const session = await TEST_SERVER.session({ user: role });
    await session.query(`SELECT ${schema}.enqueue('mailer', '1')`);
    await session.close();
    const removed = await run(bed, [role, "--remove", "--json"], {
      as: service,
    });
    const { sql } = JSON.parse(removed.text);
    await TEST_SERVER.sql(sql.join(";"));
    await TEST_SERVER.sql(`DROP OWNED BY ${service}`);
    await bed.close();
  },
});

serviceTest(["postgres"], {
  name: "runEnqueueRole() refuses what is wrong",
  async fn() {
    const bed = await openInboxBed();
    const role = await bed.addRole();
    for (
      const [args, code, text] of [
        [["stranger", "--tenant=acme"], 1, "the database has no such role"],
        [[role, "--tenant=none"], 1, "there is no tenant with the domain"],
        [["postgres", "--tenant=acme"], 1, "it is the role of the service"],
        [[role], 2, "--tenant or --remove is missing"],
        [["--remove"], 2, "ROLE is missing"],
        [[role, "--remove", "--tenant=acme"], 2, "exclude each other"],
      ] as const
    ) {
      const ran = await run(bed, args);
      assertEquals(ran.code, code, ran.text);
      assertStringIncludes(ran.text, text);
    }
    await bed.close();
    const lines: string[] = [];
    const take = (line: string): void => void lines.push(line);
    const settings = readDataSettings({});
    const io = { out: take, err: take };
    assertEquals(await runEnqueueRole([], { io, settings }), 1);
    assertStringIncludes(lines.join(), "STORE is sqlite");
  },
});
