/**
 * Pieces of HTML: text in them is escaped, and nothing else is trusted.
 *
 * @module
 */

/**
 * Makes a text one that a browser shows as it is, between tags. Attributes are
 * not for texts: what they hold is made by {@linkcode anchorOf}.
 */
export function textHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}

/** A text as code. */
export function codeHtml(text: string): string {
  return `<code>${textHtml(text)}</code>`;
}

/** A line of text with code between backquotes. */
export function lineHtml(text: string): string {
  return text.split(/(`[^`]+`)/).map((part) =>
    /^`[^`]+`$/.test(part) ? codeHtml(part.slice(1, -1)) : textHtml(part)
  ).join("");
}

/** Paragraphs of such lines, with an empty line between them. */
export function paragraphsHtml(text: string): string {
  return text.split(/\n{2,}/).filter((part) => part.trim() !== "")
    .map((part) => `<p>${lineHtml(part)}</p>`).join("\n");
}

/** A name that attributes may have, as anchors of addresses too. */
export function anchorOf(kind: string, name: string): string {
  return `${kind}-${name.replaceAll(/[^A-Za-z0-9_.-]+/g, "-")}`;
}
