/**
 * `tercet mcp install` and `uninstall`: write the server into the configuration
 * of a program that starts MCP servers, and take it out again.
 *
 * @module
 */

import { basename, resolve } from "node:path";
import {
  type CommandIo,
  readCommand,
  wrongArguments,
} from "../../../shared/command_line.ts";
import { attempt } from "../../../shared/command_work.ts";
import {
  choiceOption,
  switchOption,
  textOption,
} from "../../../shared/options.ts";
import { quote } from "../../../shared/quote.ts";
import { describeError } from "../../../shared/settled.ts";
import {
  findMemoryPlace,
  MEMORY_FLAGS,
  type MemoryPlace,
  type MemoryValues,
} from "../memory_place.ts";
import type { UserPlace } from "../user_folders.ts";
import { type ClientName, CLIENTS, type McpClient } from "./clients.ts";
import { readConfigFile, replaceConfigFile } from "./config_file.ts";
import { editJson } from "./json_edit.ts";
import { shownChange } from "./shown_change.ts";
import { editToml } from "./toml_edit.ts";

/** What the commands get from the process they run in. */
export interface InstallIo extends CommandIo {
  /** The machine and the user's environment. */
  readonly user: UserPlace;
  /** The path of the executable that runs. */
  readonly execPath: string;
  /**
   * Asks a person; undefined where there is no terminal to ask at.
   */
  readonly ask: (question: string) => Promise<boolean | undefined>;
}

const NAMES = {
  "claude-code": "claude-code",
  "claude-desktop": "claude-desktop",
  cursor: "cursor",
  codex: "codex",
  vscode: "vscode",
} as const satisfies Readonly<Record<ClientName, ClientName>>;

const WHERE_FLAGS = {
  client: choiceOption({
    values: NAMES,
    required: true,
    help: "The program that uses the memories.",
  }),
  scope: choiceOption({
    values: { user: "user", project: "project" },
    default: "user",
    help: "user: for all that you do. project: a file in this folder, which " +
      "others who work on it get, too.",
  }),
  name: textOption({
    default: "tercet",
    form: { matches: /^[A-Za-z0-9_-]{1,64}$/, expected: "letters and digits" },
    help: "The name of the server in that program.",
  }),
  yes: switchOption({ help: "Change the file without a question." }),
} as const;

const INSTALL_FLAGS = {
  ...WHERE_FLAGS,
  ...MEMORY_FLAGS,
  command: textOption({
    help: "What the program starts. Default: this executable; tercet in a " +
      "project, since its path differs from machine to machine.",
  }),
} as const;

const INSTALL = {
  usage:
    "tercet mcp install --client CLIENT --local [FOLDER] | --relayer URL " +
    "--account ID --key-file FILE",
  about: "Adds the memories to a program for agents: changes its list of MCP " +
    "servers, after it has shown the change, and keeps a copy of the file " +
    "beside it. The file never gets a secret, only the path of the key's " +
    "file. Exit codes: 0 the file is as asked for, 1 failure, 2 invalid " +
    "arguments.",
  positionals: 1,
  leastPositionals: 0,
} as const;

const UNINSTALL = {
  usage: "tercet mcp uninstall --client CLIENT",
  about: "Removes from the list of MCP servers what install has added. The " +
    "memories stay. Exit codes: 0 the server is not in the list, 1 failure, " +
    "2 invalid arguments.",
} as const;

/** Whose list it is: the user's, or that of the project in this folder. */
type Scope = "user" | "project";

/** How a client starts the server. */
interface Server {
  readonly command: string;
  readonly args: readonly string[];
}

/** The values of the flags that say where the server is listed. */
interface Where {
  readonly client: ClientName;
  readonly scope: Scope;
  readonly name: string;
  readonly yes: boolean;
}

/** Runs `tercet mcp install`; returns the exit code. */
export async function runInstall(
  args: readonly string[],
  io: InstallIo,
): Promise<number> {
  const read = readCommand(INSTALL_FLAGS, { args, io, command: INSTALL });
  if (read.kind === "done") return read.exitCode;
  const { values, positionals: [folder] } = read;
  return await attempt(io, async () => {
    const place = findMemoryPlace(values, { folder, user: io.user });
    if (place.kind === "invalid") {
      return wrongArguments(place.fault, { io, command: INSTALL }).exitCode;
    }
    if (place.kind === "remote" && place.secret.kind === "variable") {
      const fault = "Cannot install: the key is in a variable, which the " +
        "program would not have; use --key-file or --token-file";
      return wrongArguments(fault, { io, command: INSTALL }).exitCode;
    }
    const server = {
      command: values.command ?? ownCommand(values.scope, io.execPath),
      args: ["mcp", ...serverArguments(place, { ...values, folder })],
    };
    return await change(values, { server, io });
  });
}

/** Runs `tercet mcp uninstall`; returns the exit code. */
export async function runUninstall(
  args: readonly string[],
  io: InstallIo,
): Promise<number> {
  const read = readCommand(WHERE_FLAGS, { args, io, command: UNINSTALL });
  if (read.kind === "done") return read.exitCode;
  return await attempt(
    io,
    () => change(read.values, { server: undefined, io }),
  );
}

/** Flags for the same memories, which depend on no folder and no variable. */
function serverArguments(
  place: NamedPlace,
  { scope, local = "", folder = local, namespace }: MemoryValues & {
    readonly scope: Scope;
    readonly folder: string | undefined;
  },
): readonly string[] {
  const pair = (name: string, text: string | undefined): readonly string[] =>
    text === undefined ? [] : [name, text];
  const names = pair("--namespace", namespace);
  if (place.kind === "local") {
    // Named also for a user's default: programs start servers without variables
    // such as XDG_DATA_HOME, and it would be another folder then.
    const isOpen = scope === "project" && folder === "";
    return ["--local", ...(isOpen ? [] : [resolve(place.folder)]), ...names];
  }
  const { secret, relayer, account } = place;
  return [
    ...pair("--relayer", relayer),
    ...pair("--account", account),
    ...(secret.kind === "variable"
      ? []
      : [`${SECRET_FLAGS[secret.kind]}=${resolve(secret.path)}`]),
    ...names,
  ];
}

type NamedPlace = Exclude<MemoryPlace, { readonly kind: "invalid" }>;

const SECRET_FLAGS = {
  key: "--key-file",
  token: "--token-file",
  credentials: "--credentials",
} as const;

/** What starts this program again. */
function ownCommand(scope: Scope, execPath: string): string {
  // A program from source runs in Deno, which is not what is to be started.
  const isOwn = /^tercet\b/.test(basename(execPath));
  return scope === "user" && isOwn ? execPath : "tercet";
}

/** Changes a client's list, once it is shown and agreed to. */
async function change(
  { client: clientName, scope, name, yes }: Where,
  { server, io }: {
    /** What starts the server; undefined takes it out of the list. */
    readonly server: Server | undefined;
    readonly io: InstallIo;
  },
): Promise<number> {
  const client: McpClient = CLIENTS[clientName];
  const { title, section, extra, next } = client;
  const path = scope === "user" ? client.userPath(io.user) : client.projectPath;
  if (path === undefined) {
    io.err(`Cannot use --scope project: ${title} has no lists of projects`);
    return 2;
  }
  const values = server && { ...extra, ...server };
  const edit = client.format === "json" ? editJson : editToml;
  const read = async () => {
    const file = await readConfigFile(path);
    try {
      return { file, text: edit(file.text, { path: [section, name], values }) };
    } catch (error) {
      throw new Error(`Cannot change ${quote(path)}: ${describeError(error)}`);
    }
  };
  const { file, text } = await read();
  if (text === file.text) {
    io.out(
      server === undefined
        ? `${title} does not list ${quote(name)}`
        : `${title} lists ${quote(name)} already, in ${file.path}`,
    );
    return 0;
  }
  io.out(`${file.path}\n${shownChange(file.text, text)}`);
  if (!yes) {
    const answer = await io.ask(`Change ${file.path}?`);
    if (answer !== true) {
      io.err(
        answer === undefined
          ? "Cannot ask: there is no terminal; use --yes to change the file"
          : "The file stays as it is",
      );
      return 1;
    }
  }
  // Its program may have written the file meanwhile.
  const latest = await read();
  if (latest.text === latest.file.text) return 0;
  const copy = await replaceConfigFile(latest.file, latest.text);
  io.out(
    `${server === undefined ? "Removed" : "Added"} ${quote(name)}` +
      (copy === undefined ? "" : `; what was there is in ${copy}`),
  );
  io.out(`${title}: ${next}`);
  return 0;
}
