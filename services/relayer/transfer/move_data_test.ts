import { assert, assertEquals, assertMatch } from "@std/assert";
import { serviceTest } from "../../../tests/support/services.ts";
import { TEST_SERVER } from "../store/postgres/testing/postgres_subject.ts";
import { BOB, SAMPLE_MS, sampleJob } from "../store/testing/sample_rows.ts";
import { runMigrate } from "../../shared/postgres/migrate_command.ts";
import { migrationPlan } from "../store/postgres/migrations.ts";
import { MOVED_TABLES } from "./moved_tables.ts";
import { parseRow } from "./row_lines.ts";
import {
  demandOpened,
  describeData,
  filled,
  linesOf,
  LONG,
  MARK,
  MASTER_SECRET,
  move,
  runCommand,
  settingsOf,
  withData,
  withFolders,
  withSchema,
} from "./testing/moved_world.ts";

for (const seed of [1, 2, 3]) {
  serviceTest(["postgres"], {
    name:
      `runImport() gives PostgreSQL and then SQLite all that SQLite had, seed ${seed}`,
    fn: () =>
      withSchema(async ({ folder, at, schema }) => {
        const { described } = await filled(
          at("one"),
          seed,
          seed === 1 ? LONG : 20,
        );
        demandOpened(described);
        await Deno.mkdir(`${folder}/ledger`);
        await move(at("one"), `${folder}/first`, schema);
        assertEquals(await withData(schema, describeData), described);
        await move(schema, `${folder}/second`, at("two"));
        assertEquals(await withData(at("two"), describeData), described);
        assertEquals(
          await linesOf(`${folder}/second`),
          await linesOf(`${folder}/first`),
        );
      }),
  });
}

serviceTest(["postgres"], {
  name: "runImport() gives SQLite all that PostgreSQL had",
  fn: () =>
    withSchema(async ({ folder, at, schema }) => {
      const { described } = await filled(schema, 4, LONG);
      demandOpened(described);
      await move(schema, `${folder}/file`, at("one"));
      assertEquals(await withData(at("one"), describeData), described);
    }),
});

Deno.test("runExport() writes no text, no key and no master key", async () => {
  await withFolders(async ({ folder, at }) => {
    const { secrets } = await filled(at("one"));
    const file = `${folder}/file`;
    assertEquals((await runCommand("export", [file], at("one"))).code, 0);
    assertEquals((await Deno.stat(file)).mode! & 0o777, 0o600);
    const text = await Deno.readTextFile(file);
    const marks = [new TextEncoder().encode(MARK), MASTER_SECRET];
    let found = 0;
    let values = 0;
    let table = MOVED_TABLES[0];
    for (const line of await linesOf(file)) {
      if (!line.startsWith("[")) {
        const { name } = JSON.parse(line);
        table = MOVED_TABLES.find((one) => one.name === name) ??
          { ...MOVED_TABLES[0]!, columns: { id: "text", bytes: "bytes" } };
        continue;
      }
      for (const value of parseRow(line, table!)) {
        if (!(value instanceof Uint8Array)) continue;
        values++;
        const hex = value.toHex();
        for (const secret of [...marks, ...secrets.bytes]) {
          if (hex.includes(secret.toHex())) found++;
        }
      }
    }
    assert(values > 50);
    assertEquals(found, 0);
    assert(!text.includes(MARK));
    for (const secret of [...marks, ...secrets.bytes]) {
      assert(!text.includes(secret.toHex()));
      assert(!text.includes(secret.toBase64().replace(/=+$/, "")));
    }
  });
});

Deno.test("runImport() writes nothing unless the master keys open the root keys", async () => {
  await withFolders(async ({ folder, at }) => {
    await filled(at("one"));
    const file = `${folder}/file`;
    await runCommand("export", [file], at("one"));
    const other = {
      ...at("two"),
      MASTER_KEYS: `other:${MASTER_SECRET.toReversed().toBase64()}`,
    };
    const refused = await runCommand("import", [file], other);
    assertEquals(refused.code, 1);
    assertMatch(refused.err, /needs the master key "first"/);
    const none = await runCommand("import", [file], {
      DATA_DIR: at("two")["DATA_DIR"] ?? "",
    });
    assertMatch(none.err, /no file ".*master\.key"/);
    // Nothing keeps a relayer with another key from starting there.
    await withData(other, async ({ store }) => {
      assertEquals(await store.memoryCount(), 0);
    });
  });
});

serviceTest(["postgres"], {
  name:
    "runImport() keeps relayers from a part of the rows, and goes on where it ended",
  fn: () =>
    withSchema(async ({ folder, at, schema }) => {
      const { described } = await filled(at("one"));
      await Deno.mkdir(`${folder}/ledger`);
      const [file, cut] = [`${folder}/file`, `${folder}/cut`];
      await runCommand("export", [file], at("one"));
      const lines = (await Deno.readTextFile(file)).split("\n");
      const tombstones = lines.findIndex((line) =>
        line.includes('"name":"tombstones"')
      );
      await Deno.writeTextFile(
        cut,
        lines.slice(0, tombstones + 1).join("\n") + "\n",
      );
      for (const to of [schema, at("two")]) {
        const ended = await runCommand("import", [cut], to);
        assertEquals(ended.code, 1);
        assertMatch(ended.err, /was cut off after line/);
        const started = await Promise.allSettled([
          withData(to, () => Promise.resolve()),
        ]);
        assertMatch(
          String(started[0].status === "rejected" && started[0].reason),
          /an import to this store has not ended/,
        );
        const exported = await runCommand("export", [`${folder}/no`], to);
        assertMatch(exported.err, /an import to it has not ended/);
        const again = await runCommand("import", [file], to);
        assertEquals(again.code, 0, again.err);
        assertEquals(await withData(to, describeData), described);
      }
    }),
});

serviceTest(["postgres"], {
  name: "runImport() tells what differs and keeps relayers from the store",
  fn: () =>
    withSchema(async ({ folder, at, schema }) => {
      await filled(at("one"));
      await Deno.mkdir(`${folder}/ledger`);
      const [first, second] = [`${folder}/first`, `${folder}/second`];
      await runCommand("export", [first], at("one"));
      const text = await Deno.readTextFile(first);
      // All rows, but no last line.
      await Deno.writeTextFile(first, text.slice(0, text.lastIndexOf("\n{")));
      const described = await withData(at("one"), async (data) => {
        const id = "text-1";
        await data.store.commit([{ kind: "remove_memory", owner: BOB, id }]);
        return await describeData(data);
      });
      await runCommand("export", [second], at("one"));
      for (const to of [schema, at("two")]) {
        assertEquals((await runCommand("import", [first], to)).code, 1);
        const differs = await runCommand("import", [second, "--json"], to);
        assertEquals(differs.code, 1);
        const { differences } = JSON.parse(differs.out);
        assert(differences.includes("namespaces has other rows"));
        assert(
          differences.some((one: string) =>
            /^memories has \d+ rows and not \d+$/.test(one)
          ),
        );
        const started = await Promise.allSettled([
          withData(to, () => Promise.resolve()),
        ]);
        assertEquals(started[0].status, "rejected");
        const again = await runCommand("import", [second, "--replace"], to);
        assertEquals(again.code, 0, again.err);
        assertEquals(await withData(to, describeData), described);
      }
    }),
});

serviceTest(["postgres"], {
  name: "runImport() refuses a store with rows, unless it is to replace them",
  fn: () =>
    withSchema(async ({ folder, at, schema }) => {
      const { described } = await filled(at("one"), 1);
      await filled(schema, 2);
      await filled(at("two"), 3);
      const file = `${folder}/file`;
      await runCommand("export", [file], at("one"));
      for (const to of [schema, at("two")]) {
        const before = await withData(to, describeData);
        const refused = await runCommand("import", [file], to);
        assertEquals(refused.code, 1);
        assertMatch(refused.err, /has rows of roots, .* already/);
        assertEquals(await withData(to, describeData), before);
        const replaced = await runCommand("import", [file, "--replace"], to);
        assertEquals(replaced.code, 0, replaced.err);
        assertEquals(await withData(to, describeData), described);
      }
    }),
});

serviceTest(["postgres"], {
  name: "runExport() and runImport() refuse data that a relayer uses",
  fn: () =>
    withSchema(async ({ folder, at, schema }) => {
      await filled(at("one"));
      await filled(schema);
      const file = `${folder}/file`;
      await runCommand("export", [file], at("one"));
      await withData(at("one"), async () => {
        for (const command of ["export", "import"] as const) {
          const path = command === "export" ? `${folder}/no` : file;
          const refused = await runCommand(command, [path], at("one"));
          assertEquals(refused.code, 1);
          assertMatch(refused.err, /another process has it/);
        }
      });
      await withData(schema, async ({ store }) => {
        const beat = { id: "one", version: "", address: "", wants: [] };
        await store.beat({ ...beat, sinceLastMs: undefined });
        for (const command of ["export", "import"] as const) {
          const path = command === "export" ? `${folder}/no` : file;
          const refused = await runCommand(command, [path], schema);
          assertEquals(refused.code, 1);
          assertMatch(refused.err, /1 instances of the service use it/);
        }
        await store.leave("one");
      });
    }),
});

serviceTest(["postgres"], {
  name: "runImport() needs no more than what `relayer migrate` gives a role",
  fn: () =>
    withSchema(async ({ folder, at, schema }) => {
      const { described } = await filled(at("one"));
      await Deno.mkdir(`${folder}/ledger`);
      const file = `${folder}/file`;
      await runCommand("export", [file], at("one"));
      const role = `poor_${schema["DATABASE_SCHEMA"]}`;
      await TEST_SERVER.sql(`CREATE ROLE ${role} LOGIN`);
      const url = TEST_SERVER.url.replace("postgres:@", `${role}@`);
      const poor = { ...schema, DATABASE_URL: url };
      try {
        const refused = await runCommand("import", [file], poor);
        assertMatch(refused.err, /`relayer migrate --print` prints/);
        const lines: string[] = [];
        const take = (text: string): void => void lines.push(text);
        const code = await runMigrate(["--print"], {
          ...{ io: { out: take, err: take }, service: "relayer" },
          ...{ settings: settingsOf(poor), plan: migrationPlan },
        });
        assertEquals(code, 0);
        await TEST_SERVER.sql(lines.join("\n"));
        const imported = await runCommand("import", [file], poor);
        assertEquals([imported.code, imported.err], [0, ""]);
        await withData(poor, async (data) => {
          assertEquals(await describeData(data), described);
          // Later jobs come after those that were moved.
          const nextAttemptAtMs = 1;
          const job = sampleJob({ id: "later", nextAttemptAtMs });
          await data.store.commit([{ kind: "new_job", job }]);
          const beat = { id: "one", version: "", address: "", wants: [] };
          await data.store.beat({ ...beat, sinceLastMs: undefined });
          const due = await data.store.leaseJobs({
            ...{ nowMs: 1, limit: 9, instance: "one", leaseMs: 1_000 },
          });
          assertEquals(
            due.map(({ id }) => id),
            ["long-0", "long-1", "long-2", "later"],
          );
          await data.store.leave("one");
        });
      } finally {
        await TEST_SERVER.sql(
          `DROP SCHEMA ${schema["DATABASE_SCHEMA"]} CASCADE; DROP ROLE ${role}`,
        );
      }
    }),
});

serviceTest(["postgres"], {
  name: "runExport() makes nothing where there is nothing",
  fn: () =>
    withSchema(async ({ folder, at, schema }) => {
      const [file, kept] = [`${folder}/file`, `${folder}/ledger`];
      await Deno.mkdir(kept);
      const none = await runCommand("export", [file], schema);
      assertEquals(none.code, 1);
      assertMatch(none.err, /it has no tables/);
      const nowhere = await runCommand("export", [file], at("none"));
      assertMatch(nowhere.err, /there is no relayer\.db/);
      const names = await Array.fromAsync(Deno.readDir(folder));
      assertEquals(names.map(({ name }) => name), ["ledger"]);
      assertEquals(await Array.fromAsync(Deno.readDir(kept)), []);
    }),
});

Deno.test("runImport() notices a file that was cut or changed", async () => {
  await withFolders(async ({ folder, at }) => {
    await filled(at("one"));
    const file = `${folder}/file`;
    await runCommand("export", [file], at("one"));
    const lines = (await Deno.readTextFile(file)).trimEnd().split("\n");
    const memory = lines.findIndex((line) =>
      line.includes('"name":"memories"')
    ) + 1;
    const changed = lines.with(
      memory,
      (lines[memory] ?? "").replace('["0xa', '["0xb'),
    );
    const cases: readonly (readonly [readonly string[], RegExp])[] = [
      [lines.slice(0, -1), /was cut off/],
      [lines.toSpliced(memory, 1), /lines before it are missing/],
      [lines.toSpliced(1, 1), /line 2 .*no line of a table/],
      [lines.with(memory, '["no"]'), /does not have 15 values/],
      [["{}", ...lines.slice(1)], /Cannot read line 1/],
      [changed, /were changed/],
    ];
    for (const [at_, [text, problem]] of cases.entries()) {
      await Deno.writeTextFile(file, `${text.join("\n")}\n`);
      const refused = await runCommand("import", [file], at(`to-${at_}`));
      assertEquals(refused.code, 1);
      assertMatch(refused.err, problem);
    }
  });
});

Deno.test("runExport() leaves out what has expired, and blobs that were changed", async () => {
  await withFolders(async ({ folder, at }) => {
    await filled(at("one"));
    const [nonce, later] = ["ab".repeat(16), "cd".repeat(16)];
    const blobId = await withData(at("one"), async ({ store, blobs }) => {
      for (const [of, ms] of [[nonce, 5], [later, 6]] as const) {
        const expiresAtMs = SAMPLE_MS + ms;
        await store.commit([{ kind: "nonce", nonce: of, expiresAtMs }]);
      }
      return await blobs.put(new TextEncoder().encode("a blob"));
    });
    const hex = Uint8Array.fromBase64(blobId, { alphabet: "base64url" })
      .toHex();
    await Deno.writeTextFile(
      `${folder}/one/blobs/${hex.slice(0, 2)}/${hex.slice(2)}`,
      "another",
    );
    const file = `${folder}/file`;
    const nowMs = SAMPLE_MS + 5;
    const exported = await runCommand(
      "export",
      [file, "--json"],
      at("one"),
      nowMs,
    );
    assertEquals(JSON.parse(exported.out).damagedBlobs, [blobId]);
    const imported = await runCommand(
      "import",
      [file, "--json"],
      at("two"),
      nowMs,
    );
    assertEquals(JSON.parse(imported.out).differences, []);
    await withData(at("two"), async ({ store, blobs }) => {
      const nonces = await store.nonces(0);
      assertEquals([nonces.includes(nonce), nonces.includes(later)], [
        false,
        true,
      ]);
      assertEquals((await blobs.get(blobId)).kind, "missing");
    });
  });
});
