/**
 * Output as a page shows it beside output as it was.
 *
 * @module
 */

/**
 * Tells what of the shown output did not come, or `undefined` when it fits. In what is
 * shown `…` stands for anything in a line, and alone in a line for any lines.
 * Spaces at the ends of lines don't count; of JSON, none do.
 */
export function differenceFrom(
  shown: string,
  actual: string,
): string | undefined {
  const isJson = /^\s*[[{]/.test(shown);
  const [wanted, got] = [shown, actual].map((text) =>
    isJson ? text.replaceAll(/\s+/g, "") : trimLines(text)
  );
  const pattern = new RegExp(`^${toPattern(wanted ?? "", isJson)}$`, "su");
  if (pattern.test(got ?? "")) return undefined;
  return `shown:\n${shown.trimEnd()}\ncame:\n${actual.trimEnd()}`;
}

function trimLines(text: string): string {
  return text.split("\n").map((line) => line.trimEnd()).join("\n").trim();
}

function toPattern(shown: string, isJson: boolean): string {
  const any = isJson ? ".*" : "[^\\n]*";
  return shown.split("\n").map((line, index) => {
    const isFirst = index === 0;
    if (line === "…" && !isJson) return isFirst ? "[^]*?" : "(?:\\n[^]*?)?";
    const pattern = line.split("…").map((part) =>
      part.replaceAll(/[\\^$.*+?()[\]{}|\/]/g, "\\$&")
    ).join(any);
    return isFirst ? pattern : `\\n${pattern}`;
  }).join("");
}
