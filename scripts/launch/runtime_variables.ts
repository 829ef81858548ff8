/**
 * The variables that a process of the runtime needs, whatever it runs.
 *
 * @module
 */

/** Finding programs and packages, and trusting who offers them. */
const RUNTIME_VARIABLE =
  /^(PATH|HOME|TMPDIR|XDG_CACHE_HOME|DENO_\w+|JSR_URL|NPM_CONFIG_\w+|SSL_CERT_(FILE|DIR)|(HTTPS?|NO)_PROXY)$/i;

/**
 * Those of an environment; a process that is started with nothing else sees no
 * setting that happens to be there.
 */
export function runtimeVariables(
  environment: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment)
      .filter(([name]) => RUNTIME_VARIABLE.test(name)),
  );
}
