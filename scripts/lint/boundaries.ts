/**
 * The lint plugin that keeps the project's rooms apart: who may import whom,
 * which folders are pure, who reads the environment, how files are named.
 *
 * @module
 */

import {
  checkEnvironment,
  checkPlatform,
  checkPurity,
} from "./global_rules.ts";
import { checkImports } from "./import_rule.ts";
import { checkExports, checkFileName } from "./shape_rules.ts";
import { checkWords } from "./word_rule.ts";

/** The plugin, as `deno lint` takes it. */
const plugin: Deno.lint.Plugin = {
  name: "tercet",
  rules: {
    imports: { create: checkImports },
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
