/**
 * Tests that everything has to pass that keeps wrapped keys.
 *
 * @module
 */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { SeededRandom } from "../../../../tests/support/seeded_random.ts";
import type { KeyRows, WrappedRoot } from "../key_rows.ts";

/** Rows of a test. */
export interface ConformingRows {
  /** The rows as they are now. */
  readonly rows: () => KeyRows;
  /** Keys that were said to be gone, as `owner keyId`. */
  readonly gone: string[];
  /** Closes the rows and opens them again. */
  readonly reopen: () => Promise<void>;
  /** Whether bytes can be read from where the rows are stored. */
  readonly hasBytes: (bytes: Uint8Array) => Promise<boolean>;
}

/** How rows are opened for a test. */
export interface KeyRowsConformance {
  /** Their name, which starts the titles of the tests. */
  readonly name: string;
  /** Registers a test. */
  readonly test: (definition: Deno.TestDefinition) => void;
  /** Opens empty rows, runs `use` and removes them. */
  readonly withRows: (
    use: (subject: ConformingRows) => Promise<void>,
  ) => Promise<void>;
}

const ANN = `0x${"a1".repeat(32)}`;
const BEN = `0x${"b2".repeat(32)}`;

/** Registers the tests. */
export function testKeyRows(
  { name, test, withRows }: KeyRowsConformance,
): void {
  const random = new SeededRandom(8);
  const wrapped = (): Uint8Array => random.bytes(80);
  const add = (
    title: string,
    use: (subject: ConformingRows) => Promise<void>,
  ): void => test({ name: `${name}: ${title}`, fn: () => withRows(use) });

  add(
    "changeRoots() keeps the order, replaces envelopes and is there later",
    async ({ rows, reopen }) => {
      const [first, second, third] = ["c", "a", "b"].map((id): WrappedRoot => ({
        ...{ id, masterId: `master of ${id}`, wrapped: wrapped() },
      })) as [WrappedRoot, WrappedRoot, WrappedRoot];
      assertEquals(await rows().roots(), []);
      await rows().changeRoots(() => [first]);
      const changed = { ...first, wrapped: wrapped() };
      await rows().changeRoots((there) => {
        assertEquals(there, [first]);
        return [changed, second];
      });
      await rows().changeRoots(() => []);
      await assertRejects(
        () =>
          rows().changeRoots(() => {
            throw new RangeError("not now");
          }),
        RangeError,
      );
      await rows().changeRoots(() => [third]);
      await reopen();
      assertEquals(await rows().roots(), [changed, second, third]);
    },
  );

  add("changeRoots() lets one decide after the other", async ({ rows }) => {
    await Promise.all(
      Array.from(
        { length: 5 },
        () =>
          rows().changeRoots((there) =>
            there.length > 0 ? [] : [{
              id: `${random.below(1e9)}`,
              masterId: "m",
              wrapped: wrapped(),
            }]
          ),
      ),
    );
    assertEquals((await rows().roots()).length, 1);
  });

  add(
    "get() gives an owner the key, and nobody another one",
    async ({ rows, reopen }) => {
      const key = { owner: ANN, keyId: "k", wrapped: wrapped() };
      await rows().add(key);
      for (let round = 0; round < 2; round++) {
        assertEquals(await rows().get(ANN, "k"), key.wrapped);
        assertEquals(await rows().get(BEN, "k"), undefined);
        for (const odd of ["", "K", "k ", "k\0", "\ud800", "k".repeat(5_000)]) {
          assertEquals(await rows().get(ANN, odd), undefined);
          assertEquals(await rows().destroy(ANN, odd), false);
        }
        await reopen();
      }
    },
  );

  add(
    "add() refuses a second key of an id, and addMissing() keeps the first",
    async ({ rows }) => {
      const key = { owner: ANN, keyId: "k", wrapped: wrapped() };
      await rows().add(key);
      await assertRejects(() => rows().add({ ...key, wrapped: wrapped() }));
      await rows().addMissing({ ...key, wrapped: wrapped() });
      assertEquals(await rows().get(ANN, "k"), key.wrapped);
      const others = [wrapped(), wrapped()];
      await Promise.all(
        others.map((bytes) =>
          rows().addMissing({ owner: BEN, keyId: "k", wrapped: bytes })
        ),
      );
      const found = await rows().get(BEN, "k");
      assert(others.some((bytes) => bytes.toHex() === found?.toHex()));
    },
  );

  add(
    "replace() leaves nothing of the old key, and adds none",
    async ({ rows, gone, hasBytes }) => {
      const key = { owner: ANN, keyId: "k", wrapped: wrapped() };
      await rows().replace(key);
      assertEquals(await rows().get(ANN, "k"), undefined);
      await rows().add(key);
      assert(await hasBytes(key.wrapped));
      gone.length = 0;
      const next = { ...key, wrapped: wrapped() };
      await rows().replace(next);
      assertEquals(await rows().get(ANN, "k"), next.wrapped);
      assertEquals(await hasBytes(key.wrapped), false);
      assert(gone.includes(`${ANN} k`));
    },
  );

  add(
    "destroy() leaves nothing of the key, and of no other",
    async ({ rows, gone, hasBytes, reopen }) => {
      const keys = [[ANN, "k"], [ANN, "l"], [BEN, "k"]] as const;
      const bytes = keys.map(wrapped);
      for (const [at, [owner, keyId]] of keys.entries()) {
        await rows().add({ owner, keyId, wrapped: bytes[at]! });
      }
      assert(await hasBytes(bytes[0]!));
      assertEquals(await rows().destroy(ANN, "k"), true);
      assert(gone.includes(`${ANN} k`));
      assertEquals(await rows().get(ANN, "k"), undefined);
      assertEquals(await hasBytes(bytes[0]!), false);
      assertEquals(await rows().destroy(ANN, "k"), false);
      await reopen();
      assertEquals(await rows().get(ANN, "k"), undefined);
      assertEquals(await rows().get(ANN, "l"), bytes[1]);
      assertEquals(await rows().get(BEN, "k"), bytes[2]);
    },
  );

  add(
    "destroy() is true once of several at the same time",
    async ({ rows }) => {
      await rows().add({ owner: ANN, keyId: "k", wrapped: wrapped() });
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => rows().destroy(ANN, "k")),
      );
      assertEquals(answers.filter((wasThere) => wasThere).length, 1);
    },
  );

  add(
    "destroy() of a key that waits to be written comes after it",
    async ({ rows }) => {
      const adding = rows().add({ owner: ANN, keyId: "k", wrapped: wrapped() });
      const destroying = rows().destroy(ANN, "k");
      await adding;
      assertEquals(await destroying, true);
      assertEquals(await rows().get(ANN, "k"), undefined);
    },
  );

  add("add(), get() and destroy() take many at once", async ({ rows }) => {
    const keys = Array.from({ length: 700 }, (_, at) => ({
      owner: at % 2 === 0 ? ANN : BEN,
      keyId: `key ${at}`,
      wrapped: wrapped(),
    }));
    await Promise.all(keys.map((key) => rows().add(key)));
    const read = (): Promise<(Uint8Array | undefined)[]> =>
      Promise.all(keys.map(({ owner, keyId }) => rows().get(owner, keyId)));
    assertEquals(await read(), keys.map((key) => key.wrapped));
    const destroyed = await Promise.all(
      keys.slice(0, 600).map(({ owner, keyId }) =>
        rows().destroy(owner, keyId)
      ),
    );
    assert(destroyed.every((wasThere) => wasThere));
    assertEquals(
      await read(),
      keys.map((key, at) => at < 600 ? undefined : key.wrapped),
    );
  });

  add(
    "ownerKeys() gives the newest first, with its link",
    async ({ rows, reopen }) => {
      const [first, second] = ["b", "a"].map((id) => ({
        ...{ owner: ANN, id, encrypted: random.bytes(500) },
        ...{ sealedPublicKey: wrapped(), link: undefined },
      })) as [Parameters<KeyRows["putOwnerKey"]>[0], never];
      await rows().putOwnerKey(first);
      await rows().putOwnerKey(second);
      const link = { newerId: "a", wrapped: wrapped() };
      await rows().putOwnerKey({ ...first, link });
      await reopen();
      assertEquals(await rows().ownerKeys(ANN), [second, { ...first, link }]);
      assertEquals(await rows().ownerKeys(BEN), []);
    },
  );

  add(
    "addReceiptKey() adds the first key once, and others after it",
    async ({ rows, reopen }) => {
      const keys = [3, 1, 2].map((madeAtMs) => ({
        madeAtMs,
        wrapped: wrapped(),
      }));
      await Promise.all(
        keys.map((key) => rows().addReceiptKey(key, { isFirst: true })),
      );
      const [first, ...more] = await rows().receiptKeys();
      assert(first !== undefined && more.length === 0);
      await rows().addReceiptKey(keys[1]!, { isFirst: false });
      await reopen();
      assertEquals(await rows().receiptKeys(), [first, keys[1]!]);
    },
  );
}
