/**
 * The lint rule about words: comments, help texts and errors have to be plain
 * English, with the terms of the field.
 *
 * @module
 */

import { findClauseSubjects } from "./clause_subjects.ts";
import { isTestCode } from "./project_file.ts";
import { toPath } from "./rule_context.ts";

/** Phrases that are hard to understand, and what to write instead. */
const PHRASES: readonly (readonly [phrase: string, instead: string])[] = [
  ["anew", "again"],
  ["any more", "no longer"],
  ["anybody", "name who it is"],
  ["comes to", "name the outcome"],
  ["goes home", "name what happens"],
  ["(?<!there )is none(?! of)", "not found, or no ..."],
  ["may more", "name what is allowed"],
  ["nobody", "name who does not"],
  ["somebody", "name who it is"],
  ["whoever", "name who it is"],
];

/** The space between two words, where a comment may also break its line. */
const BREAK = "\\s+(?:(?:\\*|//)\\s+)?";

/**
 * Matches any of the phrases; each is a capture group, so that a match tells
 * which one it is.
 */
const STUMBLING = new RegExp(
  PHRASES.map(([phrase]) => `\\b(${phrase.replaceAll(" ", BREAK)})\\b`)
    .join("|"),
  "gi",
);

/** Reports the phrases in comments and texts, except in tests. */
export function checkWords(
  context: Deno.lint.RuleContext,
): Deno.lint.LintVisitor {
  const path = toPath(context);
  // The list of phrases itself contains all of them.
  const isExempt = isTestCode(path) || path.startsWith("tests/") ||
    path.startsWith("scripts/lint/");
  if (isExempt) return {};
  const check = (text: string, start: number): void => {
    for (const found of text.matchAll(STUMBLING)) {
      const [words, ...groups] = found;
      const at = groups.findIndex((group) => group !== undefined);
      const from = start + found.index;
      context.report({
        range: [from, from + words.length],
        message: `Cannot take "${words.replaceAll(/[\s*/]+/g, " ")}" here: ` +
          `write it plainly (${PHRASES[at]?.[1]})`,
      });
    }
  };
  const checkSentences = (text: string, range: Deno.lint.Range): void => {
    for (const sentence of findClauseSubjects(text)) {
      context.report({
        range,
        message: `Cannot take a clause as subject in "${sentence}": ` +
          `name the subject`,
      });
    }
  };
  return {
    Program() {
      for (const comment of context.sourceCode.getAllComments()) {
        check(comment.value, comment.range[0] + 2);
      }
      for (const { text, range } of commentTexts(context)) {
        checkSentences(text, range);
      }
    },
    Literal(node) {
      // A string of a single word is a name or a value.
      if (typeof node.value !== "string" || !node.value.includes(" ")) return;
      check(node.raw, node.range[0]);
      checkSentences(node.value, node.range);
    },
    TemplateElement(node) {
      check(node.raw, node.range[0]);
    },
  };
}

/** A comment as one text: lines with `//` that follow each other are one. */
interface CommentText {
  readonly text: string;
  readonly range: Deno.lint.Range;
}

function commentTexts(context: Deno.lint.RuleContext): CommentText[] {
  const texts: CommentText[] = [];
  let joins = false;
  for (const { type, value, range } of context.sourceCode.getAllComments()) {
    const last = texts.at(-1);
    const between = last === undefined
      ? ""
      : context.sourceCode.text.slice(last.range[1], range[0]);
    if (
      type === "Line" && joins && last !== undefined && /^\n\s*$/.test(between)
    ) {
      texts[texts.length - 1] = {
        text: `${last.text}\n${value}`,
        range: [last.range[0], range[1]],
      };
    } else {
      texts.push({ text: value.replaceAll(/^\s*\*+ ?/gm, ""), range });
    }
    joins = type === "Line";
  }
  return texts;
}
