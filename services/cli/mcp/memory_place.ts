/**
 * Which memories a command works with: those of a relayer, with a key or an
 * access token, or those in a folder of this machine.
 *
 * @module
 */

import { type Option, textOption } from "../../shared/options.ts";
import { quote } from "../../shared/quote.ts";
import {
  defaultMemoryFolder,
  homeFolder,
  type UserPlace,
} from "./user_folders.ts";

/** A flag that may stand alone, or have a text behind `=`. */
function bareOption(help: string): Option<string | undefined> {
  return { ...textOption({ help, valueName: "" }), bareText: "" };
}

/** The flag that names memories of this machine. */
export const LOCAL_FLAG: Option<string | undefined> = bareOption(
  "Keep memories in a folder of this machine, without a relayer. Default of " +
    "the folder: tercet/memory in the folder for data of programs.",
);

/** Flags that name the memories of a relayer. */
export const REMOTE_FLAGS = {
  relayer: textOption({
    help: "Address of the relayer. Default: the variable TERCET_RELAYER, the " +
      "one that --credentials names, or http://localhost:8000.",
  }),
  account: textOption({
    help: "The account's id. Default: the variable TERCET_ACCOUNT.",
  }),
  keyFile: textOption({
    help: "File with the private key of a delegate, which only you may read. " +
      "Default: the variable TERCET_KEY.",
  }),
  tokenFile: textOption({
    help: "File with an access token in place of account and key. Default: " +
      "the variable TERCET_TOKEN.",
  }),
  credentials: bareOption(
    "Take account, key and relayer from a file. Default of the file: " +
      ".memwal/credentials.json in your home folder.",
  ),
  namespace: textOption({
    help: "Namespace of calls that name none. Default: the variable " +
      "TERCET_NAMESPACE, or default.",
  }),
} as const;

/** Flags that name the memories. */
export const MEMORY_FLAGS = {
  local: LOCAL_FLAG,
  ...REMOTE_FLAGS,
} as const;

/** The values of {@linkcode MEMORY_FLAGS}. */
export type MemoryValues = Readonly<
  Record<keyof typeof MEMORY_FLAGS, string | undefined>
>;

/** Which memories the flags name. */
export type MemoryPlace =
  | { readonly kind: "local"; readonly folder: string }
  | {
    readonly kind: "remote";
    /** Where the secret is; it is read when it is needed. */
    readonly secret:
      | { readonly kind: "variable"; readonly name: string }
      | {
        readonly kind: "key" | "token" | "credentials";
        readonly path: string;
      };
    /**
     * The relayer; undefined where a file names it, or for the one of this
     * machine.
     */
    readonly relayer: string | undefined;
    /** The account; undefined where the secret names it. */
    readonly account: string | undefined;
  }
  | {
    readonly kind: "invalid";
    /** What is wrong with the flags, and what to do. */
    readonly fault: string;
  };

/**
 * Finds the memories that the flags, or else the environment, name; reads no
 * file.
 *
 * @param folder The argument behind `--local`, if there is one.
 */
export function findMemoryPlace(
  values: MemoryValues,
  { folder, user, canBeLocal = true }: {
    readonly folder?: string | undefined;
    readonly user: UserPlace;
    /**
     * Whether the program has a flag `--local`.
     *
     * @default {true}
     */
    readonly canBeLocal?: boolean;
  },
): MemoryPlace {
  const named = [
    values.local === undefined ? [] : ["--local"],
    values.keyFile === undefined ? [] : ["--key-file"],
    values.tokenFile === undefined ? [] : ["--token-file"],
    values.credentials === undefined ? [] : ["--credentials"],
  ].flat();
  if (named.length > 1) {
    return invalid(`${named.join(" and ")} do not go together; give one`);
  }
  if (folder !== undefined && values.local !== "") {
    return invalid(`${quote(folder)} is not expected here`);
  }
  if (values.local !== undefined) return localPlace(values, { folder, user });
  return remotePlace(values, { user, canBeLocal });
}

function localPlace(
  { local, relayer, account }: MemoryValues,
  { folder, user }: {
    readonly folder: string | undefined;
    readonly user: UserPlace;
  },
): MemoryPlace {
  if (relayer !== undefined || account !== undefined) {
    return invalid("--local has no --relayer and no --account");
  }
  const path = folder ?? local ?? "";
  return { kind: "local", folder: path || defaultMemoryFolder(user) };
}

function remotePlace(
  values: MemoryValues,
  { user, canBeLocal }: {
    readonly user: UserPlace;
    readonly canBeLocal: boolean;
  },
): MemoryPlace {
  const read = (name: string): string | undefined =>
    user.readVariable(name) || undefined;
  const relayer = values.relayer ?? read("TERCET_RELAYER");
  const { credentials, keyFile, tokenFile } = values;
  const account = values.account ?? read("TERCET_ACCOUNT");
  if (credentials !== undefined) {
    const path = credentials ||
      `${homeFolder(user)}/.memwal/credentials.json`;
    const secret = { kind: "credentials", path } as const;
    return { kind: "remote", secret, relayer, account: values.account };
  }
  const hasOwn = values.account !== undefined || keyFile !== undefined;
  const secrets = ["TERCET_KEY", "TERCET_TOKEN"];
  const isNamed = [account, keyFile, tokenFile, relayer]
    .some((one) => one !== undefined) ||
    secrets.some((name) => read(name) !== undefined);
  if (!isNamed) {
    return invalid(
      "no memories are named; use " +
        (canBeLocal ? "--local for memories on this machine, or " : "") +
        "--account and --key-file, or set TERCET_ACCOUNT and TERCET_KEY",
    );
  }
  if (tokenFile !== undefined && values.account !== undefined) {
    return invalid(
      "an access token takes the place of account and key; leave --account out",
    );
  }
  const token = tokenFile !== undefined
    ? { kind: "token", path: tokenFile } as const
    : !hasOwn && read("TERCET_TOKEN") !== undefined
    ? { kind: "variable", name: "TERCET_TOKEN" } as const
    : undefined;
  if (token !== undefined) {
    return { kind: "remote", secret: token, relayer, account: undefined };
  }
  if (account === undefined) {
    return invalid("no account is named; set TERCET_ACCOUNT or use --account");
  }
  if (keyFile !== undefined) {
    const secret = { kind: "key", path: keyFile } as const;
    return { kind: "remote", secret, relayer, account };
  }
  if (read("TERCET_KEY") === undefined) {
    return invalid(
      "there is no key; set TERCET_KEY or use --key-file. There is no flag " +
        "for the key itself, because others on this machine can see arguments",
    );
  }
  const secret = { kind: "variable", name: "TERCET_KEY" } as const;
  return { kind: "remote", secret, relayer, account };
}

function invalid(reason: string): MemoryPlace {
  return { kind: "invalid", fault: `Cannot find the memories: ${reason}` };
}
