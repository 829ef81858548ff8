/**
 * Runs the commands `account` and `ledger` as a terminal does.
 *
 * @module
 */

import { FakeClock } from "../../../../tests/support/fake_clock.ts";
import { runAccount } from "../account.ts";
import { runLedger } from "../ledger.ts";
import { type LedgerCommandOptions, withLedgerFile } from "../on_ledger.ts";

/** What a command wrote, its lines joined. */
interface Ran {
  /** Its exit code. */
  readonly code: number;
  /** Its output. */
  readonly out: string;
  /** Its errors. */
  readonly err: string;
}

/** Runs a command with its arguments. */
export type RunCommand = (
  name: "account" | "ledger",
  ...args: readonly string[]
) => Promise<Ran>;

/** Returns what runs commands on the ledger that `withLedger` passes on. */
export function commandsOn(
  withLedger: LedgerCommandOptions["withLedger"],
): RunCommand {
  return async (name, ...args) => {
    const [out, err]: [string[], string[]] = [[], []];
    const io = {
      out: (text: string) => void out.push(text),
      err: (text: string) => void err.push(text),
    };
    const run = name === "account" ? runAccount : runLedger;
    const code = await run(args, { io, withLedger });
    return { code, out: out.join("\n"), err: err.join("\n") };
  };
}

/** Passes commands on a new ledger file, and its path, to a function. */
export async function withFileCommands(
  use: (run: RunCommand, ledgerPath: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  const ledgerPath = `${folder}/ledger.db`;
  const file = { ledgerPath, clock: new FakeClock() };
  try {
    await use(commandsOn((change) => withLedgerFile(file, change)), ledgerPath);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
