/**
 * Host names in the one form in which they are compared.
 *
 * @module
 */

const LABEL = /^[a-z0-9_-]{1,63}$/;

/** What URL parsers take for the last part of an IPv4 address. */
const NUMBER = /^(\d+|0x[0-9a-f]*)$/;

const MAX_CHARS = 253;

/**
 * The name in lower case and without the dot that may end it; `undefined` when
 * it is no host name or could be read as an IP address. International names
 * have their `xn--` form. Underscores are taken, as names of containers have
 * them.
 */
export function normalizeHostName(text: string): string | undefined {
  const name = text.toLowerCase().replace(/\.$/, "");
  if (name.length > MAX_CHARS) return undefined;
  const labels = name.split(".");
  if (!labels.every((label) => LABEL.test(label))) return undefined;
  return NUMBER.test(labels.at(-1) ?? "") ? undefined : name;
}
