import { assertEquals } from "@std/assert";
import { parseExpiry } from "./expiry.ts";

Deno.test("parseExpiry() reads dates and times of RFC 3339", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["2030-01-31T12:00:00Z", "2030-01-31T12:00:00.000Z"],
    ["2030-01-31t12:00:00z", "2030-01-31T12:00:00.000Z"],
    ["2030-01-31 12:00:00Z", "2030-01-31T12:00:00.000Z"],
    ["2030-01-31T12:00:00.123999+02:00", "2030-01-31T10:00:00.123Z"],
    ["2030-01-01T00:00:00-23:59", "2030-01-01T23:59:00.000Z"],
    ["2028-02-29T00:00:00Z", "2028-02-29T00:00:00.000Z"],
    ["2016-12-31T23:59:60Z", "2016-12-31T23:59:59.000Z"],
  ];
  for (const [text, expected] of cases) {
    assertEquals(parseExpiry(text), Date.parse(expected), text);
  }
});

Deno.test("parseExpiry() refuses everything else", () => {
  const texts = [
    "",
    "2030",
    "2030-01-31",
    "2030-01-31T12:00Z",
    "2030-01-31T12:00:00",
    "2030-02-30T12:00:00Z",
    "2027-02-29T12:00:00Z",
    "2030-13-01T12:00:00Z",
    "2030-01-31T24:00:00Z",
    "2030-01-31T12:60:00Z",
    "2030-01-31T12:00:00+24:00",
    "2030-01-31T12:00:00Z\n",
    " 2030-01-31T12:00:00Z",
    "2030-01-31T12:00:00Z[UTC]",
    "+002030-01-31T12:00:00Z",
    "1893456000",
  ];
  for (const text of texts) assertEquals(parseExpiry(text), undefined, text);
});
