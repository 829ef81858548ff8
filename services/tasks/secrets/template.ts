/**
 * Texts with references to secrets, `{{secrets.NAME}}`: values of headers, and
 * URLs. A template is read once and filled in at each call.
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

/** Finds the value of a secret; `undefined` when there is none of that name. */
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
    /** The text with the values in it: as secret as they are. */
    readonly text: string;
  }
  | {
    readonly kind: "unknown_secret";
    /** The names that the lookup does not know, each once. */
    readonly names: readonly string[];
  }
  | {
    readonly kind: "unusable_secret";
    /** The secret whose value can't stand here. */
    readonly name: string;
    /** Why, as a message for the client; never holds the value. */
    readonly reason: string;
  };

/** What a template becomes, and how values stand in it. */
interface Place {
  /** What it becomes, to stand after "into". */
  readonly name: "a header" | "a URL";
  /** What is wrong with a value; undefined when it can be used. */
  faultOf(value: string): string | undefined;
  /** The value as it stands in the text. */
  escape(value: string): string;
  /** What is wrong with the whole text; undefined when it can be used. */
  faultOfText(text: string): string | undefined;
}

const OPENING = "{{";
const CLOSING = "}}";
const PREFIX = "secrets.";

/** A reference is a name and little more; a longer one lacks its end. */
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
   * Puts the values in: into a header as they are, into a URL percent-encoded, so
   * that each stays within its segment of the path or its parameter of the query.
   * Scheme, host and port are those of the template whatever the values are. Each
   * name is looked up once, so that a value stays the same all over the text.
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
      const fault = place.faultOf(value);
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
 * What no field value can hold (RFC 9110, section 5.5): control characters but
 * the tab, line ends and NUL above all, and what is no byte in Latin-1.
 */
const FORBIDDEN_IN_HEADER = /[^\t\x20-\x7e\x80-\xff]/;

const HEADER: Place = {
  name: "a header",
  faultOf(value) {
    if (!FORBIDDEN_IN_HEADER.test(value)) return undefined;
    return /[\r\n]/.test(value)
      ? "it holds a line end (maybe at its end, from a file)"
      : "it holds a character no header can";
  },
  escape: (value) => value,
  faultOfText: () => undefined,
};

/** Reads the value of a header. */
export function parseHeaderTemplate(text: string): TemplateOutcome {
  const parts = FORBIDDEN_IN_HEADER.test(text)
    ? "it holds a line end or another character no header can"
    : parseParts(text);
  return typeof parts === "string"
    ? { kind: "invalid", reason: `Cannot read header value: ${parts}` }
    : { kind: "ok", template: new Template(parts, HEADER) };
}

/**
 * Scheme and authority as written. The rules of the URL standard that make
 * another address of what is written (slashes too many, missing or backward)
 * don't apply to what passes this.
 */
const BEFORE_PATH = /^https?:\/\/[^/?#\\]+/i;

/** What the URL standard leaves out or turns into something else. */
// deno-lint-ignore no-control-regex
const FORBIDDEN_IN_URL = /[\x00-\x20\x7f\\]/;

/** All but letters, digits and `-._~`: whatever has a meaning in a URL. */
const NOT_UNRESERVED = /[!'()*]/g;

const URL_PLACE: Place = {
  name: "a URL",
  faultOf: (value) =>
    value.isWellFormed() ? undefined : "it is no valid Unicode",
  escape: (value) =>
    encodeURIComponent(value).replace(
      NOT_UNRESERVED,
      (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
    ),
  // The parts come from an address in its final form, so only a value can
  // make it change once more: as "." or ".." in the path, which go upwards.
  faultOfText: (text) =>
    URL.parse(text)?.href === text
      ? undefined
      : `"." and ".." in a path lead to another place`,
};

/**
 * Reads an address with http or https. References may stand in its path and
 * query: not in what says where the call goes, nor after a "#", which is never
 * sent.
 */
export function parseUrlTemplate(text: string): TemplateOutcome {
  const parts = urlParts(text);
  return typeof parts === "string"
    ? { kind: "invalid", reason: `Cannot read URL: ${parts}` }
    : { kind: "ok", template: new Template(parts, URL_PLACE) };
}

/** The parts of an address in its final form, or what is wrong with it. */
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
  if (!URL.canParse(marked)) return "it is no URL";
  const url = new URL(marked);
  if (url.hash.includes(mark)) {
    return `a secret stands after "#", which is never sent`;
  }
  const parts = split(url.href, mark);
  // With the digits from a value it could be anything, a slash or a dot.
  const isCut = parts.some((part, index) =>
    part.kind === "text" && /%[\da-f]?$/i.test(part.text) &&
    parts[index + 1]?.kind === "secret"
  );
  return isCut ? `a "%" without its two digits stands before a secret` : parts;
}

/** A text of letters that keep their form in a URL and are not in `text`. */
function unusedMark(text: string): string {
  for (let number = 0;; number++) {
    const mark = `~secret${number}~`;
    if (!text.includes(mark)) return mark;
  }
}

/** Finds the marks again in what became of the address. */
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
 * Takes a text apart, or tells what is wrong with it. Spaces around a reference's
 * name are allowed. Two opening braces that begin no reference are refused rather
 * than sent as they are: they are a mistyped one nearly always.
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
  return `${shown} is no reference to a secret; ${hint}`;
}
