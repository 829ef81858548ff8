/**
 * Header values with references to secrets in them.
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

/** What reading the value of a header comes to. */
export type HeaderTemplateOutcome =
  | { readonly kind: "ok"; readonly template: HeaderTemplate }
  | {
    readonly kind: "invalid";
    /** What is wrong, as a message for the client. */
    readonly reason: string;
  };

/**
 * What no field value can hold (RFC 9110, section 5.5): control characters but
 * the tab, line ends and NUL above all, and what is no byte in Latin-1.
 */
const FORBIDDEN = /[^\t\x20-\x7e\x80-\xff]/;

/** The value of a header, read once and filled in at each call. */
export class HeaderTemplate {
  /** Names of the secrets in it, each once. */
  readonly names: readonly string[];
  readonly #parts: readonly TemplatePart[];

  /** A template of these parts; {@linkcode parseHeaderTemplate} checks them. */
  constructor(parts: readonly TemplatePart[]) {
    this.#parts = parts;
    this.names = namesIn(parts);
  }

  /** Puts the values in. */
  render(lookup: SecretLookup): RenderOutcome {
    const found = findSecrets(this.names, lookup);
    if (found.kind !== "ok") return found;
    const { values } = found;
    for (const [name, value] of values) {
      if (FORBIDDEN.test(value)) return unusable(name, value);
    }
    const text = this.#parts.map((part) =>
      part.kind === "text" ? part.text : values.get(part.name) ?? ""
    ).join("");
    return { kind: "ok", text };
  }
}

/** Reads the value of a header. */
export function parseHeaderTemplate(text: string): HeaderTemplateOutcome {
  if (FORBIDDEN.test(text)) {
    return invalid("it holds a line end or another character no header can");
  }
  const outcome = parseTemplateParts(text);
  return outcome.kind === "ok"
    ? { kind: "ok", template: new HeaderTemplate(outcome.parts) }
    : invalid(outcome.state);
}

function unusable(name: string, value: string): RenderOutcome {
  const what = /[\r\n]/.test(value)
    ? "a line end (maybe at its end, from a file)"
    : "a character no header can";
  return {
    kind: "unusable_secret",
    name,
    reason: `Cannot put secret "${name}" into a header: it holds ${what}`,
  };
}

function invalid(state: string): HeaderTemplateOutcome {
  return { kind: "invalid", reason: `Cannot read header value: ${state}` };
}
