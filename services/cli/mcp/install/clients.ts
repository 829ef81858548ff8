/**
 * The programs that `tercet mcp install` knows: where each keeps its list of
 * MCP servers, and in which form.
 *
 * @module
 */

import { configFolder, homeFolder, type UserPlace } from "../user_folders.ts";

/** A change of one entry in a file of settings. */
export interface EntryChange {
  /** The names that lead to the entry. */
  readonly path: readonly [section: string, name: string];
  /** The values to set in it; undefined removes the entry. */
  readonly values:
    | Readonly<Record<string, string | readonly string[]>>
    | undefined;
}

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
  /** The language of the file. */
  readonly format: "json" | "toml";
  /** What holds the servers by name. */
  readonly section: string;
  /** What an entry has beside the program and its arguments. */
  readonly extra: Readonly<Record<string, string>>;
  /** What to do so that it sees the change. */
  readonly next: string;
}

/** The clients by the name they are called by. */
export const CLIENTS = {
  "claude-code": {
    title: "Claude Code",
    userPath: (user) => {
      const folder = user.readVariable("CLAUDE_CONFIG_DIR") || homeFolder(user);
      return `${folder}/.claude.json`;
    },
    projectPath: ".mcp.json",
    ...{ format: "json", section: "mcpServers", extra: { type: "stdio" } },
    next: "start claude again; /mcp lists the server",
  },
  "claude-desktop": {
    title: "Claude Desktop",
    userPath: (user) =>
      `${configFolder(user)}/Claude/claude_desktop_config.json`,
    projectPath: undefined,
    ...{ format: "json", section: "mcpServers", extra: {} },
    next: "quit Claude and start it again",
  },
  cursor: {
    title: "Cursor",
    userPath: (user) => `${homeFolder(user)}/.cursor/mcp.json`,
    projectPath: ".cursor/mcp.json",
    ...{ format: "json", section: "mcpServers", extra: {} },
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
    ...{ format: "toml", section: "mcp_servers", extra: {} },
    next: "start codex again; /mcp lists the server",
  },
  vscode: {
    title: "VS Code",
    userPath: (user) => `${configFolder(user)}/Code/User/mcp.json`,
    projectPath: ".vscode/mcp.json",
    ...{ format: "json", section: "servers", extra: { type: "stdio" } },
    next: 'run "MCP: List Servers" in the command palette',
  },
} as const satisfies Readonly<Record<string, McpClient>>;

/** The name of a client. */
export type ClientName = keyof typeof CLIENTS;
