/**
 * The Content-Type of bodies (RFC 9110, 8.3).
 *
 * @module
 */

/** What a Content-Type says. */
export interface MediaType {
  /** Type and subtype in lower case. */
  readonly essence: string;
  /** The character set in lower case, if one is named. */
  readonly charset: string | undefined;
}

const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";

const MEDIA_TYPE = new RegExp(`^(${TOKEN}/${TOKEN})[ \\t]*((?:;.*)?)$`, "s");

const CHARSET = new RegExp(`;[ \\t]*charset=(?:"([^"]*)"|(${TOKEN}))`, "i");

/** Reads a Content-Type; `undefined` when it is none. */
export function parseMediaType(header: string): MediaType | undefined {
  if (header.length > 512) return undefined;
  const match = MEDIA_TYPE.exec(header.trim());
  if (match === null) return undefined;
  const charset = CHARSET.exec(match[2] ?? "");
  return {
    essence: (match[1] ?? "").toLowerCase(),
    charset: (charset?.[1] ?? charset?.[2])?.toLowerCase(),
  };
}
