import { assertEquals } from "@std/assert";
import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { RecordingLogger } from "../../../../tests/support/recording_logger.ts";
import { AltcacheFaultLog } from "./altcache_fault_log.ts";

Deno.test("AltcacheFaultLog.note() logs a change of state once for each server", () => {
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const log = new AltcacheFaultLog({
    clock,
    logger,
    failing: "fails",
    working: "works",
  });
  log.note("a", undefined);
  log.note("a", "full");
  log.note("b", "full");
  for (let i = 0; i < 100; i++) {
    log.note("a", i % 2 === 0 ? undefined : "full");
  }
  clock.advance(1_000);
  log.note("a", undefined);
  log.note("a", undefined);
  log.note("a", "full");
  assertEquals(
    logger.lines.map(({ message, fields }) => `${message} ${fields.server}`),
    ["fails a", "fails b", "works a", "fails a"],
  );
});
