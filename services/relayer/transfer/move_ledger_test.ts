import { assert, assertEquals, assertMatch } from "@std/assert";
import { FakeClock } from "../../../tests/support/fake_clock.ts";
import { serviceTest } from "../../../tests/support/services.ts";
import { systemClock } from "../../shared/clock.ts";
import {
  deriveAccountId,
  LOCAL_PACKAGE_ID,
} from "../../shared/ledger/account_contract.ts";
import { TransactionSigner } from "../../shared/ledger/testing/transaction_signer.ts";
import { makeSigner } from "../auth/testing/signer.ts";
import { checkLedger } from "../ledger/ledger_check.ts";
import { type LedgerFile, openLedgerFile } from "../ledger/ledger_file.ts";
import {
  EMPTY_LOG,
  type Entry,
  entryColumns,
  hashEntry,
} from "../ledger/ledger_log.ts";
import { LocalLedger } from "../ledger/local_ledger.ts";
import { ledgerWithExecutor } from "../ledger/testing/open_test_ledger.ts";
import { fillLedger } from "../ledger/testing/random_history.ts";
import { withSettingsLedger } from "../cli/on_ledger.ts";
import { RecordingLogger } from "../../../tests/support/recording_logger.ts";
import { TEST_SERVER } from "../store/postgres/testing/postgres_subject.ts";
import { readEntries } from "./moved_entries.ts";
import { LEDGER_ENTRIES, type MovedRow } from "./moved_tables.ts";
import { encodeRow, encodeTable, parseRow } from "./row_lines.ts";
import {
  describeData,
  filled,
  linesOf,
  move,
  runCommand,
  settingsOf,
  type Variables,
  withData,
  withFolders,
  withSchema,
} from "./testing/moved_world.ts";

/** Owners whose accounts are adopted in the other order. */
const [FIRST = "", SECOND = ""] = ["1", "2"]
  .map((digit) => `0x${digit.padStart(64, "0")}`)
  .map((owner) => [deriveAccountId(LOCAL_PACKAGE_ID, owner), owner] as const)
  .toSorted(([one], [other]) => one < other ? 1 : -1)
  .map(([, owner]) => owner);
const SHARED_KEY = { publicKey: makeSigner(1).publicKey, label: "both" };

/** Leaves the state in which a version without a log left the file. */
const WITHOUT_LOG = `DELETE FROM entries; DELETE FROM changes;
  DELETE FROM events; DELETE FROM senders; DELETE FROM key_servers;
  UPDATE accounts SET entry_id = '', changed_by = x'', version = 1`;

/** Uses the ledger's file of a data folder. */
async function withLedgerOf<Answer>(
  variables: Variables,
  use: (file: LedgerFile) => Answer,
): Promise<Awaited<Answer>> {
  const folder = variables["DATA_DIR"] ?? "";
  await Deno.mkdir(folder, { recursive: true });
  const clock = { ...systemClock, nowMs: () => new FakeClock().nowMs() };
  const file = openLedgerFile(`${folder}/ledger.db`, clock);
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}

/** A data folder with a history of accounts. */
async function withHistory(variables: Variables, seed: number): Promise<void> {
  await withLedgerOf(variables, async (file) => {
    await fillLedger([ledgerWithExecutor(file)], seed);
    await fillLedger([ledgerWithExecutor(file)], seed + 1);
  });
  await withData(variables, () => Promise.resolve());
}

/**
 * A data folder whose accounts are from before there was a log, some of them with
 * a key that another one had first, and a history since.
 */
async function withAdopted(variables: Variables): Promise<void> {
  await withLedgerOf(variables, async (file) => {
    let ms = new FakeClock().nowMs() - 1_000_000;
    const early = new LocalLedger({
      ...file,
      clock: { ...file.clock, nowMs: () => ms++ },
    });
    const owner = new TransactionSigner({
      seed: 1,
      packageId: LOCAL_PACKAGE_ID,
    }).address;
    for (const [at, address] of [FIRST, SECOND, owner].entries()) {
      const made = early.createAccount({ address });
      assert(made.kind === "ok");
      const { accountId } = made.account;
      const [gone, own] = [50 + at, 60 + at].map((seed) => ({
        publicKey: makeSigner(seed).publicKey,
        label: `key ${seed}`,
      }));
      assert(gone && own);
      for (const key of [gone, own, SHARED_KEY]) {
        assertEquals(early.addDelegateKey(accountId, key).kind, "ok");
      }
      early.removeDelegateKey(accountId, gone.publicKey);
    }
    early.setActive(early.byOwner(owner)?.accountId ?? "", false);
    file.db.exec(WITHOUT_LOG);
    await fillLedger([ledgerWithExecutor(file)], 7);
  });
  await withData(variables, () => Promise.resolve());
}

/** All rows of the ledger's file. Keys are without their positions, in order. */
function tablesOf(file: LedgerFile): unknown {
  const all = (sql: string) => file.db.prepare(sql).all();
  return {
    accounts: all("SELECT * FROM accounts ORDER BY account_id"),
    keys: all(`SELECT account_id, public_key, address, label, created_ms
      FROM delegate_keys ORDER BY account_id, position`),
    entries: all("SELECT * FROM entries ORDER BY sequence"),
    changes: all("SELECT * FROM changes ORDER BY object_id, sequence"),
    events: all("SELECT * FROM events ORDER BY sequence, position"),
    senders: all("SELECT * FROM senders ORDER BY address"),
    keyServers: all("SELECT * FROM key_servers ORDER BY object_id"),
    version: all("PRAGMA user_version"),
  };
}

function positionsOf(file: LedgerFile): unknown {
  return file.db.prepare("SELECT * FROM delegate_keys ORDER BY position").all();
}

/** Which account each key speaks for. */
function speakersOf(ledger: LocalLedger): unknown {
  return [...Array(100).keys()].map((seed) =>
    ledger.byKey(makeSigner(seed).publicKey)?.accountId
  );
}

function goodCheck(ledger: LocalLedger): unknown {
  const checked = checkLedger(ledger);
  assert(checked.kind === "ok", Deno.inspect(checked));
  assert(checked.entries > 20 && checked.accounts > 1);
  return [checked, speakersOf(ledger)];
}

/** What a check says of the ledger that settings name. */
async function checkOf(variables: Variables): Promise<unknown> {
  let checked: unknown;
  const tools = { clock: systemClock, logger: new RecordingLogger() };
  await withSettingsLedger(settingsOf(variables), tools, async (change) => {
    checked = await change(goodCheck);
    return 0;
  });
  return checked;
}

const HISTORIES: Readonly<
  Record<string, (variables: Variables) => Promise<void>>
> = {
  "commands and transactions": (variables) => withHistory(variables, 1),
  "others of them": (variables) => withHistory(variables, 5),
  "accounts from before the log": withAdopted,
};

for (const [name, make] of Object.entries(HISTORIES)) {
  serviceTest(["postgres"], {
    name:
      `runImport() gives PostgreSQL and then SQLite the ledger that SQLite had, ${name}`,
    fn: () =>
      withSchema(async ({ folder, at, schema }) => {
        await make(at("one"));
        await Deno.mkdir(`${folder}/ledger`);
        const checked = await checkOf(at("one"));
        await move(at("one"), `${folder}/first`, schema);
        assertEquals(await checkOf(schema), checked);
        await move(schema, `${folder}/second`, at("two"));
        assertEquals(await checkOf(at("two")), checked);
        assertEquals(
          await linesOf(`${folder}/second`),
          await linesOf(`${folder}/first`),
        );
        const [one, two] = [at("one"), at("two")];
        assertEquals(
          await withLedgerOf(two, tablesOf),
          await withLedgerOf(one, tablesOf),
        );
        if (make === withAdopted) return;
        assertEquals(
          await withLedgerOf(two, positionsOf),
          await withLedgerOf(one, positionsOf),
        );
      }),
  });
}

Deno.test("byKey() names the account that had the key first, also after an import", async () => {
  await withFolders(async ({ folder, at }) => {
    await withAdopted(at("one"));
    await move(at("one"), `${folder}/file`, at("two"));
    for (const name of ["one", "two"]) {
      const owner = await withLedgerOf(
        at(name),
        (file) => new LocalLedger(file).byKey(SHARED_KEY.publicKey)?.owner,
      );
      assertEquals(owner, FIRST);
    }
  });
});

Deno.test("runExport() enters accounts from before there was a log into it", async () => {
  await withFolders(async ({ folder, at }) => {
    const [one, two] = [at("one"), at("two")];
    await withAdopted(one);
    await withLedgerOf(one, (file) => file.db.exec(WITHOUT_LOG));
    await move(one, `${folder}/file`, two);
    const checked = await withLedgerOf(
      two,
      (file) => checkLedger(new LocalLedger(file)),
    );
    assert(checked.kind === "ok" && checked.entries === checked.accounts);
    assertEquals(
      await withLedgerOf(two, tablesOf),
      await withLedgerOf(one, tablesOf),
    );
  });
});

/** The rows of the log in an export, and the lines around them. */
async function readLog(file: string): Promise<{
  readonly rows: readonly MovedRow[];
  readonly withRows: (rows: readonly MovedRow[]) => string;
}> {
  const lines = (await Deno.readTextFile(file)).split("\n");
  const start = lines.indexOf(encodeTable(LEDGER_ENTRIES)) + 1;
  const end = lines.findIndex((line, at) =>
    at >= start && !line.startsWith("[")
  );
  return {
    rows: lines.slice(start, end).map((line) => parseRow(line, LEDGER_ENTRIES)),
    withRows: (rows) =>
      [...lines.slice(0, start), ...rows.map(encodeRow), ...lines.slice(end)]
        .join("\n"),
  };
}

/** Rows with hashes that follow one another, as a forger makes them. */
function rehashed(rows: readonly MovedRow[]): readonly MovedRow[] {
  const last = { ...EMPTY_LOG };
  return readEntries(rows).map((entry) => {
    const { sequence } = entry;
    const hash = hashEntry(entry, { sequence, previous: last.hash });
    last.hash = hash;
    return entryColumns({ ...entry, hash });
  });
}

function changedAt(
  rows: readonly MovedRow[],
  at: number,
  change: Partial<Entry>,
): readonly MovedRow[] {
  return readEntries(rows).map((entry, index) =>
    entryColumns(index === at ? { ...entry, ...change } : entry)
  );
}

serviceTest(["postgres"], {
  name: "runImport() refuses a ledger's log that was changed",
  fn: () =>
    withSchema(async ({ folder, at, schema }) => {
      await withHistory(at("one"), 1);
      await Deno.mkdir(`${folder}/ledger`);
      const file = `${folder}/file`;
      const { code, err } = await runCommand("export", [file], at("one"));
      assertEquals(code, 0, err);
      const { rows, withRows } = await readLog(file);
      const entries = readEntries(rows);
      const sent = entries.findIndex(({ kind }) => kind === "transaction");
      const { payload = new Uint8Array(), outcome } = entries[sent]!;
      const forged = payload.with(payload.length - 40, 7);
      const raw = (at: number, column: number, value: string) =>
        rows.with(at, rows[at]!.with(column, value));
      const text = String(rows[3]?.[5]);
      const faults: readonly (readonly [readonly MovedRow[], RegExp])[] = [
        [rows.toSpliced(4, 1), /entry 6: the one before is gone/],
        [rows.slice(1), /entry 2: the one before is gone/],
        [changedAt(rows, 3, { timeMs: 1 }), /entry 4: its hash is another/],
        [changedAt(rows, sent, { payload: forged }), /its hash is another/],
        [
          rehashed(changedAt(rows, sent, { payload: forged })),
          new RegExp(`entry ${sent + 1}: .*sign`),
        ],
        [
          rehashed(
            changedAt(rows, sent, { outcome: { ...outcome, changes: [] } }),
          ),
          /its recorded outcome differs/,
        ],
        [raw(3, 5, ` ${text}`), /entry 4: it is not as a ledger writes it/],
        [raw(3, 5, "{"), /entry 4: it is not as a ledger writes it/],
        [raw(3, 1, "order"), /entry 4: it is not as a ledger writes it/],
      ];
      for (const [fault, problem] of faults) {
        await Deno.writeTextFile(file, withRows(fault));
        for (const to of [schema, at("two")]) {
          const refused = await runCommand("import", [file, "--replace"], to);
          assertEquals(refused.code, 1);
          assertMatch(refused.err, /Cannot import the ledger: entry/);
          assertMatch(refused.err, problem);
          const [started] = await Promise.allSettled([
            withData(to, () => Promise.resolve()),
          ]);
          assertEquals(started?.status, "rejected");
        }
      }
      await Deno.writeTextFile(file, withRows(rows));
      for (const to of [schema, at("two")]) {
        const imported = await runCommand("import", [file], to);
        assertEquals(imported.code, 0, imported.err);
        assertEquals(await checkOf(to), await checkOf(at("one")));
      }
    }),
});

serviceTest(["postgres"], {
  name: "runExport() names the entry of the ledger's log that is broken",
  fn: () =>
    withSchema(async ({ folder, at, schema }) => {
      await withHistory(at("one"), 1);
      await Deno.mkdir(`${folder}/ledger`);
      await move(at("one"), `${folder}/file`, schema);
      const sql = (table: string) =>
        `UPDATE ${table} SET time_ms = time_ms + 1 WHERE sequence = 9`;
      await withLedgerOf(at("one"), (file) => file.db.exec(sql("entries")));
      await TEST_SERVER.sql(
        sql(`${schema["DATABASE_SCHEMA"]}.ledger_entries`),
      );
      const path = `${folder}/no`;
      for (const from of [at("one"), schema]) {
        const refused = await runCommand("export", [path], from);
        assertEquals(refused.code, 1);
        assertMatch(
          refused.err,
          /Cannot export the ledger: entry 9: its hash is another one; restore/,
        );
        const there = await Array.fromAsync(Deno.readDir(folder));
        assert(!there.some(({ name }) => name.startsWith("no")));
      }
    }),
});

serviceTest(["postgres"], {
  name: "runImport() replaces the ledger of a store only with --replace",
  fn: () =>
    withSchema(async ({ folder, at, schema }) => {
      await withHistory(at("one"), 1);
      await withHistory(at("two"), 3);
      await Deno.mkdir(`${folder}/ledger`);
      const file = `${folder}/file`;
      assertEquals((await runCommand("export", [file], at("one"))).code, 0);
      // A relayer has added the key servers of its settings, and no more.
      await withData(schema, () => Promise.resolve());
      const tools = { clock: systemClock, logger: new RecordingLogger() };
      await withSettingsLedger(settingsOf(schema), tools, async (change) => {
        await change((ledger) =>
          ledger.addKeyServer({
            ...{ name: "own", url: "http://127.0.0.1:1" },
            publicKey: new Uint8Array(96).fill(9),
          })
        );
        return 0;
      });
      for (const to of [schema, at("two")]) {
        const refused = await runCommand("import", [file], to);
        assertEquals(refused.code, 1);
        assertMatch(
          refused.err,
          /has rows of roots, .*ledger_entries.* already, as a relayer has/,
        );
        const replaced = await runCommand("import", [file, "--replace"], to);
        assertEquals(replaced.code, 0, replaced.err);
        assertMatch(replaced.out, /, \d+ entries of the ledger/);
        assertEquals(await checkOf(to), await checkOf(at("one")));
      }
    }),
});

serviceTest(["postgres"], {
  name: "runImport() does not mix the ledgers of two exports",
  fn: () =>
    withSchema(async ({ folder, at, schema }) => {
      await withHistory(at("one"), 1);
      await withHistory(at("other"), 3);
      await Deno.mkdir(`${folder}/ledger`);
      const [file, cut] = [`${folder}/file`, `${folder}/cut`];
      await runCommand("export", [file], at("one"));
      await runCommand("export", [cut], at("other"));
      const { rows, withRows } = await readLog(cut);
      const text = withRows(rows.slice(0, 5));
      const start = text.indexOf(encodeTable(LEDGER_ENTRIES));
      // It ends after five entries.
      const part = text.slice(0, text.indexOf("\n{", start));
      for (const to of [schema, at("two")]) {
        await Deno.writeTextFile(cut, `${part}\n`);
        const ended = await runCommand("import", [cut], to);
        assertMatch(ended.err, /was cut off/);
        const mixed = await runCommand("import", [file], to);
        assertEquals(mixed.code, 1);
        assertMatch(mixed.err, /again with --replace/);
        const replaced = await runCommand("import", [file, "--replace"], to);
        assertEquals(replaced.code, 0, replaced.err);
        assertEquals(await checkOf(to), await checkOf(at("one")));
      }
    }),
});

Deno.test("runExport() leaves the embedded ledger out with LEDGER_RPC_URL, and runImport() lets it be", async () => {
  await withFolders(async ({ folder, at }) => {
    await withHistory(at("one"), 1);
    const { described } = await filled(at("one"));
    await withHistory(at("two"), 3);
    const [without, file] = [`${folder}/without`, `${folder}/file`];
    const remote = {
      LEDGER_RPC_URL: "http://127.0.0.1:1",
      LEDGER_PACKAGE_ID: "0x5",
    };
    await runCommand("export", [without], { ...at("one"), ...remote });
    const text = await Deno.readTextFile(without);
    assert(!text.includes(LEDGER_ENTRIES.name));
    const before = await withLedgerOf(at("two"), tablesOf);
    const replaced = await runCommand(
      "import",
      [without, "--replace"],
      at("two"),
    );
    assertEquals(replaced.code, 0, replaced.err);
    assertEquals(await withLedgerOf(at("two"), tablesOf), before);
    assertEquals(await withData(at("two"), describeData), described);

    await runCommand("export", [file], at("one"));
    const refused = await runCommand("import", [file], {
      ...at("three"),
      ...remote,
    });
    assertEquals(refused.code, 1);
    assertMatch(refused.err, /LEDGER_RPC_URL names another one/);
  });
});

Deno.test("runExport() names LEDGER_PACKAGE_ID when the ledger is of another package", async () => {
  await withFolders(async ({ folder, at }) => {
    await withHistory(at("one"), 1);
    const refused = await runCommand("export", [`${folder}/no`], {
      ...at("one"),
      LEDGER_PACKAGE_ID: "0x5",
    });
    assertEquals(refused.code, 1);
    assertMatch(refused.err, /entry \d+: .*LEDGER_PACKAGE_ID/);
  });
});
