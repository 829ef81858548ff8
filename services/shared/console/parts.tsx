/**
 * The small parts of console pages: states, times, notes, lists of facts,
 * code with a button that copies it.
 *
 * @module
 */

import type { ComponentChildren, VNode } from "preact";
import { formatSpan } from "../duration.ts";

/** Made once: for each number one would take longer than the rest of its cell. */
const COUNTS = new Intl.NumberFormat("en");

/** A number with commas between thousands. */
export function formatCount(value: number): string {
  return COUNTS.format(value);
}

/** How a state is meant: the colour of its badge, beside its word. */
export type Tone = "good" | "bad" | "warn" | "busy" | "calm" | "dim";

/** A state as a word with a coloured dot. */
export function Badge(
  { tone, isHollow = false, children }: {
    readonly tone: Tone;
    /** Whether the dot is a ring: nothing happens now. @default {false} */
    readonly isHollow?: boolean;
    readonly children: ComponentChildren;
  },
): VNode {
  return (
    <span class={`badge ${tone}${isHollow ? " hollow" : ""}`}>{children}</span>
  );
}

/**
 * An instant: as time of day and date, or in short by its distance from now.
 * The script shows it in the reader's zone.
 */
export function Time(
  { at, nowMs }: {
    /** The instant in RFC 3339; nothing is shown where it is absent. */
    readonly at: string | null | undefined;
    /** The present, for the short form. @default the long form */
    readonly nowMs?: number | undefined;
  },
): VNode | null {
  if (at === null || at === undefined) return null;
  const utc = `${at.slice(0, 19).replace("T", " ")} UTC`;
  return nowMs === undefined
    ? <time dateTime={at}>{utc}</time>
    : (
      <time dateTime={at} title={utc} data-kind="short">
        {formatDistance(Date.parse(at) - nowMs)}
      </time>
    );
}

function formatDistance(ms: number): string {
  if (Math.abs(ms) < 1_000) return "now";
  return ms < 0 ? `${formatLength(-ms)} ago` : `in ${formatLength(ms)}`;
}

/** A length of time in words: `250 ms`, `2.5 s`, `3 h 2 min`. */
export function formatLength(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 10_000
    ? `${Number((ms / 1_000).toFixed(1))} s`
    : formatSpan(Math.floor(ms / 1_000) * 1_000);
}

/** A box with something to know. */
export function Note(
  { tone = "busy", isUrgent = false, id, children }: {
    /** Its colour. @default {"busy"} */
    readonly tone?: Tone;
    /** Whether screen readers tell it at once. @default {false} */
    readonly isUrgent?: boolean;
    readonly id?: string;
    readonly children: ComponentChildren;
  },
): VNode {
  return (
    <div class={`note ${tone}`} id={id} role={isUrgent ? "alert" : undefined}>
      {children}
    </div>
  );
}

/** A part of a page with a heading, by which it is known. */
export function Section(
  { id, title, kind, children }: {
    /** An id that nothing else on the page has. */
    readonly id: string;
    readonly title: ComponentChildren;
    /** How wide it is. @default as the page */
    readonly kind?: "narrow";
    readonly children: ComponentChildren;
  },
): VNode {
  return (
    <section aria-labelledby={id} class={kind}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  );
}

/** What stands where a list has nothing. */
export function Empty(
  { children }: { readonly children: ComponentChildren },
): VNode {
  return <div class="empty">{children}</div>;
}

/** Names with their values; those without a value are left out. */
export function FactList(
  { facts }: {
    readonly facts: readonly (readonly [string, ComponentChildren])[];
  },
): VNode {
  return (
    <dl class="list">
      {facts.map(([name, value]) =>
        isNothing(value) ? null : (
          <>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </>
        )
      )}
    </dl>
  );
}

/** Values of a fact, each on a line of its own. */
export function lines<T>(
  items: readonly T[] = [],
  render: (item: T) => ComponentChildren,
): readonly VNode[] {
  return items.map((item) => <div>{render(item)}</div>);
}

function isNothing(value: ComponentChildren): boolean {
  return value === null || value === undefined || value === "" ||
    Array.isArray(value) && value.length === 0;
}

/** Code or data, with a button that copies it. */
export function Code(
  { id, name, text, wraps = false }: {
    /** An id that nothing else on the page has. */
    readonly id: string;
    /** What it is. */
    readonly name: string;
    readonly text: string;
    /** Whether long lines are broken. @default {false} */
    readonly wraps?: boolean;
  },
): VNode {
  return (
    <div class="code">
      <div class="row">
        <span class="name" id={`${id}-name`}>{name}</span>
        <button
          type="button"
          class="plain"
          data-copy={id}
          aria-label={`Copy ${name}`}
        >
          Copy
        </button>
      </div>
      <pre
        id={id}
        tabIndex={0}
        role="region"
        aria-labelledby={`${id}-name`}
        class={wraps ? "wrap" : undefined}
      >{text}</pre>
    </div>
  );
}

/** Part of a page that the script keeps up to date. */
export function Live(
  { id, children }: {
    /** An id that nothing else on the page has. */
    readonly id: string;
    readonly children: ComponentChildren;
  },
): VNode {
  return <div id={id} data-live="">{children}</div>;
}

/** Numbers that lead to what they count. */
export function Tiles(
  { tiles }: {
    readonly tiles: readonly {
      readonly name: string;
      readonly value: number | string;
      readonly href: string;
      readonly tone?: Tone;
    }[];
  },
): VNode {
  return (
    <ul class="facts">
      {tiles.map(({ name, value, href, tone }) => (
        <li>
          <a href={href}>
            <strong class={tone}>{value}</strong> {name}
          </a>
        </li>
      ))}
    </ul>
  );
}
