/**
 * Tests what this project expects of the `@std` packages, including every
 * symbol that it uses. The suite runs with the packages of JSR and with the
 * stand-ins of `scripts/offline/`, so that a difference in either of them is
 * noticed.
 *
 * @module
 */

import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertExists,
  assertInstanceOf,
  AssertionError,
  assertMatch,
  assertNotEquals,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
  assertThrows,
  fail,
} from "@std/assert";
import { STATUS_TEXT } from "@std/http/status";
import { parse, parseAll } from "@std/yaml";

// The checks of the assertions use plain `if` and `throw`: an assertion that
// never fails could not tell that it never fails.

/** Throws unless `assertion` fails with an AssertionError; returns its message. */
function catchMessage(assertion: () => unknown): string {
  try {
    assertion();
  } catch (error) {
    if (error instanceof AssertionError) return error.message;
    throw error;
  }
  throw new Error(`Nothing was thrown by ${assertion}`);
}

async function messageOfAsync(
  assertion: () => Promise<unknown>,
): Promise<string> {
  try {
    await assertion();
  } catch (error) {
    if (error instanceof AssertionError) return error.message;
    throw error;
  }
  throw new Error(`Nothing was thrown by ${assertion}`);
}

function expectText(actual: string, part: string): void {
  if (!actual.includes(part)) throw new Error(`No "${part}" in "${actual}"`);
}

/**
 * Returns an object that contains itself; each call returns another object of
 * the same shape.
 */
function makeCycle(): object {
  const cycle: { name: string; self?: object } = { name: "cycle" };
  cycle.self = cycle;
  return cycle;
}

class Point {
  readonly #x: number;
  constructor(x: number) {
    this.#x = x;
  }
  get x(): number {
    return this.#x;
  }
}

class OtherPoint {
  readonly x: number = 1;
}

class Empty {}

const nullPrototype: object = Object.assign(Object.create(null), { a: 1 });

const EQUAL: readonly (readonly [string, unknown, unknown])[] = [
  ["an object without prototype and a plain one", nullPrototype, { a: 1 }],
  ["0 and -0", 0, -0],
  ["NaN and NaN", [NaN], [NaN]],
  ["nested values", { a: [1, { b: null }] }, { a: [1, { b: null }] }],
  ["keys in another order", { a: 1, b: 2 }, { b: 2, a: 1 }],
  ["dates", new Date(5), new Date(5)],
  ["patterns", /a/g, /a/g],
  ["addresses", new URL("http://a/b"), new URL("http://a/b")],
  ["sets of objects", new Set([{ a: 1 }]), new Set([{ a: 1 }])],
  [
    "maps in another order",
    new Map([[1, 2], [3, 4]]),
    new Map([[3, 4], [1, 2]]),
  ],
  ["cycles", makeCycle(), makeCycle()],
  [
    "bytes at another offset",
    Uint8Array.of(1, 2, 3).subarray(1),
    Uint8Array.of(2, 3),
  ],
  ["objects of one class with the same content", new Point(1), new Point(1)],
];

const error = new Error("same");

const NOT_EQUAL: readonly (readonly [string, unknown, unknown])[] = [
  ["a number and its text", 1, "1"],
  ["null and undefined", null, undefined],
  ["a key that is undefined and one that is not there", { a: undefined }, {}],
  ["a list and an object", [], {}],
  ["lists of another length", [1], [1, 2]],
  ["an object of a class and a plain one", new Empty(), {}],
  ["objects of two classes", new Point(1), new OtherPoint()],
  ["objects of one class with another content", new Point(1), new Point(2)],
  ["two errors with one message", error, new Error("same")],
  ["dates", new Date(5), new Date(6)],
  ["patterns with other flags", /a/g, /a/i],
  ["addresses", new URL("http://a/b"), new URL("http://a/c")],
  ["sets", new Set([1]), new Set([2])],
  ["maps", new Map([[1, { a: 1 }]]), new Map([[1, { a: 2 }]])],
  ["bytes", Uint8Array.of(1), Uint8Array.of(2)],
  ["bytes and a list", Uint8Array.of(1), [1]],
  ["symbols as keys", { [Symbol.iterator]: 1 }, {}],
];

Deno.test("assertEquals() takes as equal what is, assertNotEquals() does not", () => {
  for (const [name, actual, expected] of EQUAL) {
    assertEquals(actual, expected, name);
    assertEquals(expected, actual, name);
    expectText(
      catchMessage(() => assertNotEquals(actual, expected, name)),
      name,
    );
  }
});

Deno.test("assertNotEquals() takes as different what is, assertEquals() does not", () => {
  for (const [name, actual, expected] of NOT_EQUAL) {
    assertNotEquals(actual, expected, name);
    assertNotEquals(expected, actual, name);
    expectText(catchMessage(() => assertEquals(actual, expected, name)), name);
  }
});

Deno.test("assertEquals() takes an error as equal to itself", () => {
  assertEquals(error, error);
});

Deno.test("assertEquals() shows both values when they differ", () => {
  const message = catchMessage(() =>
    assertEquals<unknown>({ shared: 1, name: "left" }, {
      shared: 1,
      name: "right",
    })
  );
  expectText(message, "Values are not equal.");
  expectText(message, "left");
  expectText(message, "right");
});

Deno.test("assert() narrows, and fails when the value is falsy", () => {
  const value: unknown = "text";
  assert(typeof value === "string");
  const text: string = value;
  assert(text);
  for (const falsy of [false, 0, "", null, undefined, NaN]) {
    expectText(
      catchMessage(() => assert(falsy, "given message")),
      "given message",
    );
  }
});

Deno.test("assertStrictEquals() compares as Object.is does, and narrows", () => {
  const list: unknown[] = [];
  assertStrictEquals(list, list);
  assertStrictEquals(NaN, NaN);
  const value: unknown = "text";
  assertStrictEquals<string>(value, "text");
  const text: string = value;
  assertEquals(text.length, 4);
  catchMessage(() => assertStrictEquals(0, -0));
  expectText(
    catchMessage(() => assertStrictEquals<unknown>([], [])),
    "same structure",
  );
  expectText(
    catchMessage(() => assertStrictEquals<unknown>("1", 1, "why")),
    "Values are not strictly equal: why",
  );
});

Deno.test("assertExists() narrows, and fails for null and undefined alone", () => {
  for (const value of [0, "", false, NaN]) assertExists(value);
  const value = new Map([["key", "text"]]).get("key");
  assertExists(value);
  const text: string = value;
  assertEquals(text, "text");
  for (const nothing of [null, undefined]) {
    expectText(catchMessage(() => assertExists(nothing)), "null or undefined");
  }
});

Deno.test("assertInstanceOf() narrows, and names both classes when it fails", () => {
  const value: unknown = new TypeError("text");
  assertInstanceOf(value, Error);
  const caught: Error = value;
  assertEquals(caught.message, "text");
  const message = catchMessage(() => assertInstanceOf(new Date(), RegExp));
  expectText(message, "RegExp");
  expectText(message, "Date");
  for (const other of [null, undefined, 1, "text", {}]) {
    catchMessage(() => assertInstanceOf(other, Date));
  }
});

Deno.test("assertMatch() and assertStringIncludes() look into a text", () => {
  assertMatch("raboof", /^ra/);
  assertStringIncludes("raboof", "boo");
  expectText(catchMessage(() => assertMatch("raboof", /^b/)), "raboof");
  expectText(
    catchMessage(() => assertStringIncludes("raboof", "xyz")),
    "xyz",
  );
});

Deno.test("assertAlmostEquals() allows a ten-millionth, or what it is told", () => {
  assertAlmostEquals(0.1 + 0.2, 0.3);
  assertAlmostEquals(1_000_000, 1_000_000.05);
  assertAlmostEquals(1, 1.4, 0.5);
  assertAlmostEquals(Infinity, Infinity);
  assertAlmostEquals(NaN, NaN);
  catchMessage(() => assertAlmostEquals(1, 1.000001));
  catchMessage(() => assertAlmostEquals(1, 1.6, 0.5));
  catchMessage(() => assertAlmostEquals(1, NaN));
});

Deno.test("assertThrows() returns the error, and checks its class and text", () => {
  const thrower = () => {
    throw new TypeError("what went wrong");
  };
  const typed: TypeError = assertThrows(thrower, TypeError, "went wrong");
  assertEquals(typed.message, "what went wrong");
  assertInstanceOf(assertThrows(thrower), TypeError);
  assertThrows(thrower, Error);
  assertEquals(
    assertThrows(() => {
      throw "a text";
    }),
    "a text",
  );
  expectText(
    catchMessage(() => assertThrows(() => {}, "why")),
    "Expected function to throw: why",
  );
  expectText(
    catchMessage(() => assertThrows(thrower, RangeError)),
    "RangeError",
  );
  expectText(
    catchMessage(() => assertThrows(thrower, TypeError, "else")),
    "else",
  );
  catchMessage(() =>
    assertThrows(() => {
      throw "a text";
    }, Error)
  );
});

Deno.test("assertRejects() returns the error, and checks its class and text", async () => {
  const rejecter = () => Promise.reject(new TypeError("what went wrong"));
  const typed: TypeError = await assertRejects(
    rejecter,
    TypeError,
    "went wrong",
  );
  assertEquals(typed.message, "what went wrong");
  assertInstanceOf(await assertRejects(rejecter), TypeError);
  await assertRejects(rejecter, Error);
  expectText(
    await messageOfAsync(() => assertRejects(() => Promise.resolve(1), "why")),
    "Expected function to reject: why",
  );
  expectText(
    await messageOfAsync(() => assertRejects(rejecter, RangeError)),
    "RangeError",
  );
  expectText(
    await messageOfAsync(() => assertRejects(rejecter, TypeError, "else")),
    "else",
  );
});

Deno.test("assertRejects() fails when the function throws before it returns a promise", async () => {
  expectText(
    await messageOfAsync(() =>
      assertRejects(() => {
        throw new TypeError("at once");
      }, TypeError)
    ),
    "Function throws when expected to reject",
  );
});

Deno.test("fail() fails with the message", () => {
  expectText(catchMessage(() => fail()), "Failed assertion");
  expectText(catchMessage(() => fail("why")), "Failed assertion: why");
});

Deno.test("AssertionError is an error with a name", () => {
  const made = new AssertionError("text");
  assertInstanceOf(made, Error);
  assertEquals(made.name, "AssertionError");
});

Deno.test("STATUS_TEXT has a text for every code", () => {
  const code: keyof typeof STATUS_TEXT = 203;
  assertEquals(STATUS_TEXT[code], "Non Authoritative Info");
  assertEquals(STATUS_TEXT[418], "I'm a teapot");
  assertEquals(STATUS_TEXT[200], "OK");
  assertEquals(STATUS_TEXT[226], "IM Used");
  assertEquals(STATUS_TEXT[414], "URI Too Long");
  assertEquals(STATUS_TEXT[505], "HTTP Version Not Supported");
  // @ts-expect-error Only codes that exist have a text.
  assertEquals(STATUS_TEXT[299], undefined);
});

const PLAIN_VALUES = "a: 1\nb: true\nc: 2020-01-02\nd: ~\ne: text\nf: 0x10\n";

Deno.test("parse() makes values of plain scalars by the schema", () => {
  const date = new Date(Date.UTC(2020, 0, 2));
  assertEquals(parse(PLAIN_VALUES), {
    a: 1,
    b: true,
    c: date,
    d: null,
    e: "text",
    f: 16,
  });
  assertEquals(
    parse(PLAIN_VALUES, { schema: "default" }),
    parse(PLAIN_VALUES),
  );
  assertEquals(parse(PLAIN_VALUES, { schema: "core" }), {
    a: 1,
    b: true,
    c: "2020-01-02",
    d: null,
    e: "text",
    f: 16,
  });
  assertEquals(parse(PLAIN_VALUES, { schema: "failsafe" }), {
    a: "1",
    b: "true",
    c: "2020-01-02",
    d: "~",
    e: "text",
    f: "0x10",
  });
});

Deno.test("parse() follows merge keys by the schema", () => {
  const text = "a: &a {b: 1}\nc: {<<: *a, d: 2}\n";
  const merged = { a: { b: 1 }, c: { b: 1, d: 2 } };
  assertEquals(parse(text), merged);
  assertEquals(parse(text, { schema: "core" }), {
    a: { b: 1 },
    c: { "<<": { b: 1 }, d: 2 },
  });
});

Deno.test("parse() reads what configuration files hold", () => {
  const text = `
# a comment
domain: mongo_cps
descriptors:
  - key: database
    value: "users"
    rate_limit: { unit: second, requests_per_unit: 500 }
  - key: 'single ''quoted'''
    block: |
      two
      lines
    folded: >-
      one
      line
  - &anchor
    key: shared
  - *anchor
`;
  assertEquals(parse(text), {
    domain: "mongo_cps",
    descriptors: [
      {
        key: "database",
        value: "users",
        rate_limit: { unit: "second", requests_per_unit: 500 },
      },
      { key: "single 'quoted'", block: "two\nlines\n", folded: "one line" },
      { key: "shared" },
      { key: "shared" },
    ],
  });
});

Deno.test("parse() merges a mapping into another with the default schema", () => {
  const text = "base: &base { a: 1, b: 2 }\nmore:\n  <<: *base\n  b: 3\n";
  assertEquals(parse(text), {
    base: { a: 1, b: 2 },
    more: { a: 1, b: 3 },
  });
});

Deno.test("parse() gives null for a document with nothing in it", () => {
  for (const text of ["", "\n", "# only a comment\n", "---\n"]) {
    assertStrictEquals(parse(text), null);
  }
});

Deno.test("parse() takes __proto__ as a key like any other", () => {
  const value = parse("__proto__: { polluted: true }\n");
  assertExists(value);
  assertEquals(Object.hasOwn(value, "__proto__"), true);
  assertEquals(Object.getPrototypeOf(value), Object.prototype);
  assertEquals(Reflect.get({}, "polluted"), undefined);
});

Deno.test("parse() refuses a key that comes twice, unless it is allowed", () => {
  const text = "a: 1\nb: 2\na: 3\n";
  assertThrows(() => parse(text), SyntaxError);
  assertThrows(() => parse(text, { schema: "core" }), SyntaxError);
  assertEquals(parse(text, { allowDuplicateKeys: true }), { a: 3, b: 2 });
});

/**
 * Returns the line of a fault. The real package has it as a property since 1.2,
 * and before that only as the text "at line 3, column 4" in the message. The
 * stand-in has both.
 */
function readLine(fault: SyntaxError): number {
  const line: unknown = Reflect.get(fault, "line");
  if (typeof line === "number") return line;
  return Number(/ at line (\d+), column \d+/.exec(fault.message)?.[1]);
}

Deno.test("parse() throws a SyntaxError that tells the line, counted from 1", () => {
  const faults: readonly (readonly [string, number])[] = [
    ["a: b: c\n", 1],
    ["a: 1\nb: [1, 2\nc: 3\n", 3],
    ["a: 1\n  b: 2\n", 2],
    ["a: 1\nb: @x\n", 2],
    ["a: 1\nb: *unknown\n", 2],
    ["a: 1\nb: 2\nb: 3\n", 3],
  ];
  for (const [text, line] of faults) {
    const fault = assertThrows(() => parse(text), SyntaxError);
    assertEquals(readLine(fault), line, text);
  }
});

Deno.test("parse() refuses tags that make code, and unknown ones", () => {
  for (const tag of ["!!js/function 'function () {}'", "!unknown x"]) {
    assertThrows(() => parse(`a: ${tag}\n`), SyntaxError);
  }
});

Deno.test("parse() refuses a text of several documents, parseAll() reads them", () => {
  const text = "---\na: 1\n---\n- b\n---\n";
  assertThrows(() => parse(text), SyntaxError);
  assertEquals(parseAll(text), [{ a: 1 }, ["b"], null]);
  assertEquals(parseAll("a: 1\n", { schema: "failsafe" }), [{ a: "1" }]);
  assertEquals(parseAll(""), []);
  assertThrows(() => parseAll("a: 1\n---\nb: [\n"), SyntaxError);
});
