/**
 * The entry of a server in a configuration, and the outcome of changing it, in
 * any language.
 *
 * @module
 */

/** How a client starts an MCP server. */
export interface ServerEntry {
  /** The program. */
  readonly command: string;
  /** Its arguments. */
  readonly args: readonly string[];
}

/** What became of a configuration's text. */
export type TextEdit =
  | {
    readonly kind: "edited";
    /** The text with the change, and nothing else changed. */
    readonly text: string;
  }
  /** The text is already so. */
  | { readonly kind: "same" }
  | {
    readonly kind: "refused";
    /** Why it cannot be changed, in words that follow a colon. */
    readonly reason: string;
  };

/** A change of a server's entry. */
export interface EntryChange {
  /** The name of the server. */
  readonly name: string;
  /** The entry; undefined removes it. */
  readonly entry: ServerEntry | undefined;
}

/** Changes the entry of a server in a configuration's text. */
export type EditEntry = (text: string, change: EntryChange) => TextEdit;

/** The line ends of a text. */
export function lineEnd(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}
