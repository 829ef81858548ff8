import { assertEquals } from "@std/assert";
import { SeededRandom } from "../../../tests/support/seeded_random.ts";
import { CronExpression } from "./cron_expression.ts";
import { lastCron } from "./cron_last.ts";
import { cronAfter } from "./cron_schedule.ts";
import { DAY_MS } from "./duration.ts";
import { CLOCK_CHANGES, drawCron } from "./testing/drawn_cron.ts";

interface Walked {
  readonly afterMs: number;
  readonly throughMs: number;
}

function lastByWalking(
  cron: CronExpression,
  { afterMs, throughMs }: Walked,
  timezone: string,
): number | undefined {
  let lastMs: number | undefined;
  let atMs = cronAfter(cron, afterMs, timezone);
  while (atMs !== undefined && atMs <= throughMs) {
    lastMs = atMs;
    atMs = cronAfter(cron, atMs, timezone);
  }
  return lastMs;
}

function assertAgrees(text: string, span: Walked, timezone: string): void {
  const cron = new CronExpression(text);
  assertEquals(
    lastCron(cron, span, timezone),
    lastByWalking(cron, span, timezone),
    `${text} ${timezone} ${new Date(span.afterMs).toISOString()} ` +
      new Date(span.throughMs).toISOString(),
  );
}

Deno.test("lastCron() agrees with walking through clock changes", () => {
  const random = new SeededRandom(51);
  for (const [timezone, day] of CLOCK_CHANGES) {
    const noonMs = Date.parse(`${day}T12:00Z`);
    for (let round = 0; round < 25; round++) {
      const afterMs = noonMs - random.below(36 * 60) * 60_000 -
        random.below(2);
      const throughMs = afterMs + random.below(72 * 60) * 60_000;
      assertAgrees(drawCron(random).text, { afterMs, throughMs }, timezone);
    }
  }
});

Deno.test("lastCron() agrees with walking for rare days and long spans", () => {
  const random = new SeededRandom(52);
  const texts = [
    "30 2 L * *",
    "0 0 29 2 *",
    "15 30 1,2 * * MON#2",
    "30 2 15W 3,10 *",
    "*/20 2 25-31 3,10 SUN",
    "0 0 29 2 +MON",
  ];
  for (let round = 0; round < 80; round++) {
    const [timezone] = random.pick(CLOCK_CHANGES);
    const afterMs = Date.parse("2020-01-01T00:00Z") +
      random.below(2_000) * DAY_MS + random.below(DAY_MS);
    const throughMs = afterMs + random.below(3 * 365) * DAY_MS;
    assertAgrees(random.pick(texts), { afterMs, throughMs }, timezone);
  }
});

Deno.test("lastCron() searches for no occurrence, however long ago it was", () => {
  const cron = new CronExpression("0 0 29 2 +MON");
  cron.nextWall = () => {
    throw new Error("it searches");
  };
  const throughMs = Date.parse("2026-11-22T00:00Z");
  const lastMs = lastCron(cron, { afterMs: 0, throughMs }, "Europe/Berlin");
  assertEquals(lastMs, Date.parse("2016-02-29T00:00+01:00"));
  const span = { afterMs: lastMs ?? 0, throughMs };
  assertEquals(lastCron(cron, span, "Europe/Berlin"), undefined);
});
