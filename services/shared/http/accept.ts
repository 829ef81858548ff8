/**
 * Chooses the form of an answer by the Accept header (RFC 9110, 12.5.1).
 *
 * @module
 */

/** Longest Accept header that is read; a longer one is ignored. */
const MAX_LENGTH = 1_024;

interface Range {
  readonly type: string;
  readonly subtype: string;
  readonly weight: number;
}

/**
 * The offered type that the client prefers; of equally preferred ones the
 * first. The first one also when Accept is missing or cannot be read.
 *
 * @returns `undefined` when the client accepts none of the types.
 */
export function preferredType<const Type extends string>(
  accept: string | undefined,
  offered: readonly Type[],
): Type | undefined {
  const ranges = accept === undefined || accept.length > MAX_LENGTH
    ? []
    : accept.split(",").flatMap(parseRange);
  if (ranges.length === 0) return offered[0];
  let best: Type | undefined;
  let bestWeight = 0;
  for (const type of offered) {
    const weight = findWeight(type, ranges);
    if (weight <= bestWeight) continue;
    best = type;
    bestWeight = weight;
  }
  return best;
}

/** The weight of the most specific range that matches a type. */
function findWeight(offered: string, ranges: readonly Range[]): number {
  const [type = "", subtype = ""] = offered.split("/");
  const exact = ranges.find((range) =>
    range.type === type && range.subtype === subtype
  );
  const ofType = ranges.find((range) =>
    range.type === type && range.subtype === "*"
  );
  const any = ranges.find((range) => range.type === "*");
  return (exact ?? ofType ?? any)?.weight ?? 0;
}

function parseRange(text: string): readonly Range[] {
  const [range = "", ...parameters] = text.split(";").map((part) =>
    part.trim().toLowerCase()
  );
  const match = /^([\w!#$%&'*+.^`|~-]+)\/([\w!#$%&'*+.^`|~-]+)$/.exec(range);
  if (match === null) return [];
  const quality = parameters.find((parameter) => parameter.startsWith("q="));
  const written = quality?.slice(2) ?? "1";
  const weight = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(written)
    ? Number(written)
    : 0;
  return [{ type: match[1] ?? "", subtype: match[2] ?? "", weight }];
}
