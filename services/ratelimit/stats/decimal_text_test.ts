import { assertEquals } from "@std/assert";
import { decimalText } from "./decimal_text.ts";

Deno.test("decimalText() writes plain decimals", () => {
  assertEquals(decimalText(0), "0");
  assertEquals(decimalText(-0), "0");
  assertEquals(decimalText(9007199254740991), "9007199254740991");
  assertEquals(decimalText(1.5), "1.5");
  assertEquals(decimalText(-2.25), "-2.25");
  assertEquals(decimalText(0.1 + 0.2), "0.3");
});

Deno.test("decimalText() never writes an exponent", () => {
  assertEquals(decimalText(1e21), "1000000000000000000000");
  assertEquals(decimalText(-1e21), "-1000000000000000000000");
  assertEquals(decimalText(1e-7), "0");
  assertEquals(decimalText(-1e-9), "0");
  assertEquals(decimalText(0.000001), "0.000001");
  assertEquals(decimalText(1e20), "100000000000000000000");
});
