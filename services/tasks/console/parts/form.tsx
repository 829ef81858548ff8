/**
 * Forms of pages: what the API says of their values, by the fields of the form,
 * and the values as the API reads them.
 *
 * @module
 */

import type { ComponentChildren, VNode } from "preact";
import {
  type FormFields,
  formFields,
  PostForm,
} from "../../../shared/console/form.tsx";
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

/** A form as it is shown. */
export interface FormState {
  /** The values of its fields. */
  readonly values: URLSearchParams;
  /** What was wrong with the form that was sent. */
  readonly faults: FormFaults;
}

/** What a form that was sent says, or why it cannot be read. */
export type FormOutcome =
  | { readonly kind: "ok"; readonly body: Readonly<Record<string, unknown>> }
  | { readonly kind: "invalid"; readonly faults: FormFaults };

/** The fields of a form with its values and faults. */
export function fieldsOf({ values, faults }: FormState): FormFields {
  return formFields(values, faults.of);
}

/** The HTTP status of a page with a form. */
export function statusOf(faults: FormFaults): number {
  return faults === NO_FAULTS ? 200 : 422;
}

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

/** A form that tells above its fields what is wrong with it. */
export function FaultForm(
  { faults, children, ...form }:
    & Omit<Parameters<typeof PostForm>[0], "children">
    & {
      readonly faults: FormFaults;
      readonly children: ComponentChildren;
    },
): VNode {
  return (
    <PostForm {...form}>
      <FaultsNote faults={faults} />
      {children}
    </PostForm>
  );
}

/** Values of a form; those that are undefined or null are left out. */
export function valuesOf(
  values: Readonly<Record<string, unknown>>,
): URLSearchParams {
  return new URLSearchParams(
    Object.entries(values).flatMap(([name, value]) =>
      value === undefined || value === null ? [] : [[name, String(value)]]
    ),
  );
}

/** A body without members that are null: a new record has its defaults. */
export function withoutNulls(
  body: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(body).filter(([, value]) => value !== null),
  );
}

/** The values of a field that is a list with commas or lines; null when empty. */
export function listOf(text: string): readonly string[] | null {
  const items = text.split(/[,\n]/).map((item) => item.trim())
    .filter((item) => item !== "");
  return items.length === 0 ? null : items;
}

/**
 * The parts `name=value` of a text as an object; a part without the sign
 * between them is a name.
 */
export function pairsOf(
  text: string,
  { sign = "=", between = "\n" }: {
    /** What stands between a name and its value. @default {"="} */
    readonly sign?: "=" | ":";
    /** What stands between the parts. @default a line's end */
    readonly between?: "\n" | ",";
  } = {},
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    text.split(between).map((part) => part.trim()).filter((part) => part !== "")
      .map((part) => {
        const at = part.indexOf(sign);
        return at === -1
          ? [part, ""]
          : [part.slice(0, at).trim(), part.slice(at + 1).trim()];
      }),
  );
}

/** The lines `name=value` of an object. */
export function pairsText(
  pairs: Readonly<Record<string, string>>,
  sign = "=",
): string {
  return Object.entries(pairs).map(([name, value]) => `${name}${sign}${value}`)
    .join("\n");
}

/** A trimmed field; null when it is empty. */
export function textOf(form: URLSearchParams, name: string): string | null {
  const text = form.get(name)?.trim() ?? "";
  return text === "" ? null : text;
}

/** The trimmed fields of these names; null where one is empty. */
export function textsOf(
  form: URLSearchParams,
  names: readonly string[],
): Readonly<Record<string, string | null>> {
  return Object.fromEntries(names.map((name) => [name, textOf(form, name)]));
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

/** A field with JSON, which is null when it is empty. */
export function jsonOf(form: URLSearchParams, name: string):
  | { readonly kind: "ok"; readonly value: unknown }
  | Extract<FormOutcome, { readonly kind: "invalid" }> {
  try {
    return { kind: "ok", value: JSON.parse(textOf(form, name) ?? "null") };
  } catch {
    const of = { [name]: `Cannot read ${name}: it is not JSON` };
    return { kind: "invalid", faults: { of, others: [] } };
  }
}

/** A value as JSON text with indentation. */
export function prettyJson(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? "";
}
