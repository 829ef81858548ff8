/**
 * Patterns that operators write in the syntax of Go, the language of the
 * service that this one replaces.
 *
 * @module
 */

import { quote } from "../../shared/quote.ts";
import { describeError } from "../../shared/settled.ts";

/** A pattern that is searched for in a name. */
export interface NamePattern {
  /**
   * Returns the match and its groups, a group without a match as an empty text;
   * null when nothing matches.
   */
  exec(name: string): readonly string[] | null;
}

/**
 * Compiles a pattern (https://pkg.go.dev/regexp/syntax), which may match
 * anywhere in a name. Matching takes time in proportion to the name, whatever
 * the pattern: parts of names come from callers, who must not be able to stop
 * the service with one.
 *
 * @returns The pattern, or why it can't be used.
 */
export async function goPattern(source: string): Promise<NamePattern | string> {
  // Loaded here: few need it, and the start must not wait for it.
  const { RE2JS } = await import("re2js");
  try {
    const compiled = RE2JS.compile(source);
    return {
      exec(name) {
        const matcher = compiled.matcher(name);
        if (!matcher.find()) return null;
        const groups = matcher.groupCount() + 1;
        return Array.from(
          { length: groups },
          (_, at) => matcher.group(at) ?? "",
        );
      },
    };
  } catch (error) {
    return `Cannot read pattern ${quote(source)}: ${describeError(error)}`;
  }
}

/**
 * Replaces `$1` and `${1}` in a text by what the groups matched; a number that
 * no group has stays as it is written.
 */
export function expanded(text: string, groups: readonly string[]): string {
  return text.replace(
    /\$(?:(\d+)|\{(\d+)\})/g,
    (whole, plain, braced) => groups[Number(plain ?? braced)] ?? whole,
  );
}
