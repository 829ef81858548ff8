/**
 * Gives every test without a `timeout` of its own a default one, so that a run
 * of the tests always ends. `deno test` has no option for that;
 * `deno task test` loads this file before the tests.
 *
 * @module
 */

/**
 * How long a test may take, in milliseconds; far longer than any test needs.
 */
const TIMEOUT_MS = readNumber("TEST_TIMEOUT_MS", 180_000) *
  // TEST_EFFORT multiplies the rounds of random tests; see
  // `tests/support/rounds.ts`.
  Math.max(1, readNumber("TEST_EFFORT", 1));
/**
 * The symbol under which the runner finds the line to report; see
 * `Deno.test.each` and `@std/testing`.
 */
const LOCATION = Symbol.for("Deno.test.location");

const register = Deno.test;

function test(...given: unknown[]): void {
  const definition = toDefinition(given);
  const { fn } = definition;
  register({
    timeout: TIMEOUT_MS,
    ...definition,
    fn: Object.assign((context: Deno.TestContext) => fn(context), {
      [LOCATION]: callSite(),
    }),
  });
}

/** Converts all forms of arguments that `Deno.test()` accepts to one. */
function toDefinition(given: readonly unknown[]): Deno.TestDefinition {
  const definition: Record<string, unknown> = {};
  for (const part of given) {
    if (typeof part === "string") definition["name"] = part;
    else if (typeof part === "function") {
      definition["fn"] = part;
      definition["name"] ??= part.name;
    } else Object.assign(definition, part);
  }
  if (typeof definition["fn"] !== "function") {
    throw new TypeError("Cannot register test: it has no function");
  }
  const { name, fn } = definition as unknown as Deno.TestDefinition;
  return { ...definition, fn, name: name ?? fn.name };
}

/**
 * Returns the place where the test is registered: the first stack frame outside
 * of this file.
 */
function callSite(): string | undefined {
  const lines = new Error().stack?.split("\n").slice(1) ?? [];
  const line = lines.find((text) => !text.includes(import.meta.url));
  return /\(?(\S+:\d+:\d+)\)?$/.exec(line ?? "")?.[1]?.replace(/^\(/, "");
}

function readNumber(variable: string, fallback: number): number {
  const text = Deno.env.get(variable) ?? "";
  const value = text === "" ? fallback : Number(text);
  if (value > 0 && value < Infinity) return value;
  throw new RangeError(
    `Cannot read ${variable}: "${text}" is not a number above 0`,
  );
}

Object.defineProperty(Deno, "test", { value: Object.assign(test, register) });
