import { assertEquals, assertThrows } from "@std/assert";
import { LocalLedger } from "./local_ledger.ts";
import { testLedger } from "./testing/ledger_conformance.ts";
import { withFileLedger, withLedger } from "./testing/open_test_ledger.ts";

testLedger({ name: "LocalLedger", withLedger: withFileLedger });

Deno.test("account() tells when the file cannot be read", async () => {
  await withLedger(async ({ file }) => {
    const ledger = new LocalLedger(file);
    await file.close();
    assertEquals((await ledger.account("0x1")).kind, "unavailable");
  });
});

Deno.test("LocalLedger wants a package's id", async () => {
  await withLedger(({ file }) => {
    assertThrows(() => new LocalLedger(file, ""), TypeError);
    const other = new LocalLedger(file, "0x2");
    assertEquals(other.packageId, `0x${"0".repeat(63)}2`);
  });
});
