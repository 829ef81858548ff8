import { serviceTest } from "../../../tests/support/services.ts";
import { withDataSchema } from "../store/postgres/testing/data_schema.ts";
import { KeyDatabase } from "./key_database.ts";
import type { KeyRows, OpenKeyRows } from "./key_rows.ts";
import { PostgresKeys } from "./postgres_keys.ts";
import { TestNotices } from "./testing/test_notices.ts";
import {
  type ConformingRows,
  testKeyRows,
} from "./testing/key_rows_conformance.ts";

/** Runs a test with rows, which it may open again. */
async function useRows(
  use: (subject: ConformingRows) => Promise<void>,
  { open, hasBytes }: {
    readonly open: OpenKeyRows;
    readonly hasBytes: ConformingRows["hasBytes"];
  },
): Promise<void> {
  const gone: string[] = [];
  const reopen = (): KeyRows =>
    open((owner, keyId) => void gone.push(`${owner} ${keyId}`));
  let rows = reopen();
  try {
    await use({
      rows: () => rows,
      gone,
      hasBytes,
      reopen: async () => {
        await rows.close();
        rows = reopen();
      },
    });
  } finally {
    await rows.close();
  }
}

testKeyRows({
  name: "KeyDatabase",
  test: (definition) => Deno.test(definition),
  withRows: async (use) => {
    const folder = await Deno.makeTempDir();
    const latin = (bytes: Uint8Array): string =>
      new TextDecoder("latin1").decode(bytes);
    try {
      await useRows(use, {
        open: (onGone) =>
          new KeyDatabase(folder, {
            ...{ nowMs: 0, monotonicMs: () => 0, maxQueued: 1_000, onGone },
          }),
        async hasBytes(bytes) {
          const names = ["keys.db", "keys.db-wal"];
          const files = await Promise.all(
            names.map((name) => Deno.readFile(`${folder}/${name}`)),
          );
          return files.some((file) => latin(file).includes(latin(bytes)));
        },
      });
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

testKeyRows({
  name: "PostgresKeys",
  test: (definition) => serviceTest(["postgres"], definition),
  withRows: (use) =>
    withDataSchema(({ name: schema, connect, dump }) =>
      useRows(use, {
        open: (onGone) =>
          new PostgresKeys({
            ...{ pool: connect(), schema, onGone },
            notices: new TestNotices().connect(),
          }),
        hasBytes: async (bytes) => (await dump()).includes(bytes.toHex()),
      })
    ),
});
