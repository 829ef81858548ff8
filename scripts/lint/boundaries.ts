/**
 * The lint plugin of the project. Its rules say which folder may import which,
 * that no file imports itself by way of others, which folders are pure, who
 * reads the environment, how files are named, and which words comments avoid.
 *
 * @module
 */

import { circleRule, readImports } from "./circle_rule.ts";
import {
  checkEnvironment,
  checkPlatform,
  checkPurity,
} from "./global_rules.ts";
import { checkImports } from "./imports.ts";
import { checkExports, checkFileName } from "./shape_rules.ts";
import { checkWords } from "./word_rule.ts";

/** The plugin, in the form that `deno lint` loads. */
const plugin: Deno.lint.Plugin = {
  name: "tercet",
  rules: {
    imports: { create: checkImports },
    circles: { create: circleRule(readImports) },
    pure: { create: checkPurity },
    platform: { create: checkPlatform },
    environment: { create: checkEnvironment },
    exports: { create: checkExports },
    "file-name": { create: checkFileName },
    words: { create: checkWords },
  },
};

// Deno takes a plugin from the default export and nowhere else.
// deno-lint-ignore tercet/exports
export default plugin;
