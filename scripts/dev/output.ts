/**
 * What the services of `deno task dev` write: each line begins with the name of
 * its service, in a colour of its own on a terminal.
 *
 * @module
 */

/** The colours of services, in their order. */
const COLOURS = [36, 35, 33, 32, 34, 31] as const;
/** A line that does not end is written in pieces of so many characters. */
const MAX_LINE = 8_192;

/** How a prefix looks. */
interface PrefixOptions {
  /** Which of the services it is. */
  readonly index: number;
  /** The longest name of a service, which all prefixes are as wide as. */
  readonly width: number;
  /** Whether a terminal shows colours. */
  readonly isColoured: boolean;
}

/** What lines of a service begin with. */
export function prefixOf(name: string, options: PrefixOptions): string {
  const text = `${name.padEnd(options.width)} | `;
  if (!options.isColoured) return text;
  return `\x1b[${COLOURS[options.index % COLOURS.length]}m${text}\x1b[0m`;
}

/** Whether colours are wanted: on a terminal, unless NO_COLOR is set. */
export function wantsColours(
  read: (name: string) => string | undefined,
  { isTerminal }: { readonly isTerminal: boolean },
): boolean {
  return isTerminal && (read("NO_COLOR") ?? "") === "";
}

/**
 * Writes what comes line by line, and the last line also when it has no end.
 *
 * @returns The last line that was not empty.
 */
export async function writeLines(
  stream: ReadableStream<Uint8Array>,
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
