/**
 * Texts with references to secrets, `{{secrets.NAME}}`, taken apart.
 *
 * @module
 */

import { nearest } from "../../shared/did_you_mean.ts";
import { quote } from "../../shared/quote.ts";
import { isSecretName, SECRET_NAME_FORM } from "./secret_rules.ts";

/** A piece of a template. */
export type TemplatePart =
  | {
    readonly kind: "text";
    /** What stands there as it is. */
    readonly text: string;
  }
  | {
    readonly kind: "secret";
    /** The secret whose value comes here. */
    readonly name: string;
  };

/** What taking a text apart comes to. */
export type TemplatePartsOutcome =
  | { readonly kind: "ok"; readonly parts: readonly TemplatePart[] }
  | {
    readonly kind: "invalid";
    /** What is wrong, to follow "Cannot …:" of whoever asked. */
    readonly state: string;
  };

/** Finds the value of a secret; `undefined` when there is none of that name. */
export type SecretLookup = (name: string) => string | undefined;

/** Names that a lookup doesn't know. */
export interface UnknownSecrets {
  /** Tells this outcome from others. */
  readonly kind: "unknown_secret";
  /** All of them, each once. */
  readonly names: readonly string[];
}

/** What looking up the values of a template comes to. */
export type SecretValuesOutcome =
  | {
    readonly kind: "ok";
    /** Values by name. */
    readonly values: ReadonlyMap<string, string>;
  }
  | UnknownSecrets;

/** What putting values into a template comes to. */
export type RenderOutcome =
  | {
    readonly kind: "ok";
    /** The text with the values in it: as secret as they are. */
    readonly text: string;
  }
  | UnknownSecrets
  | {
    readonly kind: "unusable_secret";
    /** The secret whose value can't stand here. */
    readonly name: string;
    /** Why, as a message for the client; never holds the value. */
    readonly reason: string;
  };

const OPENING = "{{";
const CLOSING = "}}";
const PREFIX = "secrets.";

/** A reference is a name and little more; a longer one lacks its end. */
const MAX_REFERENCE_CHARS = 200;

/**
 * Takes a text apart. Spaces around a reference's name are allowed. Two opening
 * braces that begin no reference are refused rather than sent as they are: they
 * are a mistyped one nearly always.
 */
export function parseTemplateParts(text: string): TemplatePartsOutcome {
  const parts: TemplatePart[] = [];
  let position = 0;
  for (;;) {
    const opening = text.indexOf(OPENING, position);
    const plain = text.slice(position, opening === -1 ? undefined : opening);
    if (plain !== "") parts.push({ kind: "text", text: plain });
    if (opening === -1) return { kind: "ok", parts };
    const start = opening + OPENING.length;
    const length = text.slice(start, start + MAX_REFERENCE_CHARS)
      .indexOf(CLOSING);
    if (length === -1) {
      return invalid(`a "{{" has no "}}" after it`);
    }
    const inner = text.slice(start, start + length).trim();
    const name = inner.startsWith(PREFIX)
      ? inner.slice(PREFIX.length)
      : undefined;
    if (name === undefined || !isSecretName(name)) {
      return invalid(notAReference(inner, name));
    }
    parts.push({ kind: "secret", name });
    position = start + length + CLOSING.length;
  }
}

/** The names that a template refers to, each once, in their order. */
export function namesIn(parts: readonly TemplatePart[]): string[] {
  const names = parts.flatMap((part) =>
    part.kind === "secret" ? [part.name] : []
  );
  return [...new Set(names)];
}

/**
 * The values of these names, or which of them are unknown. Each name is looked
 * up once, so that a value stays the same all over one text.
 */
export function findSecrets(
  names: readonly string[],
  lookup: SecretLookup,
): SecretValuesOutcome {
  const values = new Map<string, string>();
  const unknown: string[] = [];
  for (const name of names) {
    const value = lookup(name);
    if (value === undefined) unknown.push(name);
    else values.set(name, value);
  }
  return unknown.length === 0
    ? { kind: "ok", values }
    : { kind: "unknown_secret", names: unknown };
}

function notAReference(inner: string, name: string | undefined): string {
  const shown = quote(inner, { maxChars: 80 });
  const word = inner.split(".")[0] ?? "";
  if (name !== undefined) {
    return `${shown} names no secret: ${SECRET_NAME_FORM}`;
  }
  const hint = nearest(word, ["secrets"]) === undefined
    ? `only {{secrets.NAME}} can stand between "{{" and "}}"`
    : `did you mean {{secrets.NAME}}?`;
  return `${shown} is no reference to a secret; ${hint}`;
}

function invalid(state: string): TemplatePartsOutcome {
  return { kind: "invalid", state };
}
