/**
 * Compares the output that a page shows with the actual output of its commands.
 *
 * @module
 */

/**
 * Returns which part of the shown output is missing in the actual output, or
 * `undefined` when they match. In the shown output, `…` stands for any text
 * within a line, and alone on a line for any number of lines. Spaces at the
 * ends of lines don't count; in JSON no spaces count.
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
