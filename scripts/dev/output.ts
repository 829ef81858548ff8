/**
 * Formats the output of the services of `deno task dev`: each line begins with
 * the name of its service, coloured on a terminal.
 *
 * @module
 */

/** The ANSI colours of the services, in the order of the services. */
const COLOURS = [36, 35, 33, 32, 34, 31] as const;
/**
 * The most characters of a line; a longer line is written in pieces of this
 * length.
 */
const MAX_LINE = 8_192;

/** How the prefix of a service's lines looks. */
interface PrefixOptions {
  /** The position of the service in the list, which selects its colour. */
  readonly index: number;
  /** Characters that the name is padded to: the length of the longest name. */
  readonly width: number;
  /** Whether the prefix is coloured. */
  readonly isColoured: boolean;
}

/** Returns the prefix of a service's lines. */
export function formatPrefix(name: string, options: PrefixOptions): string {
  const text = `${name.padEnd(options.width)} | `;
  if (!options.isColoured) return text;
  return `\x1b[${COLOURS[options.index % COLOURS.length]}m${text}\x1b[0m`;
}

/** Returns whether to use colours: on a terminal, unless NO_COLOR is set. */
export function wantsColours(
  read: (name: string) => string | undefined,
  { isTerminal }: { readonly isTerminal: boolean },
): boolean {
  return isTerminal && (read("NO_COLOR") ?? "") === "";
}

/**
 * Writes a stream line by line; a last line without a line end is written, too.
 *
 * @returns The last line that was not empty.
 */
export async function writeLines(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  write: (line: string) => void,
): Promise<string> {
  let rest = "";
  let last = "";
  const put = (line: string): void => {
    if (line.trim() !== "") last = line;
    write(line);
  };
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) put(line);
    while (rest.length > MAX_LINE) {
      put(rest.slice(0, MAX_LINE));
      rest = rest.slice(MAX_LINE);
    }
  }
  if (rest !== "") put(rest);
  return last;
}
