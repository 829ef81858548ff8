/**
 * Addresses with references to secrets in their path and query.
 *
 * @module
 */

import {
  findSecrets,
  namesIn,
  parseTemplateParts,
  type RenderOutcome,
  type SecretLookup,
  type TemplatePart,
} from "./template_parts.ts";

/** What reading an address comes to. */
export type UrlTemplateOutcome =
  | { readonly kind: "ok"; readonly template: UrlTemplate }
  | {
    readonly kind: "invalid";
    /** What is wrong, as a message for the client. */
    readonly reason: string;
  };

/**
 * Scheme and authority as written. The rules of the URL standard that make
 * another address of what is written (slashes too many, missing or backward)
 * don't apply to what passes this.
 */
const BEFORE_PATH = /^https?:\/\/[^/?#\\]+/i;

/** What the URL standard leaves out or turns into something else. */
// deno-lint-ignore no-control-regex
const FORBIDDEN = /[\x00-\x20\x7f\\]/;

/** All but letters, digits and `-._~`: whatever has a meaning in a URL. */
const NOT_UNRESERVED = /[!'()*]/g;

/** An address, read once and filled in at each call. */
export class UrlTemplate {
  /** Names of the secrets in it, each once. */
  readonly names: readonly string[];
  readonly #parts: readonly TemplatePart[];

  /** A template of these parts; {@linkcode parseUrlTemplate} checks them. */
  constructor(parts: readonly TemplatePart[]) {
    this.#parts = parts;
    this.names = namesIn(parts);
  }

  /**
   * Puts the values in, percent-encoded, so that each stays within its segment
   * of the path or its parameter of the query. Scheme, host and port are those
   * of the template whatever the values are.
   */
  render(lookup: SecretLookup): RenderOutcome {
    const found = findSecrets(this.names, lookup);
    if (found.kind !== "ok") return found;
    const { values } = found;
    for (const [name, value] of values) {
      if (!value.isWellFormed()) {
        return unusable(name, "it is no valid Unicode");
      }
    }
    const text = this.#parts.map((part) =>
      part.kind === "text" ? part.text : encode(values.get(part.name) ?? "")
    ).join("");
    // The parts come from an address in its final form, so only a value can
    // make it change once more: as "." or ".." in the path, which go upwards.
    if (URL.canParse(text) && new URL(text).href === text) {
      return { kind: "ok", text };
    }
    const dots = [...values].find(([, value]) => /^\.{1,2}$/.test(value));
    return unusable(
      dots?.[0] ?? this.names[0] ?? "",
      `"." and ".." in a path lead to another place`,
    );
  }
}

/**
 * Reads an address with http or https. References may stand in its path and
 * query: not in what says where the call goes, nor after a "#", which is never
 * sent.
 */
export function parseUrlTemplate(text: string): UrlTemplateOutcome {
  const outcome = parseTemplateParts(text);
  if (outcome.kind === "invalid") return invalid(outcome.state);
  const mark = unusedMark(text);
  const marked = outcome.parts.map((part) =>
    part.kind === "text" ? part.text : `${mark}${part.name}.`
  ).join("");
  if (FORBIDDEN.test(marked)) {
    return invalid(`it holds a space, a control character or a "\\"`);
  }
  const beforePath = BEFORE_PATH.exec(marked)?.[0];
  if (beforePath === undefined) {
    return invalid(
      marked.startsWith(mark)
        ? "a secret stands where the scheme is"
        : `it begins with neither "https://" nor "http://" and a host`,
    );
  }
  if (beforePath.includes(mark)) {
    return invalid(
      "a secret stands in the host; only path and query can hold one",
    );
  }
  if (!URL.canParse(marked)) return invalid("it is no URL");
  const url = new URL(marked);
  if (url.hash.includes(mark)) {
    return invalid(`a secret stands after "#", which is never sent`);
  }
  const parts = split(url.href, mark);
  // With the digits from a value it could be anything, a slash or a dot.
  const isCut = parts.some((part, index) =>
    part.kind === "text" && /%[\da-f]?$/i.test(part.text) &&
    parts[index + 1]?.kind === "secret"
  );
  return isCut
    ? invalid(`a "%" without its two digits stands before a secret`)
    : { kind: "ok", template: new UrlTemplate(parts) };
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

function encode(value: string): string {
  return encodeURIComponent(value).replace(
    NOT_UNRESERVED,
    (character) =>
      `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
  );
}

function unusable(name: string, state: string): RenderOutcome {
  return {
    kind: "unusable_secret",
    name,
    reason: `Cannot put secret "${name}" into a URL: ${state}`,
  };
}

function invalid(state: string): UrlTemplateOutcome {
  return { kind: "invalid", reason: `Cannot read URL: ${state}` };
}
