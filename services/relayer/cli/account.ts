/**
 * The command `relayer account`: creates and changes the accounts of an
 * embedded ledger. It works beside a running service, which sees a change with
 * its next request.
 *
 * @module
 */

import {
  type CommandIo,
  readCommand,
  wrongArguments,
} from "../../shared/command_line.ts";
import { switchOption, textOption } from "../../shared/options.ts";
import { quote } from "../../shared/quote.ts";
import type { AccountRecord } from "../ledger/ledger.ts";
import type { AccountChange, LocalLedger } from "../ledger/local_ledger.ts";
import type { LedgerCommandOptions } from "./on_ledger.ts";

const FLAGS = {
  publicKey: textOption({
    help: "Public key of a delegate, 64 hexadecimal digits.",
  }),
  address: textOption({
    help: "Address of the owner of a new account without keys.",
  }),
  account: textOption({ help: "The account's id." }),
  label: textOption({ default: "", help: "The name of the key." }),
  json: switchOption({ help: "Write the account as JSON." }),
} as const;

const COMMAND = {
  usage: "relayer account create|show|add-key|remove-key|enable|disable",
  about:
    "create makes an account owned by the address of --public-key, or by " +
    "--address. show prints the account of --account, --public-key or " +
    "--address. add-key and remove-key change the delegates of --account. " +
    "disable blocks the account until enable. The commands change the " +
    "accounts in DATA_DIR, or with STORE=postgres in the database. Exit codes: 0 the change is in effect, 1 failure, " +
    "2 invalid arguments.",
  positionals: 1,
} as const;

interface Wanted {
  readonly publicKey: string | undefined;
  readonly address: string | undefined;
  readonly account: string | undefined;
  readonly label: string;
}

/**
 * Runs the command.
 *
 * @returns 0 when the account is as it was asked for, 1 when it cannot be, 2
 * when the arguments are wrong.
 */
export async function runAccount(
  args: readonly string[],
  options: LedgerCommandOptions,
): Promise<number> {
  const { io } = options;
  const read = readCommand(FLAGS, { args, io, command: COMMAND });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [verb = ""] } = read;
  const act = VERBS.get(verb);
  const fault = act === undefined
    ? `Cannot run ${quote(verb)}: there is no such command`
    : act.findFault(values);
  if (act === undefined || fault !== undefined) {
    return wrongArguments(fault ?? "", { io, command: COMMAND }).exitCode;
  }
  return await options.withLedger(async (change) => {
    const outcome = await change((ledger) => act.run(ledger, values));
    return tell(outcome, { io, isJson: values.json });
  });
}

/** Writes what became of a change, and returns the exit code. */
function tell(
  change: AccountChange,
  { io, isJson }: { readonly io: CommandIo; readonly isJson: boolean },
): number {
  switch (change.kind) {
    case "ok":
    case "exists":
      io.out(
        isJson
          ? JSON.stringify(toView(change.account))
          : describe(change.account),
      );
      return 0;
    case "missing":
      io.err("Cannot find it: no such account or key exists");
      return 1;
    case "invalid":
      io.err(change.message);
      return 1;
  }
}

interface Verb {
  /** Returns what is wrong with the arguments; undefined when nothing is. */
  readonly findFault: (wanted: Wanted) => string | undefined;
  readonly run: (ledger: LocalLedger, wanted: Wanted) => AccountChange;
}

const VERBS: ReadonlyMap<string, Verb> = new Map<string, Verb>([
  ["create", {
    findFault: ({ publicKey, address }) =>
      (publicKey === undefined) === (address === undefined)
        ? "Cannot create account: give either --public-key or --address"
        : undefined,
    run: (ledger, { publicKey, address = "", label }) =>
      ledger.createAccount(
        publicKey === undefined ? { address } : { publicKey, label },
      ),
  }],
  ["show", {
    findFault: ({ publicKey, address, account }) =>
      [publicKey, address, account].filter((one) => one !== undefined)
          .length === 1
        ? undefined
        : "Cannot show account: give one of --account, --public-key, --address",
    run: (ledger, { publicKey, address, account }) => {
      const found = account !== undefined
        ? ledger.record(account)
        : publicKey !== undefined
        ? ledger.byKey(publicKey)
        : ledger.byOwner(address ?? "");
      return found === undefined
        ? { kind: "missing" }
        : { kind: "exists", account: found };
    },
  }],
  ["add-key", {
    findFault: keyOfAccount,
    run: (ledger, { account = "", publicKey = "", label }) =>
      ledger.addDelegateKey(account, { publicKey, label }),
  }],
  ["remove-key", {
    findFault: keyOfAccount,
    run: (ledger, { account = "", publicKey = "" }) =>
      ledger.removeDelegateKey(account, publicKey),
  }],
  ["enable", switching(true)],
  ["disable", switching(false)],
]);

function keyOfAccount(
  { account, publicKey }: Wanted,
): string | undefined {
  return account === undefined || publicKey === undefined
    ? "Cannot change account: give --account and --public-key"
    : undefined;
}

function switching(isActive: boolean): Verb {
  return {
    findFault: ({ account }) =>
      account === undefined
        ? "Cannot change account: give --account"
        : undefined,
    run: (ledger, { account = "" }) => ledger.setActive(account, isActive),
  };
}

function toView(account: AccountRecord): Readonly<Record<string, unknown>> {
  return {
    account_id: account.accountId,
    owner: account.owner,
    active: account.isActive,
    delegate_keys: account.delegateKeys.map((key) => ({
      public_key: key.publicKey,
      address: key.address,
      label: key.label,
    })),
  };
}

function describe(account: AccountRecord): string {
  const lines = [
    `account  ${account.accountId}`,
    `owner    ${account.owner}`,
    `active   ${account.isActive ? "yes" : "no"}`,
    ...account.delegateKeys.map(({ publicKey, label }) =>
      `key      ${publicKey}${label === "" ? "" : `  ${label}`}`
    ),
  ];
  return lines.join("\n");
}
