import { assertEquals } from "@std/assert";
import { switchFlag, textFlag } from "./flags.ts";
import { type CommandShape, readCommand } from "./read_command.ts";

const FLAGS = {
  to: textFlag({ default: "here", help: "Where to." }),
  json: switchFlag({ help: "Write JSON." }),
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
