import { assertEquals } from "@std/assert";
import { anchorDates } from "./date_anchor.ts";

/** A Saturday. */
const AT_MS = Date.UTC(2026, 10, 21, 23, 59);

Deno.test("anchorDates() puts dates behind what means nothing later", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["today", "2026-11-21"],
    ["Tonight", "2026-11-21"],
    ["tomorrow", "2026-11-22"],
    ["yesterday", "2026-11-20"],
    ["the day after tomorrow", "2026-11-23"],
    ["day before yesterday", "2026-11-19"],
    ["last Monday", "2026-11-16"],
    ["next Monday", "2026-11-23"],
    ["this Monday", "2026-11-23"],
    ["last Saturday", "2026-11-14"],
    ["next Saturday", "2026-11-28"],
    ["this Saturday", "2026-11-21"],
    ["this week", "week of 2026-11-16"],
    ["next week", "week of 2026-11-23"],
    ["last week", "week of 2026-11-09"],
    ["next month", "2026-12"],
    ["last month", "2026-10"],
    ["last year", "2025"],
    ["next year", "2027"],
    ["in 3 days", "2026-11-24"],
    ["in a week", "2026-11-28"],
    ["in two months", "2027-01"],
    ["ten years ago", "2016"],
    ["12 months ago", "2025-11"],
    ["five days ago", "2026-11-16"],
  ];
  for (const [words, date] of cases) {
    assertEquals(
      anchorDates(`We met ${words}, here`, AT_MS),
      `We met ${words} (${date}), here`,
    );
  }
});

Deno.test("anchorDates() leaves other words alone, and what has a date", () => {
  for (
    const text of [
      "We met on Monday",
      "I have two days",
      "tomorrow (2026-11-22)",
      "todayish yesterdays",
      "last of all, next to me",
    ]
  ) {
    assertEquals(anchorDates(text, AT_MS), text);
  }
});

Deno.test("anchorDates() adds nothing for times beyond the calendar", () => {
  assertEquals(anchorDates("today", NaN), "today");
});
