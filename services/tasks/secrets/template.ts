/**
 * Templates with references to secrets, `{{secrets.NAME}}`, for header values
 * and URLs. A template is parsed once and filled in at each call.
 *
 * @module
 */

import { nearest } from "../../shared/did_you_mean.ts";
import { quote } from "../../shared/quote.ts";
import { isSecretName, SECRET_NAME_FORM } from "./secret_rules.ts";

/** A piece of a template. */
type TemplatePart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "secret"; readonly name: string };

/** Finds the value of a secret; `undefined` when no secret has that name. */
type SecretLookup = (name: string) => string | undefined;

/** The outcome of reading a template. */
type TemplateOutcome =
  | { readonly kind: "ok"; readonly template: Template }
  | {
    readonly kind: "invalid";
    /** What is wrong, as a message for the client. */
    readonly reason: string;
  };

/** The outcome of putting values into a template. */
export type RenderOutcome =
  | {
    readonly kind: "ok";
    /** The text with the values filled in, which is as secret as they are. */
    readonly text: string;
  }
  | {
    readonly kind: "unknown_secret";
    /** The names that the lookup does not know, each once. */
    readonly names: readonly string[];
  }
  | {
    readonly kind: "unusable_secret";
    /** The secret whose value cannot be used in this place. */
    readonly name: string;
    /** Why, as a message for the client; never holds the value. */
    readonly reason: string;
  };

/** Where a template's text is used, and how values are written there. */
interface Place {
  /** The name of the place, to follow "into" in messages. */
  readonly name: "a header" | "a URL";
  /** What is wrong with a value; undefined when it can be used. */
  findFault(value: string): string | undefined;
  /** The value as it is written in the text. */
  escape(value: string): string;
  /** What is wrong with the whole text; undefined when it can be used. */
  faultOfText(text: string): string | undefined;
}

const OPENING = "{{";
const CLOSING = "}}";
const PREFIX = "secrets.";

/**
 * Most characters of a reference, which is a name and little more. In a longer
 * one the closing braces are missing.
 */
const MAX_REFERENCE_CHARS = 200;

/** A text with references, read once; it is filled in at each call. */
class Template {
  /** Names of the secrets in it, each once. */
  readonly names: readonly string[];
  readonly #parts: readonly TemplatePart[];
  readonly #place: Place;

  /** A template of parts that were checked for the place. */
  constructor(parts: readonly TemplatePart[], place: Place) {
    this.#parts = parts;
    this.#place = place;
    this.names = [
      ...new Set(
        parts.flatMap((part) => part.kind === "secret" ? [part.name] : []),
      ),
    ];
  }

  /**
   * Fills in the values: in a header as they are, in a URL percent-encoded, so
   * that each value stays within its path segment or query parameter. Scheme,
   * host and port are those of the template whatever the values are. Each name
   * is looked up once, so that its value is the same all over the text.
   */
  render(lookup: SecretLookup): RenderOutcome {
    const place = this.#place;
    const values = new Map<string, string>();
    const unknown: string[] = [];
    for (const name of this.names) {
      const value = lookup(name);
      if (value === undefined) unknown.push(name);
      else values.set(name, value);
    }
    if (unknown.length > 0) return { kind: "unknown_secret", names: unknown };
    for (const [name, value] of values) {
      const fault = place.findFault(value);
      if (fault !== undefined) return this.#unusable(name, fault);
    }
    const text = this.#parts.map((part) =>
      part.kind === "text"
        ? part.text
        : place.escape(values.get(part.name) ?? "")
    ).join("");
    const fault = place.faultOfText(text);
    if (fault === undefined) return { kind: "ok", text };
    const dots = [...values].find(([, value]) => /^\.{1,2}$/.test(value));
    return this.#unusable(dots?.[0] ?? this.names[0] ?? "", fault);
  }

  #unusable(name: string, fault: string): RenderOutcome {
    return {
      kind: "unusable_secret",
      name,
      reason: `Cannot put secret "${name}" into ${this.#place.name}: ${fault}`,
    };
  }
}

/**
 * Characters that no header value can have (RFC 9110, section 5.5): control
 * characters except the tab, above all line ends and NUL, and characters beyond
 * Latin-1.
 */
const FORBIDDEN_IN_HEADER = /[^\t\x20-\x7e\x80-\xff]/;

const HEADER: Place = {
  name: "a header",
  findFault(value) {
    if (!FORBIDDEN_IN_HEADER.test(value)) return undefined;
    return /[\r\n]/.test(value)
      ? "it holds a line end (maybe at its end, from a file)"
      : "it holds a character no header can";
  },
  escape: (value) => value,
  faultOfText: () => undefined,
};

/** Parses the template of a header value. */
export function parseHeaderTemplate(text: string): TemplateOutcome {
  const parts = FORBIDDEN_IN_HEADER.test(text)
    ? "it holds a line end or another character no header can"
    : parseParts(text);
  return typeof parts === "string"
    ? { kind: "invalid", reason: `Cannot read header value: ${parts}` }
    : { kind: "ok", template: new Template(parts, HEADER) };
}

/**
 * Scheme and authority, as written. The URL standard changes some addresses
 * (too many, missing or backward slashes); none of that happens to an address
 * that matches this.
 */
const BEFORE_PATH = /^https?:\/\/[^/?#\\]+/i;

/** Characters that the URL standard removes or turns into others. */
// deno-lint-ignore no-control-regex
const FORBIDDEN_IN_URL = /[\x00-\x20\x7f\\]/;

/** The reserved characters that `encodeURIComponent` leaves as they are. */
const NOT_UNRESERVED = /[!'()*]/g;

const URL_PLACE: Place = {
  name: "a URL",
  findFault: (value) =>
    value.isWellFormed() ? undefined : "it is not valid Unicode",
  escape: (value) =>
    encodeURIComponent(value).replace(
      NOT_UNRESERVED,
      (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
    ),
  // The template's own parts come from a normalized URL, so only a value can
  // change it again: "." or ".." in the path, which lead upwards.
  faultOfText: (text) =>
    URL.parse(text)?.href === text
      ? undefined
      : `"." and ".." in a path lead to another place`,
};

/**
 * Parses the template of an http or https URL. References may stand in path and
 * query, but not in scheme, host and port, which decide where the call goes,
 * nor after a "#", which is never sent.
 */
export function parseUrlTemplate(text: string): TemplateOutcome {
  const parts = urlParts(text);
  return typeof parts === "string"
    ? { kind: "invalid", reason: `Cannot read URL: ${parts}` }
    : { kind: "ok", template: new Template(parts, URL_PLACE) };
}

/** The parts of the URL in its normalized form, or what is wrong with it. */
function urlParts(text: string): readonly TemplatePart[] | string {
  const written = parseParts(text);
  if (typeof written === "string") return written;
  const mark = unusedMark(text);
  const marked = written.map((part) =>
    part.kind === "text" ? part.text : `${mark}${part.name}.`
  ).join("");
  if (FORBIDDEN_IN_URL.test(marked)) {
    return `it holds a space, a control character or a "\\"`;
  }
  const beforePath = BEFORE_PATH.exec(marked)?.[0];
  if (beforePath === undefined) {
    return marked.startsWith(mark)
      ? "a secret stands where the scheme is"
      : `it begins with neither "https://" nor "http://" and a host`;
  }
  if (beforePath.includes(mark)) {
    return "a secret stands in the host; only path and query can hold one";
  }
  if (!URL.canParse(marked)) return "it is not a URL";
  const url = new URL(marked);
  if (url.hash.includes(mark)) {
    return `a secret stands after "#", which is never sent`;
  }
  const parts = split(url.href, mark);
  // Digits from a value could turn the "%" into anything, such as a slash or a
  // dot.
  const isCut = parts.some((part, index) =>
    part.kind === "text" && /%[\da-f]?$/i.test(part.text) &&
    parts[index + 1]?.kind === "secret"
  );
  return isCut ? `a "%" without its two digits stands before a secret` : parts;
}

/** A mark that the URL parser does not change and that `text` does not have. */
function unusedMark(text: string): string {
  for (let number = 0;; number++) {
    const mark = `~secret${number}~`;
    if (!text.includes(mark)) return mark;
  }
}

/** Splits the normalized URL at the marks. */
function split(href: string, mark: string): TemplatePart[] {
  const [first = "", ...rest] = href.split(mark);
  const parts: TemplatePart[] = [{ kind: "text", text: first }];
  for (const piece of rest) {
    const end = piece.indexOf(".");
    parts.push({ kind: "secret", name: piece.slice(0, end) });
    parts.push({ kind: "text", text: piece.slice(end + 1) });
  }
  return parts;
}

/**
 * Splits a text into parts, or tells what is wrong with it. Spaces around a
 * reference's name are allowed. Two opening braces that begin no reference are
 * refused rather than sent literally: they are nearly always a mistyped
 * reference.
 */
function parseParts(text: string): readonly TemplatePart[] | string {
  const parts: TemplatePart[] = [];
  let position = 0;
  for (;;) {
    const opening = text.indexOf(OPENING, position);
    const plain = text.slice(position, opening === -1 ? undefined : opening);
    if (plain !== "") parts.push({ kind: "text", text: plain });
    if (opening === -1) return parts;
    const start = opening + OPENING.length;
    const length = text.slice(start, start + MAX_REFERENCE_CHARS)
      .indexOf(CLOSING);
    if (length === -1) return `a "{{" has no "}}" after it`;
    const inner = text.slice(start, start + length).trim();
    const name = inner.startsWith(PREFIX)
      ? inner.slice(PREFIX.length)
      : undefined;
    if (name === undefined || !isSecretName(name)) {
      return referenceFault(inner, name);
    }
    parts.push({ kind: "secret", name });
    position = start + length + CLOSING.length;
  }
}

function referenceFault(inner: string, name: string | undefined): string {
  const shown = quote(inner, { maxChars: 80 });
  if (name !== undefined) {
    return `${shown} names no secret: ${SECRET_NAME_FORM}`;
  }
  const word = inner.split(".")[0] ?? "";
  const hint = nearest(word, ["secrets"]) === undefined
    ? `only {{secrets.NAME}} can stand between "{{" and "}}"`
    : `did you mean {{secrets.NAME}}?`;
  return `${shown} is not a reference to a secret; ${hint}`;
}
