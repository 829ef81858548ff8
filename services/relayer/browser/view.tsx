/**
 * What the views of the page share: the call that a view waits for, what is
 * shown of its outcome, and addresses within the page.
 *
 * @module
 */

import { Component, type ComponentChildren, type VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { MemError } from "../../../mod.ts";
import { Note } from "../../shared/console/parts.tsx";
import type { Session } from "./session.ts";

/** What a view is shown with. */
export interface ViewProps {
  /** Who asks. */
  readonly session: Session;
  /** The parts of the address behind the view's name, decoded. */
  readonly path: readonly string[];
  /** The query of the address. */
  readonly query: URLSearchParams;
}

/** A call whose outcome a view shows. */
export type CallState<T> =
  | { readonly kind: "idle" }
  | { readonly kind: "busy" }
  | { readonly kind: "done"; readonly value: T }
  | { readonly kind: "failed"; readonly error: unknown };

/** A call as a view holds it: its state, and what makes it. */
export interface Call<T> {
  /** How it stands. */
  readonly state: CallState<T>;
  /** Makes it; a call that was made before no longer counts. */
  readonly run: (make: () => Promise<T>) => void;
}

/** Holds a call of a view. */
export function useCall<T>(): Call<T> {
  const [state, setState] = useState<CallState<T>>({ kind: "idle" });
  const count = useRef(0);
  useEffect(() => () => void count.current++, []);
  const run = (make: () => Promise<T>): void => {
    const own = ++count.current;
    const settle = (next: CallState<T>): void => {
      if (own === count.current) setState(next);
    };
    settle({ kind: "busy" });
    make().then(
      (value) => settle({ kind: "done", value }),
      (error: unknown) => settle({ kind: "failed", error }),
    );
  };
  return { state, run };
}

/** Makes a call when the view is shown, and again when `key` changes. */
export function useLoaded<T>(key: string, make: () => Promise<T>): Call<T> {
  const call = useCall<T>();
  useEffect(() => call.run(make), [key]);
  return call;
}

/** Shows the outcome of a call. */
export function Outcome<T>(
  { call: { state }, busy = "Asking the relayer…", children }: {
    readonly call: Call<T>;
    /** What is said while the call is under way. */
    readonly busy?: string;
    /** Shows the value. */
    readonly children: (value: T) => ComponentChildren;
  },
): VNode {
  return (
    <div class="outcome" aria-live="polite" aria-busy={state.kind === "busy"}>
      {state.kind === "busy" ? <p class="dim">{busy}</p> : null}
      {state.kind === "failed"
        ? <Note tone="bad" isUrgent>{describeFault(state.error)}</Note>
        : null}
      {state.kind === "done" ? children(state.value) : null}
    </div>
  );
}

/** Says what went wrong, in words for people. */
export function describeFault(error: unknown): string {
  if (error instanceof MemError && error.status === 401) {
    return "The relayer does not accept this key for this account: it may " +
      "have been removed, or the account may be another one.";
  }
  return error instanceof Error ? error.message : String(error);
}

/**
 * Fields of a form, which are shown once: what a reader has typed stays when the
 * view around them changes.
 */
export class Fixed extends Component<
  { readonly children: ComponentChildren }
> {
  /** Never shows its content again. */
  override shouldComponentUpdate(): boolean {
    return false;
  }

  /** Shows the fields. */
  override render(): ComponentChildren {
    return this.props.children;
  }
}

/** A form whose fields are given to a function when it is sent. */
export function ActionForm(
  { label, busy = false, tone = "primary", onSend, children }: {
    /** What the button says. */
    readonly label: string;
    /** Whether it waits for what was sent before. @default {false} */
    readonly busy?: boolean;
    /** How the button looks. @default {"primary"} */
    readonly tone?: "primary" | "danger";
    readonly onSend: (fields: Fields) => void;
    readonly children?: ComponentChildren;
  },
): VNode {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const data = new FormData(event.currentTarget);
        onSend((name) => String(data.get(name) ?? "").trim());
      }}
    >
      <Fixed>{children}</Fixed>
      <div class="row">
        <button type="submit" class={tone} disabled={busy}>{label}</button>
      </div>
    </form>
  );
}

/** Gives the text of a field; empty when there is none. */
export type Fields = (name: string) => string;

/** The address of a view. */
export function href(view: string, ...path: readonly string[]): string {
  return ["#", view, ...path.map(encodeURIComponent)].join("/");
}

/** An instant in the reader's zone. */
export function Instant({ at }: { readonly at: string | number }): VNode {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return <span>{String(at)}</span>;
  const iso = date.toISOString();
  return (
    <time dateTime={iso} title={iso} data-shown="1">
      {date.toLocaleString(undefined, {
        dateStyle: "medium",
        timeStyle: "medium",
      })}
    </time>
  );
}

/** A number of things: `1 memory`, `2 memories`. */
export function count(
  number: number,
  [one, many]: readonly [string, string],
): string {
  return `${number} ${number === 1 ? one : many}`;
}

/** Memories, for {@linkcode count}. */
export const MEMORIES = ["memory", "memories"] as const;

/** A number of bytes for people. */
export function formatBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = bytes < 1 ? 0 : Math.min(
    units.length - 1,
    Math.floor(Math.log2(bytes) / 10),
  );
  const value = bytes / 1_024 ** power;
  return `${power === 0 ? value : value.toFixed(1)} ${units[power]}`;
}
