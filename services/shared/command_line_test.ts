import { assertEquals, assertThrows, fail } from "@std/assert";
import { type CommandShape, parseFlags, readCommand } from "./command_line.ts";
import { flagName, flagsHelp } from "./option_help.ts";
import {
  choiceOption,
  durationOption,
  integerOption,
  type OptionValues,
  repeatedOption,
  switchOption,
  textOption,
} from "./options.ts";

const TABLE = {
  dialString: textOption({
    default: "localhost:8081",
    valueName: "host:port",
    help: "Server address.",
  }),
  domain: textOption({ help: "Domain." }),
  descriptors: repeatedOption({ help: "One descriptor." }),
  hits: integerOption({ aliases: ["n"], min: 0, default: 1, help: "Hits." }),
  timeout: durationOption({ default: "5s", max: "1m", help: "Bound." }),
  format: choiceOption({
    values: { text: "text", json: "json", jsonl: "json" },
    default: "text",
    help: "Form.",
  }),
  verbose: switchOption({ aliases: ["v"], help: "Say more." }),
} as const;

const DEFAULTS: OptionValues<typeof TABLE> = {
  dialString: "localhost:8081",
  domain: undefined,
  descriptors: [],
  hits: 1,
  timeout: 5000,
  format: "text",
  verbose: false,
};

Deno.test("parseFlags() gives the defaults when nothing is given", () => {
  assertEquals(readOk([]), DEFAULTS);
});

Deno.test("parseFlags() takes one dash or two, blank or equals sign", () => {
  const forms = [
    ["-domain", "a=b"],
    ["-domain=a=b"],
    ["--domain", "a=b"],
    ["--domain=a=b"],
  ];
  for (const args of forms) assertEquals(readOk(args).domain, "a=b");
});

Deno.test("parseFlags() takes dashes and underscores as the same", () => {
  for (const name of ["-dial_string", "--dial-string", "--dial_string"]) {
    assertEquals(readOk([name, "h:1"]).dialString, "h:1", name);
  }
  assertEquals(flagName("maxHTTPStreams_2"), "max-httpstreams-2");
});

Deno.test("parseFlags() reads every kind", () => {
  assertEquals(
    readOk([
      "-descriptors=a=1",
      "-n",
      "7",
      "--timeout=1m",
      "-v",
      "--format",
      "jsonl",
      "-descriptors",
      "b=2,c=3",
    ]),
    {
      ...DEFAULTS,
      descriptors: ["a=1", "b=2,c=3"],
      hits: 7,
      timeout: 60_000,
      format: "json",
      verbose: true,
    },
  );
});

Deno.test("parseFlags() lets a switch be set by a value", () => {
  assertEquals(readOk(["-v=false"]).verbose, false);
  assertEquals(readOk(["--verbose=1"]).verbose, true);
  assertEquals(
    readBad(["-v=yes"]),
    'Cannot read arguments: --verbose is "yes", expected true or false',
  );
});

Deno.test("parseFlags() takes the last value of a flag given twice", () => {
  assertEquals(readOk(["-domain=a", "-domain", "b"]).domain, "b");
});

Deno.test("parseFlags() takes a value that begins with a dash", () => {
  assertEquals(readOk(["-domain", "-5"]).domain, "-5");
  assertEquals(readOk(["-domain", "-"]).domain, "-");
  assertEquals(readOk(["-domain="]).domain, "");
});

Deno.test("parseFlags() separates positionals, and stops at two dashes", () => {
  const outcome = parseFlags(TABLE, ["a", "-v", "-", "--", "-domain", "x"]);
  if (outcome.kind !== "ok") fail("expected to be read");
  assertEquals(outcome.positionals, ["a", "-", "-domain", "x"]);
  assertEquals(outcome.values.verbose, true);
});

Deno.test("parseFlags() refuses more positionals than allowed", () => {
  const outcome = parseFlags(TABLE, ["a", "b\n"], { maxPositionals: 1 });
  assertEquals(outcome, {
    kind: "invalid",
    problem: 'Cannot read arguments: unexpected argument "b\\n"',
  });
});

Deno.test("parseFlags() asks for help", () => {
  for (const arg of ["-h", "-help", "--help", "--h"]) {
    assertEquals(parseFlags(TABLE, ["-v", arg, "--nonsense"]), {
      kind: "help",
    });
  }
  const own = { h: textOption({ help: "Host." }) } as const;
  assertEquals(parseFlags(own, ["-h", "x"]).kind, "ok");
});

Deno.test("parseFlags() tells what was probably meant", () => {
  assertEquals(
    readBad(["--domian", "x"]),
    'Cannot read arguments: unknown flag "--domian"; did you mean --domain?',
  );
  assertEquals(
    readBad(["-dail_string=x"]),
    'Cannot read arguments: unknown flag "-dail_string"; did you mean --dial-string?',
  );
  for (const arg of ["--__proto__", "--constructor", "-=x", "--=x"]) {
    assertEquals(
      readBad([arg]).endsWith("--help lists all flags"),
      true,
      arg,
    );
  }
});

Deno.test("parseFlags() tells when a value is missing or not accepted", () => {
  assertEquals(
    readBad(["-domain"]),
    "Cannot read arguments: -domain has no value",
  );
  assertEquals(
    readBad(["-domain", "--verbose"]),
    'Cannot read arguments: -domain has no value before "--verbose"; ' +
      'write "-domain=--verbose" if that is the value',
  );
  assertEquals(
    readBad(["-n", "-3"]),
    'Cannot read arguments: --hits is "-3", expected a whole number of 0 or more',
  );
});

Deno.test("parseFlags() wants the required flags", () => {
  const table = {
    domain: textOption({ required: true, help: "Domain." }),
    descriptors: repeatedOption({ required: true, help: "Descriptors." }),
  } as const;
  assertEquals(parseFlags(table, ["-domain", "d"]), {
    kind: "invalid",
    problem: "Cannot read arguments: --descriptors is missing",
  });
  const outcome = parseFlags(table, ["-domain", "d", "-descriptors", "a=b"]);
  if (outcome.kind !== "ok") fail("expected to be read");
  const domain: string = outcome.values.domain;
  assertEquals(domain, "d");
});

Deno.test("durationOption() throws when its default is not acceptable", () => {
  assertThrows(
    () => durationOption({ default: "5", help: "" }),
    TypeError,
    "Cannot declare option",
  );
});

Deno.test("flagsHelp() lists the flags in the order of the table", () => {
  const { dialString, descriptors, hits, verbose } = TABLE;
  const domain = textOption({ required: true, help: "Domain." });
  const table = { dialString, domain, descriptors, hits, verbose };
  assertEquals(
    flagsHelp(table, { usage: "client [flags]", about: "Asks a server." }),
    `Usage: client [flags]

Asks a server.

Flags:
  --dial-string <host:port>   Server address. Default: localhost:8081.
  --domain <text>             Domain. Required.
  --descriptors <text>        One descriptor. May be repeated.
  -n, --hits <number>         Hits. Default: 1.
  -v, --verbose               Say more.
  -h, --help                  Show this help.
`,
  );
});

function readOk(args: readonly string[]): OptionValues<typeof TABLE> {
  const outcome = parseFlags(TABLE, args);
  return outcome.kind === "ok" ? outcome.values : fail(JSON.stringify(outcome));
}

function readBad(args: readonly string[]): string {
  const outcome = parseFlags(TABLE, args);
  return outcome.kind === "invalid"
    ? outcome.problem
    : fail(JSON.stringify(outcome));
}

const FLAGS = {
  to: textOption({ default: "here", help: "Where to." }),
  json: switchOption({ help: "Write JSON." }),
} as const;

const MOVE: CommandShape = {
  usage: "move THING",
  about: "Moves something.",
  positionals: 1,
};

function run(
  args: readonly string[],
  command: CommandShape = MOVE,
): {
  readonly read: ReturnType<typeof readCommand<typeof FLAGS>>;
  readonly out: readonly string[];
  readonly err: readonly string[];
} {
  const out: string[] = [];
  const err: string[] = [];
  const io = {
    out: (text: string) => void out.push(text),
    err: (text: string) => void err.push(text),
  };
  return { read: readCommand(FLAGS, { args, io, command }), out, err };
}

Deno.test("readCommand() reads flags and arguments", () => {
  const { read, out, err } = run(["chair", "--to", "there", "--json"]);
  assertEquals(read, {
    kind: "ok",
    values: { to: "there", json: true },
    positionals: ["chair"],
  });
  assertEquals([out, err], [[], []]);
});

Deno.test("readCommand() answers --help and is done", () => {
  const { read, out, err } = run(["--help"]);
  assertEquals(read, { kind: "done", exitCode: 0 });
  assertEquals(out.join().includes("move THING"), true);
  assertEquals(err, []);
});

Deno.test("readCommand() tells what is wrong and how it is called", () => {
  const { positionals: _none, ...bare } = MOVE;
  const cases: readonly (readonly [readonly string[], CommandShape])[] = [
    [[], MOVE],
    [["chair", "table"], MOVE],
    [["chair"], bare],
    [["chair", "--from", "x"], MOVE],
  ];
  for (const [args, command] of cases) {
    const { read, out, err } = run(args, command);
    assertEquals(read, { kind: "done", exitCode: 2 }, args.join(" "));
    assertEquals(err.length, 2);
    assertEquals(err[1], "usage: move THING");
    assertEquals(out, []);
  }
});
