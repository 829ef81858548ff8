/**
 * Small plots of numbers over time, as SVG that scales with its place. A
 * caption says the same in words.
 *
 * @module
 */

import type { VNode } from "preact";

/** A series of numbers at even steps. */
interface PlotProps {
  /** What is plotted, such as `Completed in 24 hours`. */
  readonly label: string;
  /** The numbers, the oldest first. */
  readonly values: readonly number[];
  /** Says a number in words. @default as it is */
  readonly format?: ((value: number) => string) | undefined;
}

/** The width of plots in units of their own; pages stretch them. */
const WIDTH = 600;
const HEIGHT = 60;

/** Bars, one for each number. */
export function Bars(props: PlotProps & { readonly isBad?: boolean }): VNode {
  const { values, isBad = false } = props;
  const most = Math.max(1, ...values);
  const step = WIDTH / Math.max(1, values.length);
  return (
    <Plot {...props}>
      {values.map((value, index) =>
        value === 0 ? null : (
          <rect
            class={isBad ? "bad" : undefined}
            x={round(index * step)}
            y={round(HEIGHT - value / most * HEIGHT)}
            width={round(step * 0.8)}
            height={round(value / most * HEIGHT)}
          />
        )
      )}
    </Plot>
  );
}

/** A line through the numbers. */
export function Sparkline(props: PlotProps): VNode {
  const { values } = props;
  const most = Math.max(1, ...values);
  const step = WIDTH / Math.max(1, values.length - 1);
  const points = values.map((value, index) =>
    `${round(index * step)},${round(HEIGHT - value / most * (HEIGHT - 2))}`
  );
  return (
    <Plot {...props}>
      <polyline class="line" points={points.join(" ")} />
    </Plot>
  );
}

function Plot(
  { label, values, format = String, children }: PlotProps & {
    readonly children: VNode | readonly (VNode | null)[];
  },
): VNode {
  const most = Math.max(0, ...values);
  const last = values.at(-1) ?? 0;
  const words = `${label}: at most ${format(most)}, now ${format(last)}`;
  return (
    <svg
      class="plot"
      role="img"
      aria-label={words}
      viewBox={`0 0 ${WIDTH} ${HEIGHT + 1}`}
      preserveAspectRatio="none"
    >
      <line x1={0} x2={WIDTH} y1={HEIGHT + 0.5} y2={HEIGHT + 0.5} />
      {children}
    </svg>
  );
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
