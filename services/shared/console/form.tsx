/**
 * Fields of forms: each has a label, and is told what is wrong with it.
 *
 * @module
 */

import { type ComponentChildren, h, type VNode } from "preact";

/** What every field has. */
interface FieldProps {
  /** The name under which the form sends it. */
  readonly name: string;
  /** What it is, for people. */
  readonly label: string;
  /** The value it has at first. @default none */
  readonly value?: string | undefined;
  /** What to write into it. @default nothing is said */
  readonly hint?: ComponentChildren;
  /** What is wrong with the value that was sent. @default nothing */
  readonly fault?: string | undefined;
  /** Whether it must be filled in. @default {false} */
  readonly isRequired?: boolean;
}

/** A line of text, or a date, a number and the like. */
export function TextField(
  props: FieldProps & {
    /** The kind of text. @default {"text"} */
    readonly type?:
      | "text"
      | "search"
      | "password"
      | "email"
      | "url"
      | "number"
      | "datetime-local";
    /** What the browser may fill in. @default {"off"} */
    readonly autocomplete?: string;
    /** An example. @default none */
    readonly placeholder?: string | undefined;
    /** Whether the key `/` leads here. @default {false} */
    readonly isSearch?: boolean;
    /** Values that the browser offers. @default none */
    readonly offers?: readonly string[] | undefined;
  },
): VNode {
  const { name, value, type = "text", autocomplete = "off" } = props;
  const { isSearch, offers = [] } = props;
  return (
    <Field {...props}>
      {
        // A page that is drawn again keeps what the reader has typed: the value
        // is the first one, which JSX would write as an attribute of its own.
        h("input", {
          ...common(props),
          type,
          name,
          defaultValue: value,
          autocomplete,
          placeholder: props.placeholder,
          spellcheck: false,
          "data-search": isSearch === true ? "" : undefined,
          list: offers.length === 0 ? undefined : `${name}-offers`,
        })
      }
      {offers.length === 0 ? null : (
        <datalist id={`${name}-offers`}>
          {offers.map((offer) => <option value={offer}></option>)}
        </datalist>
      )}
    </Field>
  );
}

/** Several lines of text. */
export function TextArea(
  props: FieldProps & {
    /** Lines that are seen at once. @default {6} */
    readonly rows?: number;
  },
): VNode {
  return (
    <Field {...props}>
      <textarea
        {...common(props)}
        name={props.name}
        rows={props.rows ?? 6}
        spellcheck={false}
      >
        {props.value}
      </textarea>
    </Field>
  );
}

/** One of several values. */
export function ChoiceField(
  props: FieldProps & {
    /** Each value with its text. */
    readonly choices: readonly (readonly [string, string])[];
  },
): VNode {
  const { name, value, choices } = props;
  return (
    <Field {...props}>
      <select {...common(props)} name={name}>
        {choices.map(([choice, text]) => (
          <option value={choice} selected={choice === (value ?? "")}>
            {text}
          </option>
        ))}
      </select>
    </Field>
  );
}

/** A box to tick, which sends `true`. */
export function CheckField(
  { name, label, isChecked = false, isRequired }:
    & Pick<FieldProps, "name" | "label" | "isRequired">
    & {
      /** Whether it is ticked at first. @default {false} */
      readonly isChecked?: boolean;
    },
): VNode {
  return (
    <label class="check field">
      <input
        type="checkbox"
        name={name}
        value="true"
        checked={isChecked}
        required={isRequired === true ? true : undefined}
      />
      {label}
    </label>
  );
}

function common(
  { name, hint, fault, isRequired }: FieldProps,
): Readonly<Record<string, string | boolean | undefined>> {
  const by = [
    fault === undefined ? undefined : `${name}-fault`,
    hint === undefined ? undefined : `${name}-hint`,
  ].filter((id) => id !== undefined).join(" ");
  return {
    id: name,
    required: isRequired === true ? true : undefined,
    "aria-invalid": fault === undefined ? undefined : "true",
    "aria-describedby": by === "" ? undefined : by,
  };
}

function Field(
  { name, label, hint, fault, children }: FieldProps & {
    readonly children: ComponentChildren;
  },
): VNode {
  return (
    <div class="field">
      <label for={name}>{label}</label>
      {children}
      {fault === undefined
        ? null
        : <p class="fault" id={`${name}-fault`}>{fault}</p>}
      {hint === undefined
        ? null
        : <p class="hint" id={`${name}-hint`}>{hint}</p>}
    </div>
  );
}
