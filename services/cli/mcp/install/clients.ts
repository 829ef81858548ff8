/**
 * The programs that `tercet mcp install` knows: where each keeps its list of
 * MCP servers, and in which form.
 *
 * @module
 */

import { configFolder, homeFolder, type UserPlace } from "../user_folders.ts";
import { jsonEdit } from "./json_edit.ts";
import type { EditEntry } from "./text_edit.ts";
import { tomlEdit } from "./toml_edit.ts";

/** Whose list it is: the user's, or that of the project in this folder. */
export type Scope = "user" | "project";

/** A program that starts MCP servers. */
export interface McpClient {
  /** Its name for people. */
  readonly title: string;
  /**
   * Returns the path of its list; a project's one is relative.
   *
   * @throws {Error} when the environment names no home folder
   */
  readonly userPath: (user: UserPlace) => string;
  /** The path in a project; undefined when it has no lists of projects. */
  readonly projectPath: string | undefined;
  /** Changes the list. */
  readonly edit: EditEntry;
  /** What to do so that it sees the change. */
  readonly next: string;
}

const SERVERS = jsonEdit({ section: "mcpServers", hasType: false });

/** The clients by the name they are called by. */
export const CLIENTS = {
  "claude-code": {
    title: "Claude Code",
    userPath: (user) => {
      const folder = user.readVariable("CLAUDE_CONFIG_DIR") || homeFolder(user);
      return `${folder}/.claude.json`;
    },
    projectPath: ".mcp.json",
    edit: jsonEdit({ section: "mcpServers", hasType: true }),
    next: "start claude again; /mcp lists the server",
  },
  "claude-desktop": {
    title: "Claude Desktop",
    userPath: (user) =>
      `${configFolder(user)}/Claude/claude_desktop_config.json`,
    projectPath: undefined,
    edit: SERVERS,
    next: "quit Claude and start it again",
  },
  cursor: {
    title: "Cursor",
    userPath: (user) => `${homeFolder(user)}/.cursor/mcp.json`,
    projectPath: ".cursor/mcp.json",
    edit: SERVERS,
    next: "the settings of Cursor list the server under MCP",
  },
  codex: {
    title: "Codex",
    userPath: (user) => {
      const folder = user.readVariable("CODEX_HOME") ||
        `${homeFolder(user)}/.codex`;
      return `${folder}/config.toml`;
    },
    projectPath: ".codex/config.toml",
    edit: tomlEdit,
    next: "start codex again; /mcp lists the server",
  },
  vscode: {
    title: "VS Code",
    userPath: (user) => `${configFolder(user)}/Code/User/mcp.json`,
    projectPath: ".vscode/mcp.json",
    edit: jsonEdit({ section: "servers", hasType: true }),
    next: 'run "MCP: List Servers" in the command palette',
  },
} as const satisfies Readonly<Record<string, McpClient>>;

/** The name of a client. */
export type ClientName = keyof typeof CLIENTS;
