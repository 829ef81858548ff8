/**
 * Forms, their buttons and their fields: each field has a label, and is told
 * what is wrong with it.
 *
 * @module
 */

import { type ComponentChildren, h, type VNode } from "preact";

/** A form field that proves that a form comes from a page of the console. */
export function CsrfField({ csrf }: { readonly csrf: string }): VNode {
  return <input type="hidden" name="csrf" value={csrf} />;
}

/** A button that sends its form. */
export interface FormButton {
  /** What the button says. */
  readonly text: ComponentChildren;
  /** What is sent as `action`. @default nothing is sent */
  readonly value?: string | undefined;
  /** The question that is asked first. @default none */
  readonly question?: string | undefined;
  /**
   * How it looks.
   * @default {"danger"} with a question, else as other buttons
   */
  readonly kind?: "" | "primary" | "danger" | "plain" | "plain danger";
}

/** Buttons that send their form. */
export function Buttons(
  { buttons }: { readonly buttons: readonly FormButton[] },
): VNode {
  return (
    <>
      {buttons.map(({ text, value, question, kind }) => {
        const look = kind ?? (question === undefined ? "" : "danger");
        return (
          <button
            type="submit"
            class={look === "" ? undefined : look}
            name={value === undefined ? undefined : "action"}
            value={value}
            data-confirm={question}
          >
            {text}
          </button>
        );
      })}
    </>
  );
}

/** A form that changes something. */
export function PostForm(
  { page, to = page.here, kind, submit, buttons = [], children }: {
    /** The path of its page, and the value that forms have to send. */
    readonly page: { readonly here: string; readonly csrf: string };
    /** Where it is sent. @default the page itself */
    readonly to?: string;
    /** How it is laid out. @default one field below the other */
    readonly kind?: "narrow" | "row";
    /** The text of its one button. @default it has other buttons */
    readonly submit?: string;
    /** The buttons below the fields. @default none */
    readonly buttons?: readonly FormButton[];
    /** The fields. @default none */
    readonly children?: ComponentChildren;
  },
): VNode {
  return (
    <form method="post" action={to} class={kind}>
      <CsrfField csrf={page.csrf} />
      {children}
      {submit === undefined
        ? null
        : <Buttons buttons={[{ text: submit, kind: "primary" }]} />}
      <Buttons buttons={buttons} />
    </form>
  );
}

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

/** What a line of text has. */
interface TextProps extends FieldProps {
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
}

/** A line of text, or a date, a number and the like. */
export function TextField(props: TextProps): VNode {
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

/** What several lines of text have. */
interface AreaProps extends FieldProps {
  /** Lines that are seen at once. @default {6} */
  readonly rows?: number;
}

/** Several lines of text. */
export function TextArea(props: AreaProps): VNode {
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

/** What a choice has. */
interface ChoiceProps extends FieldProps {
  /** Each value with its text; alone where the text is the same. */
  readonly choices: readonly (string | readonly [string, string])[];
}

/** One of several values. */
export function ChoiceField(props: ChoiceProps): VNode {
  const { name, value, choices } = props;
  return (
    <Field {...props}>
      <select {...common(props)} name={name}>
        {choices.map((choice) => {
          const [one, text] = typeof choice === "string"
            ? [choice, choice]
            : choice;
          return (
            <option value={one} selected={one === (value ?? "")}>{text}</option>
          );
        })}
      </select>
    </Field>
  );
}

/** A box to tick, one of several of a name. */
export function TickBox(
  { name, value, isChecked, children }: {
    readonly name: string;
    /** What it sends. */
    readonly value: string;
    readonly isChecked: boolean;
    /** What it is, for people. */
    readonly children: ComponentChildren;
  },
): VNode {
  return (
    <label class="check">
      <input type="checkbox" name={name} value={value} checked={isChecked} />
      {children}
    </label>
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

/** What a field has besides its name, its label and what the form knows of it. */
type More<Props extends FieldProps> = Omit<Props, "name" | "label">;

/** Fields of a form, which has their values and what is wrong with them. */
export interface FormFields {
  /** A line of text. */
  text(name: string, label: string, more?: More<TextProps>): VNode;
  /** Several lines of text. */
  area(name: string, label: string, more?: More<AreaProps>): VNode;
  /** One of several values, each with its text. */
  choice(name: string, label: string, more: More<ChoiceProps>): VNode;
  /** A box to tick. */
  check(name: string, label: string): VNode;
}

/**
 * Makes fields for the values of a form.
 *
 * @param faults What is wrong with each field that has a fault.
 */
export function formFields(
  values: URLSearchParams,
  faults: Readonly<Record<string, string>> = {},
): FormFields {
  const own = (name: string, label: string) => {
    return { name, label, value: values.get(name) ?? "", fault: faults[name] };
  };
  return {
    text: (name, label, more) => <TextField {...own(name, label)} {...more} />,
    area: (name, label, more) => <TextArea {...own(name, label)} {...more} />,
    choice: (name, label, more) => (
      <ChoiceField {...own(name, label)} {...more} />
    ),
    check: (name, label) => (
      <CheckField
        name={name}
        label={label}
        isChecked={values.get(name) === "true"}
      />
    ),
  };
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
