import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { assertGrowth } from "../../../tests/support/growth.ts";
import { eachRound } from "../../../tests/support/rounds.ts";
import { Scrubber } from "./scrub.ts";

Deno.test("Scrubber.scrubText() puts the name in the place of a value", () => {
  const scrubber = createScrubber({ KEY: "correct-horse" });
  assertEquals(
    scrubber.scrubText("é correct-horse, correct-horsecorrect-horse."),
    "é [secret KEY], [secret KEY][secret KEY].",
  );
  assertEquals(scrubber.scrubText("correct-horse"), "[secret KEY]");
});

Deno.test("Scrubber.scrubText() gives back the very text without secrets", () => {
  const scrubber = createScrubber({ KEY: "hunter2hunter2" });
  const texts = [
    "",
    "short",
    "hunter2hunter",
    "x\ud800".repeat(20),
    "\uFEFFa".repeat(9),
  ];
  for (const text of texts) assertStrictEquals(scrubber.scrubText(text), text);
});

Deno.test("Scrubber.scrubText() finds values of eight characters, not of seven", () => {
  const scrubber = createScrubber({
    SEVEN: "1234567",
    EIGHT: "abcdefgh",
    BITS: "é".repeat(7),
  });
  assertEquals(
    scrubber.scrubText(`1234567 abcdefgh ${"é".repeat(7)}`),
    `1234567 [secret EIGHT] ${"é".repeat(7)}`,
  );
  assertEquals(
    new Scrubber([]).scrubText("anything at all"),
    "anything at all",
  );
});

Deno.test("Scrubber.scrubText() prefers the longest value", () => {
  const scrubber = createScrubber({
    INNER: "middle-part",
    OUTER: "left-middle-part-right",
    TAIL: "part-right",
  });
  assertEquals(
    scrubber.scrubText("left-middle-part-right left-middle-part middle-part"),
    "[secret OUTER] left-[secret INNER] [secret INNER]",
  );
});

Deno.test("Scrubber.scrubText() leaves nothing of values that overlap", () => {
  const scrubber = createScrubber({
    A: "aaaa-bbbb",
    B: "bbbb-cccc",
    C: "xyxyxyxy",
  });
  assertEquals(
    scrubber.scrubText("<aaaa-bbbb-cccc>"),
    "<[secret A][secret B]>",
  );
  assertEquals(scrubber.scrubText(`<${"xy".repeat(9)}>`), "<[secret C]>");
});

Deno.test("Scrubber.scrubText() finds encoded values", () => {
  const value = 'p"ä/s\\s w+o&r=d\n🔑\u2028';
  const scrubber = createScrubber({ KEY: value });
  const json = JSON.stringify(value).slice(1, -1);
  const ascii = json.replace(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  const percent = encodeURIComponent(value);
  const base64 = toBase64(value);
  const hex = toHex(value);
  const forms = [
    value,
    json,
    ascii,
    ascii.toUpperCase().replaceAll("\\U", "\\u").replaceAll("\\N", "\\n")
      .replace("P", "p").replace("S", "s").replace("S W+O&R=D", "s w+o&r=d"),
    json.replaceAll("/", "\\/"),
    JSON.stringify(json).slice(1, -1),
    percent,
    percent.toLowerCase(),
    new URLSearchParams([["", value]]).toString().slice(1),
    [...new TextEncoder().encode(value)]
      .map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join(""),
    [...new TextEncoder().encode(value)]
      .map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join(""),
    hex,
    hex.toUpperCase(),
    hex.replace(/.[a-f]/g, (pair) => pair.toUpperCase()),
    hex.replace(/..(?=.)/g, "$&:"),
    hex.replace(/..(?=.)/g, "$& "),
    base64,
    base64.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, ""),
    base64.replace(/.{10}/g, "$&\r\n"),
    JSON.stringify(base64).slice(1, -1).replaceAll("/", "\\/"),
    encodeURIComponent(base64),
  ];
  for (const form of forms) {
    const text = `<${form}> and "${form}"`;
    assertEquals(
      scrubber.scrubText(text),
      '<[secret KEY]> and "[secret KEY]"',
      form,
    );
  }
});

Deno.test("Scrubber.scrubText() finds values in the middle of base64", () => {
  const value = "s3cr3t-value";
  const scrubber = createScrubber({ KEY: value });
  for (const user of ["", "a", "ab", "abc", "user:", "someone:"]) {
    for (const end of ["", "x", "xy", "xyz", "\n"]) {
      const encoded = btoa(user + value + end);
      const scrubbed = scrubber.scrubText(`authorization: Basic ${encoded}`);
      const [before, after] = scrubbed.split("[secret KEY]");
      assert(before !== undefined && after !== undefined, scrubbed);
      // What is left decodes to nothing but the text around the secret.
      const head = before.slice("authorization: Basic ".length);
      assert(btoa(user).startsWith(head), scrubbed);
      assert(after.length <= 8, scrubbed);
    }
  }
});

Deno.test("Scrubber.scrubText() finds encodings within one another", () => {
  const value = "~~~???>>>ÿÿÿ";
  const scrubber = createScrubber({ KEY: value });
  const base64 = toBase64(value);
  assert(base64.includes("/") && base64.includes("+"), base64);
  const forms = [
    encodeURIComponent(base64),
    base64.replaceAll("/", "\\/"),
    base64.replaceAll("/", "\\\\/"),
    `\\n${encodeURIComponent(value)}`.replaceAll("%3F", "\\u00253F").slice(2),
  ];
  for (const form of forms) {
    assertEquals(scrubber.scrubText(`<${form}>`), "<[secret KEY]>", form);
  }
});

Deno.test("Scrubber.scrubText() keeps the text around an encoded value", () => {
  const scrubber = createScrubber({ KEY: "top secret" });
  assertEquals(
    scrubber.scrubText('GET /?a=%20&k=top%20secret&b=%2F "q\\n" top+secret'),
    'GET /?a=%20&k=[secret KEY]&b=%2F "q\\n" [secret KEY]',
  );
});

Deno.test("Scrubber.scrubText() handles half a surrogate pair beside a secret", () => {
  const scrubber = createScrubber({ KEY: "hunter2hunter2" });
  assertEquals(
    scrubber.scrubText("\ud83d hunter2hunter2 \udd11"),
    "\ufffd [secret KEY] \ufffd",
  );
});

Deno.test("Scrubber.scrubText() finds the beginning of a value where a text was cut", () => {
  const scrubber = createScrubber({
    KEY: "correct-horse",
    OTHER: "rectangular",
  });
  const cut = (text: string) => scrubber.scrubText(text, { isCut: true });
  assertEquals(cut("it is correct-hor"), "it is [secret KEY]");
  assertEquals(cut("it is corr"), "it is [secret KEY]");
  assertEquals(cut("it is cor"), "it is cor");
  assertEquals(cut("corr"), "[secret KEY]");
  assertEquals(cut("correct-horse corr, or"), "[secret KEY] corr, or");
  assertEquals(
    cut("correct-horse, cor-rect"),
    "[secret KEY], cor-[secret OTHER]",
  );
  assertEquals(cut("correct-horse"), "[secret KEY]");
  // Without its first part, a value is not recognized.
  assertEquals(cut("it is orrect-hor"), "it is orrect-hor");
  assertEquals(scrubber.scrubText("it is correct-hor"), "it is correct-hor");
});

Deno.test("Scrubber.scrubText() leaves three characters at most of an encoded value that was cut", () => {
  const value = 'p"ä/s\\s w+o&r=d\n🔑\u2028';
  const start = 'p"ä/';
  const scrubber = createScrubber({ KEY: value });
  const json = (text: string) => JSON.stringify(text).slice(1, -1);
  const ascii = (text: string) =>
    json(text).replace(
      /[^\x20-\x7e]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
  const encoders = [
    (text: string) => text,
    json,
    ascii,
    (text: string) => json(json(text)),
    (text: string) => ascii(ascii(text)),
    encodeURIComponent,
    (text: string) => new URLSearchParams([["", text]]).toString().slice(1),
    (text: string) => json(encodeURIComponent(text)),
  ];
  for (const encode of encoders) {
    const form = encode(value);
    for (let end = encode(start).length; end < form.length; end++) {
      // Half a character at the cut is dropped when the bytes are decoded.
      const rest = form.slice(0, end).replace(/[\ud800-\udbff]$/, "");
      const text = `<${form}> <${rest}`;
      assertEquals(
        scrubber.scrubText(text, { isCut: true }),
        "<[secret KEY]> <[secret KEY]",
        text,
      );
    }
  }
});

Deno.test("Scrubber.scrubText() finds the beginning of a value in base64 that was cut", () => {
  const value = "~~~???>>>ÿÿÿ-and-more";
  const scrubber = createScrubber({ KEY: value });
  const forms = [
    (text: string) => text,
    encodeURIComponent,
    (text: string) => text.replaceAll("/", "\\/"),
    (text: string) => text.replace(/.{10}/g, "$&\r\n"),
    (text: string) => text.replaceAll("+", "-").replaceAll("/", "_"),
  ];
  for (const before of ["", "a", "ab", "user:"]) {
    const whole = toBase64(before + value).replace(/=+$/, "");
    const safe = Math.ceil((before.length + 4) * 8 / 6);
    for (const form of forms) {
      for (
        let end = form(whole.slice(0, safe)).length;
        end < form(whole).length;
        end++
      ) {
        const text = `Basic ${form(whole).slice(0, end)}`;
        const scrubbed = scrubber.scrubText(text, { isCut: true });
        assert(scrubbed.endsWith("[secret KEY]"), `${text}: ${scrubbed}`);
        const kept = scrubbed.slice("Basic ".length, -"[secret KEY]".length);
        assert(toBase64(before).startsWith(kept), `${text}: ${scrubbed}`);
      }
    }
  }
});

Deno.test("Scrubber.scrubText() finds the beginning of a value in hexadecimal that was cut", () => {
  const value = "~~~???>>>ÿÿÿ-and-more";
  const scrubber = createScrubber({ KEY: value });
  for (const before of ["", "a", "user:"]) {
    const whole = toHex(before + value);
    for (let end = 2 * before.length + 8; end < whole.length; end++) {
      const scrubbed = scrubber.scrubText(`x ${whole.slice(0, end)}`, {
        isCut: true,
      });
      assertEquals(scrubbed, `x ${toHex(before)}[secret KEY]`);
    }
  }
});

Deno.test("Scrubber.scrubJson() scrubs strings, names and numbers", () => {
  const scrubber = createScrubber({ PIN: "12345678", KEY: 'a"b\\c\nd/e' });
  assertEquals(
    scrubber.scrubJson({
      note: 'is a"b\\c\nd/e',
      'x a"b\\c\nd/e': [12345678, 1234567, { deep: "12345678" }],
      raw: JSON.stringify({ inner: 'a"b\\c\nd/e' }),
    }),
    {
      note: "is [secret KEY]",
      "x [secret KEY]": ["[secret PIN]", 1234567, { deep: "[secret PIN]" }],
      raw: '{"inner":"[secret KEY]"}',
    },
  );
});

Deno.test("Scrubber.scrubText() leaves no value in any text", async () => {
  const letters = [...'aab"\\/%+ é🔑\n'];
  const encoders = [
    (text: string) => text,
    (text: string) => JSON.stringify(text).slice(1, -1),
    (text: string) => encodeURIComponent(text),
    toBase64,
    toHex,
    (text: string) => toHex(text).toUpperCase(),
  ];
  await eachRound({ rounds: 300, seed: 8 }, ({ random }) => {
    const word = (least: number) =>
      Array.from(
        { length: least + random.below(6) },
        () => random.pick(letters),
      ).join("");
    const values = Array.from({ length: 1 + random.below(5) }, () => word(8));
    const scrubber = new Scrubber(
      values.map((value, n) => ({ name: `N${n}`, value })),
    );
    const pieces = random.list(
      8,
      () =>
        random.chance(0.5)
          ? random.pick(encoders)(random.pick(values))
          : random.pick(encoders)(word(0)),
    );
    const scrubbed = scrubber.scrubText(pieces.join(","));
    for (const value of values) {
      for (const encoder of encoders) {
        assert(
          !scrubbed.includes(encoder(value)),
          JSON.stringify({ values, pieces, scrubbed }),
        );
      }
    }
  });
});

Deno.test("Scrubber.scrubText() takes no longer for secrets alike", async () => {
  const scrub = (length: number) => {
    const scrubber = new Scrubber(Array.from({ length: 20 }, (_, n) => ({
      name: `N${n}`,
      value: `${"%61".repeat(length / 10 + n)}\\n`,
    })));
    const text = "%61".repeat(length) + "\\n";
    return () => assert(scrubber.scrubText(text).endsWith("[secret N19]"));
  };
  // A scrubber that tries each secret at each place takes sixteen times as
  // long.
  await assertGrowth({ small: scrub(1_000), large: scrub(4_000), atMost: 8 });
});

function createScrubber(secrets: Readonly<Record<string, string>>): Scrubber {
  return new Scrubber(
    Object.entries(secrets).map(([name, value]) => ({ name, value })),
  );
}

function toBase64(text: string): string {
  return new TextEncoder().encode(text).toBase64();
}

function toHex(text: string): string {
  return new TextEncoder().encode(text).toHex();
}

const SCRUBBER = new Scrubber([{ name: "S", value: "a secret" }]);

Deno.test("Scrubber.scrubJson() scrubs strings and names at any depth", () => {
  const value = {
    a: ["a secret", { "my a secret": "x a secret y" }],
    b: [[["a secret"]]],
  };
  assertEquals(SCRUBBER.scrubJson(value), {
    a: ["[secret S]", { "my [secret S]": "x [secret S] y" }],
    b: [[["[secret S]"]]],
  });
  assertEquals(value.a[0], "a secret");
});

Deno.test("Scrubber.scrubJson() leaves all other values", () => {
  for (
    const value of [null, true, 0, -1.5, "", [], {}, [null, [false]], "plain"]
  ) {
    assertEquals(SCRUBBER.scrubJson(value), value);
  }
});

Deno.test("Scrubber.scrubJson() keeps the order and every name", () => {
  const text =
    '{"b":1,"__proto__":{"x":"a secret"},"a":2,"constructor":3,"7":4}';
  assertEquals(
    JSON.stringify(SCRUBBER.scrubJson(JSON.parse(text))),
    '{"7":4,"b":1,"__proto__":{"x":"[secret S]"},"a":2,"constructor":3}',
  );
});

Deno.test("Scrubber.scrubJson() numbers names that become the same", () => {
  const value = { "a secret": 1, "[secret S]": 2, x: 3 };
  assertEquals(SCRUBBER.scrubJson(value), {
    "[secret S]": 1,
    "[secret S] (2)": 2,
    x: 3,
  });
});

Deno.test("Scrubber.scrubJson() makes a number that is a secret a string", () => {
  const numbers = new Scrubber([{ name: "N", value: "12345678" }]);
  const value = [12345678, 912345678, 1234567];
  assertEquals(numbers.scrubJson(value), [
    "[secret N]",
    "9[secret N]",
    1234567,
  ]);
  assertEquals(SCRUBBER.scrubJson(value), value);
});

Deno.test("Scrubber.scrubJson() doesn't mind the depth", () => {
  let value: unknown = "a secret";
  for (let depth = 0; depth < 100_000; depth++) value = [value];
  let scrubbed = SCRUBBER.scrubJson(value);
  while (Array.isArray(scrubbed)) scrubbed = scrubbed[0];
  assertEquals(scrubbed, "[secret S]");
});
