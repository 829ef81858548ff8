/**
 * What the API says of the values that a form has sent, by the fields of the
 * form.
 *
 * @module
 */

import type { VNode } from "preact";
import { Note } from "../../../shared/console/parts.tsx";
import type { ApiAnswer } from "../../http/ask_api.ts";
import type { ShownProblem } from "./page.ts";

/** What is wrong with a form that was sent. */
export interface FormFaults {
  /** The fault of each field that has one, by the field's name. */
  readonly of: Readonly<Record<string, string>>;
  /** What is wrong besides. */
  readonly others: readonly string[];
}

/** A form with which nothing is wrong. */
export const NO_FAULTS: FormFaults = { of: {}, others: [] };

/**
 * Reads the problem of an answer; undefined when the answer is good. A fault
 * belongs to the innermost member of its pointer that is a field of the form.
 */
export function formFaults(
  { status, body }: Pick<ApiAnswer, "status" | "body">,
  fields: readonly string[],
): FormFaults | undefined {
  if (status < 400) return undefined;
  const { title, detail, errors = [] } = body as ShownProblem;
  const of: Record<string, string> = {};
  const others: string[] = [];
  for (const { pointer = "", detail } of errors) {
    const name = pointer.split("/").findLast((part) => fields.includes(part));
    if (name === undefined) others.push(detail);
    else of[name] ??= detail;
  }
  return { of, others: errors.length === 0 ? [detail ?? title] : others };
}

/** Says above a form that it was refused, and why where no field is to blame. */
export function FaultsNote(
  { faults: { of, others } }: { readonly faults: FormFaults },
): VNode | null {
  if (others.length === 0 && Object.keys(of).length === 0) return null;
  return (
    <Note tone="bad" isUrgent>
      {others.length === 0
        ? <p>Nothing was changed: see the marked fields.</p>
        : others.map((text) => <p>{text}</p>)}
    </Note>
  );
}

/** The values of a field that is a list with commas or lines; null when empty. */
export function listOf(text: string): readonly string[] | null {
  const items = text.split(/[,\n]/).map((item) => item.trim())
    .filter((item) => item !== "");
  return items.length === 0 ? null : items;
}

/** The lines `name=value` of a field as an object; text without `=` is a name. */
export function pairsOf(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    text.split("\n").map((line) => line.trim()).filter((line) => line !== "")
      .map((line) => {
        const at = line.indexOf("=");
        return at === -1
          ? [line, ""]
          : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
      }),
  );
}

/** The lines `name=value` of an object. */
export function pairsText(pairs: Readonly<Record<string, string>>): string {
  return Object.entries(pairs).map(([name, value]) => `${name}=${value}`)
    .join("\n");
}

/** A trimmed field; null when it is empty. */
export function textOf(form: URLSearchParams, name: string): string | null {
  const text = form.get(name)?.trim() ?? "";
  return text === "" ? null : text;
}

/**
 * A field with a number. Other text is left as it is to the API, which tells
 * what is wrong with it.
 */
export function numberOf(
  form: URLSearchParams,
  name: string,
): number | string | null {
  const text = textOf(form, name);
  if (text === null) return null;
  const value = Number(text);
  return Number.isFinite(value) ? value : text;
}
