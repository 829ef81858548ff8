import { assertEquals } from "@std/assert";
import { scrubJson } from "./scrub_json.ts";

const OPTIONS = {
  scrubText: (text: string) => text.replaceAll("secret", "***"),
  scrubsNumbers: false,
};

Deno.test("scrubJson() scrubs strings and names at any depth", () => {
  const value = {
    a: ["secret", { "my secret": "x secret y" }],
    b: [[["secret"]]],
  };
  assertEquals(scrubJson(value, OPTIONS), {
    a: ["***", { "my ***": "x *** y" }],
    b: [[["***"]]],
  });
  assertEquals(value.a[0], "secret");
});

Deno.test("scrubJson() leaves all other values", () => {
  for (
    const value of [null, true, 0, -1.5, "", [], {}, [null, [false]], "plain"]
  ) {
    assertEquals(scrubJson(value, OPTIONS), value);
  }
});

Deno.test("scrubJson() keeps the order and every name", () => {
  const text = '{"b":1,"__proto__":{"x":"secret"},"a":2,"constructor":3,"7":4}';
  const scrubbed = scrubJson(JSON.parse(text), OPTIONS);
  assertEquals(
    JSON.stringify(scrubbed),
    '{"7":4,"b":1,"__proto__":{"x":"***"},"a":2,"constructor":3}',
  );
});

Deno.test("scrubJson() numbers names that become the same", () => {
  const value = { secret: 1, "***": 2, x: 3 };
  assertEquals(scrubJson(value, OPTIONS), { "***": 1, "*** (2)": 2, x: 3 });
});

Deno.test("scrubJson() makes a number that is a secret a string", () => {
  const scrubText = (text: string) => text.replaceAll("12345678", "***");
  const value = [12345678, 912345678, 1234567];
  assertEquals(
    scrubJson(value, { scrubText, scrubsNumbers: true }),
    ["***", "9***", 1234567],
  );
  assertEquals(scrubJson(value, { scrubText, scrubsNumbers: false }), value);
});

Deno.test("scrubJson() doesn't mind the depth", () => {
  let value: unknown = "secret";
  for (let depth = 0; depth < 100_000; depth++) value = [value];
  let scrubbed = scrubJson(value, OPTIONS);
  while (Array.isArray(scrubbed)) scrubbed = scrubbed[0];
  assertEquals(scrubbed, "***");
});
