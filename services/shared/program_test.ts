import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { integerOption } from "./options.ts";
import { type Program, type ProgramIo, runProgram } from "./program.ts";

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly calls: readonly (readonly string[])[];
}

async function play(
  args: readonly string[],
  change: Partial<Program> & Pick<ProgramIo, "calledAs"> = {},
): Promise<Run> {
  const calls: (readonly string[])[] = [];
  const texts = { out: "", err: "" };
  const { calledAs, ...rest } = change;
  const code = await runProgram({
    name: "demo",
    about: "shows things",
    commands: [{
      name: "check",
      about: "look whether it is whole",
      run(args) {
        calls.push(args);
        return 7;
      },
    }],
    examples: ["demo check --json"],
    ...rest,
  }, {
    args,
    io: {
      out: (text) => texts.out += text,
      err: (text) => texts.err += text,
      calledAs,
    },
  });
  return { code, calls, ...texts };
}

Deno.test("runProgram() hands a command its arguments and returns its code", async () => {
  const { code, calls } = await play(["check", "a", "--help"]);
  assertEquals([code, calls], [7, [["a", "--help"]]]);
});

Deno.test("runProgram() serves when there are no arguments, and shows help where it cannot", async () => {
  const served = await play([], { serve: () => Promise.resolve(5) });
  assertEquals(served.code, 5);
  const { code, err } = await play([]);
  assertEquals(code, 2);
  assertStringIncludes(err, "Usage:");
});

Deno.test("runProgram() shows commands and examples when help is asked for", async () => {
  for (const word of ["help", "-h", "-help", "--help"]) {
    const { code, out } = await play([word], { calledAs: "tercet demo" });
    assertEquals(code, 0);
    assertStringIncludes(out, "tercet demo check …");
    assertStringIncludes(out, "demo check --json");
  }
});

Deno.test("runProgram() shows settings when help about them is asked for, and not among the commands", async () => {
  const settings = {
    port: integerOption({ name: "PORT", default: 1, help: "A port." }),
  };
  const help = await play(["--help"], { settings });
  assertEquals(help.out.includes("PORT"), false);
  assertStringIncludes(help.out, "demo --help=settings");
  for (const args of [["--help=settings"], ["help", "settings"]]) {
    const { code, out } = await play(args, { settings });
    assertEquals(code, 0);
    assertStringIncludes(out, "PORT");
    assertEquals(out.includes("demo check"), false);
  }
  const none = await play(["--help=settings"]);
  assertEquals(none.code, 2);
  assertStringIncludes(none.err, 'Cannot run "settings"');
});

Deno.test("runProgram() asks a command for its help when it is named", async () => {
  for (const args of [["help", "check"], ["--help=check"]]) {
    const { calls } = await play(args);
    assertEquals(calls, [["--help"]]);
  }
});

Deno.test("runProgram() tells its version", async () => {
  const { code, out } = await play(["--version"]);
  assertEquals(code, 0);
  assertStringIncludes(out, "demo ");
  assertStringIncludes(out, "source");
});

Deno.test("runProgram() says what was probably meant when there is no such command", async () => {
  assertEquals(
    (await play(["chekc"])).err,
    'Cannot run "chekc": there is no such command; did you mean "demo check"?',
  );
  const other = await play(["help", "xyz"]);
  assertEquals(other.code, 2);
  assertEquals(
    other.err,
    'Cannot run "xyz": there is no such command; see demo --help',
  );
});

Deno.test("runProgram() tells without flags of the runtime when a command is not permitted something, and throws what is a mistake", async () => {
  const createProgram = (error: Error): Partial<Program> => ({
    commands: [{
      name: "check",
      about: "fail",
      run: () => Promise.reject(error),
    }],
  });
  const withheld = new Deno.errors.NotCapable(
    'Requires read access to "/a", run again with the --allow-read flag',
  );
  const { code, err } = await play(["check"], createProgram(withheld));
  assertEquals([code, err], [
    1,
    'Cannot run "demo check": the program was started without the permission ' +
    'to read "/a"',
  ]);
  const mistake = createProgram(new TypeError("a mistake"));
  await assertRejects(() => play(["check"], mistake), TypeError, "a mistake");
});
