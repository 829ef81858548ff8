/**
 * Makes pieces of HTML, in which all text is escaped.
 *
 * @module
 */

/**
 * Escapes a text for use between tags. It is not for attributes:
 * {@linkcode attributeHtml} is.
 */
export function textHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}

/** Escapes a text for use within a quoted attribute. */
export function attributeHtml(text: string): string {
  return textHtml(text).replaceAll('"', "&quot;").replaceAll("'", "&#39;");
}

/** A text as code. */
export function codeHtml(text: string): string {
  return `<code>${textHtml(text)}</code>`;
}

/** A text whose lines stay as they are; the block is scrolled by itself. */
export function preHtml(text: string): string {
  return `<pre tabindex="0">${textHtml(text)}</pre>`;
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

/** Makes a safe value of an `id` attribute, also for links to it. */
export function toAnchor(kind: string, name: string): string {
  return `${kind}-${name.replaceAll(/[^A-Za-z0-9_.-]+/g, "-")}`;
}
