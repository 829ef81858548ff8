/**
 * Spans of time, one below the other, drawn to one scale. The list has the same
 * as text, so the drawing is for the eye alone.
 *
 * @module
 */

import type { ComponentChildren, VNode } from "preact";
import { formatLength, Time, type Tone } from "./parts.tsx";

/** A span of time. */
export interface Span {
  /** What it is. */
  readonly name: ComponentChildren;
  /** Its beginning, in milliseconds since the epoch. */
  readonly startMs: number;
  /** Its end; that of what goes on is the present. */
  readonly endMs: number;
  /** How it is coloured; `wait` for time in which nothing happens. */
  readonly tone: Tone | "wait";
  /** Whether it goes on. @default {false} */
  readonly isOpen?: boolean;
}

/** Draws spans from the earliest beginning to the latest end. */
export function Timeline(
  { label, spans }: {
    /** What is drawn. */
    readonly label: string;
    /** The spans; one at least. */
    readonly spans: readonly Span[];
  },
): VNode {
  const startMs = Math.min(...spans.map((span) => span.startMs));
  const endMs = Math.max(...spans.map((span) => span.endMs));
  const wholeMs = Math.max(1, endMs - startMs);
  const toPercent = (ms: number): string =>
    `${Number((ms / wholeMs * 100).toFixed(3))}%`;
  return (
    <div>
      <div class="ends" aria-hidden="true">
        <Time at={new Date(startMs).toISOString()} />
        <Time at={new Date(endMs).toISOString()} />
      </div>
      <ol class="spans" aria-label={label}>
        {spans.map((span) => (
          <li>
            <span>{span.name}</span>
            <svg class="span" aria-hidden="true">
              <rect
                class={span.tone}
                x={toPercent(span.startMs - startMs)}
                width={toPercent(span.endMs - span.startMs)}
                y="3"
                height="10"
              />
            </svg>
            <span class="long">
              {formatLength(span.endMs - span.startMs)}
              {span.isOpen === true ? " so far" : ""}
            </span>
          </li>
        ))}
      </ol>
    </div>
  );
}
