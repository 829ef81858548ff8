/**
 * The pages on which records such as webhooks are created and changed: the same
 * form for both, which has the values that were sent until the API takes them.
 *
 * @module
 */

import type { ComponentChildren } from "preact";
import type { FormFields } from "../../../shared/console/form.tsx";
import {
  FaultForm,
  fieldsOf,
  formFaults,
  type FormOutcome,
  type FormState,
  NO_FAULTS,
  statusOf,
  textOf,
  withoutNulls,
} from "./form.tsx";
import {
  goTo,
  type Page,
  type PageAnswer,
  type PageCall,
  pathOf,
} from "./page.ts";
import { shownOncePage } from "./shown_once.tsx";

/** A record as the API shows it. */
interface ShownRecord {
  readonly id: string;
  readonly signing_secret?: string | null;
}

/** What a form of records is. */
interface RecordForm<T extends ShownRecord> {
  /** The word for a record: `webhook`. */
  readonly noun: string;
  /** What a record is called. */
  readonly nameOf: (record: T) => string;
  /** The fields that the API names as the form does. */
  readonly names: readonly string[];
  /** The values of the form for a new record. */
  readonly begin: (page: PageCall) => URLSearchParams;
  /** The values of the form for a record that is there. */
  readonly valuesOf: (record: T) => URLSearchParams;
  /** Reads the form as the body that creates or changes a record. */
  readonly read: (form: URLSearchParams) => FormOutcome;
  /** How a record is changed. */
  readonly method: "PUT" | "PATCH";
  /** What is said above the secret of a record that has a new one. */
  readonly about: string;
  /** Whether a record signs its calls. @default each does */
  readonly isSigner?: (record: T) => boolean;
  /** The fields of the form. */
  readonly content: (
    fields: FormFields,
    state: FormState & { readonly record: T | undefined },
    page: PageCall,
  ) => ComponentChildren;
}

/** The pages that show the form, and those that take what it sends. */
export type RecordPages = Readonly<
  Record<"showNew" | "create" | "edit" | "change", Page>
>;

/** Makes the pages of a form. */
export function recordForm<T extends ShownRecord>(
  form: RecordForm<T>,
): RecordPages {
  const { noun, nameOf } = form;
  const list = `${noun}s`;
  const title = (record: T): string =>
    `${noun[0]?.toUpperCase()}${noun.slice(1)} ${nameOf(record)}`;
  const show = (
    page: PageCall,
    { record, ...state }: FormState & { readonly record?: T },
  ): PageAnswer => ({
    kind: "page",
    title: record === undefined ? `New ${noun}` : `Edit ${nameOf(record)}`,
    status: statusOf(state.faults),
    content: (
      <FaultForm page={page} faults={state.faults} kind="narrow">
        <input
          type="hidden"
          name="etag"
          value={state.values.get("etag") ?? ""}
        />
        {form.content(fieldsOf(state), { ...state, record }, page)}
        <div class="row">
          <button type="submit" class="primary">
            {record === undefined ? "Create" : "Save"}
          </button>
          <a
            class="button"
            href={`${page.base}/${list}${
              record === undefined ? "" : `/${record.id}`
            }`}
          >
            Back
          </a>
        </div>
      </FaultForm>
    ),
  });
  const saved = ({ base }: PageCall, record: T, done: string): PageAnswer => {
    const back = `${base}/${list}/${record.id}`;
    const { signing_secret: secret } = record;
    const isSigner = form.isSigner?.(record) ?? true;
    if (typeof secret !== "string" || !isSigner) return goTo(back, done);
    return shownOncePage({
      title: title(record),
      about: form.about,
      secrets: [["Signing secret", secret]],
      back: [back, `To the ${noun}`],
    });
  };
  return {
    showNew: (page) =>
      Promise.resolve(
        show(page, { values: form.begin(page), faults: NO_FAULTS }),
      ),
    async create(page) {
      const { form: values } = page;
      const read = form.read(values);
      if (read.kind === "invalid") {
        return show(page, { values, faults: read.faults });
      }
      const answer = await page.ask({
        method: "POST",
        path: `/v1/${list}`,
        body: withoutNulls(read.body),
      });
      const faults = formFaults(answer, form.names);
      return faults === undefined
        ? saved(page, answer.body as T, "created")
        : show(page, { values, faults });
    },
    edit: (page) =>
      page.show<T>({ path: pathOf(list, page) }, (record, { headers }) => {
        const values = form.valuesOf(record);
        values.set("etag", headers.etag?.toString() ?? "");
        return show(page, { values, faults: NO_FAULTS, record });
      }),
    change: (page) =>
      page.show<T>({ path: pathOf(list, page) }, async (record) => {
        const { form: values } = page;
        const read = form.read(values);
        if (read.kind === "invalid") {
          return show(page, { values, faults: read.faults, record });
        }
        const answer = await page.ask({
          method: form.method,
          path: pathOf(list, page),
          body: read.body,
          headers: { "if-match": textOf(values, "etag") ?? "*" },
        });
        const faults = formFaults(answer, form.names);
        return faults === undefined
          ? saved(page, answer.body as T, "saved")
          : show(page, { values, faults, record });
      }),
  };
}
