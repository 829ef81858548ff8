/**
 * Finds what promtool finds in metrics (`promtool check metrics`), as far as it
 * matters here, so that tests need no promtool. Families without samples are
 * looked at as well, which promtool passes over.
 *
 * @module
 */

interface Family {
  readonly name: string;
  readonly kind: string;
  help: string;
  readonly labels: Set<string>;
}

/** What each kind's samples may have behind the name of the family. */
const SUFFIXES: Readonly<Record<string, RegExp>> = {
  histogram: /_(?:bucket|sum|count)$/,
  summary: /_(?:sum|count)$/,
};
const ABBREVIATIONS = /_(?:s|ms|us|ns|sec|b|kb|mb|gb|tb|pb|m|h|d)(?:_|$)/;
const OTHER_UNITS =
  /(?:^|_)(?:milli|micro|nano|kilo|mega|giga)?(?:milliseconds|microseconds|nanoseconds|minutes|hours|days|weeks|kilobytes|megabytes|gigabytes|bits|percent)(?:_|$)/;

/**
 * Returns the faults of metrics in the text format of Prometheus, each with the
 * name of its metric.
 */
export function metricsFaults(text: string): readonly string[] {
  const faults: string[] = [];
  const families = new Map<string, Family>();
  const helps = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [, what, about = "", rest = ""] =
      /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? [];
    if (what === "HELP") helps.set(about, rest);
    else if (what === "TYPE") {
      if (families.has(about)) faults.push(`${about}: it comes twice`);
      const help = helps.get(about) ?? "";
      families.set(about, { name: about, kind: rest, help, labels: new Set() });
    } else if (line !== "" && !line.startsWith("#")) {
      const fault = noteSample(line, families);
      if (fault !== undefined) faults.push(fault);
    }
  }
  for (const family of families.values()) {
    faults.push(
      ...findFaults(family).map((fault) => `${family.name}: ${fault}`),
    );
  }
  return faults;
}

/** Adds the labels of a sample to its family; returns what is wrong with it. */
function noteSample(
  line: string,
  families: ReadonlyMap<string, Family>,
): string | undefined {
  const [, name = "", labels = ""] =
    /^([^\s{]+)(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})? \S+$/.exec(line) ?? [];
  const family = families.get(name) ?? [...families.values()].find((one) => {
    const suffix = SUFFIXES[one.kind];
    return suffix !== undefined && suffix.test(name) &&
      name.replace(suffix, "") === one.name;
  });
  if (family === undefined) return `${line}: its metric has no type`;
  for (
    const [, label = ""] of labels.matchAll(/([^",=]+)="(?:[^"\\]|\\.)*"/g)
  ) {
    family.labels.add(label);
  }
  return undefined;
}

function findFaults({ name, kind, help, labels }: Family): readonly string[] {
  const rules: readonly (readonly [boolean, string])[] = [
    [help === "", "it has no help"],
    [
      kind === "counter" && !name.endsWith("_total"),
      "its name has no _total at the end, and it is a counter",
    ],
    [
      kind !== "counter" && name.endsWith("_total"),
      "its name has _total at the end, and it is no counter",
    ],
    [
      SUFFIXES[kind] === undefined && SUFFIXES.histogram!.test(name),
      "its name ends like a sample of a histogram",
    ],
    [new RegExp(`(?:^|_)${kind}(?:_|$)`).test(name), "its name has its type"],
    [/[A-Z]/.test(name), "its name has upper case"],
    [name.includes(":"), "its name has a colon"],
    [ABBREVIATIONS.test(name), "its name has an abbreviated unit"],
    [OTHER_UNITS.test(name), "its name has no base unit"],
    [kind !== "histogram" && labels.has("le"), "it has a label le"],
    [kind !== "summary" && labels.has("quantile"), "it has a label quantile"],
    [
      [...labels].some((label) => /[A-Z]/.test(label)),
      "a label has upper case",
    ],
  ];
  return rules.flatMap(([isBroken, fault]) => isBroken ? [fault] : []);
}
