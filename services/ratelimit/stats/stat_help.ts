/**
 * What statistics tell, as the help of metrics.
 *
 * @module
 */

/** What is counted of a rule, by the last part of the name. */
const RULE_HELP: Readonly<Record<string, string>> = {
  near_limit: "Hits above the near-limit ratio of a limit and within it.",
  over_limit: "Hits beyond a limit.",
  over_limit_with_local_cache: "Hits beyond a limit that the cache of " +
    "counters over their limit answered.",
  total_hits: "All hits.",
  within_limit: "Hits within a limit.",
  shadow_mode: "Hits beyond a limit that shadow mode let pass.",
  total_negative_hits: "Hits that were given back.",
  domain_not_found: "Descriptors whose domain has no rules.",
};

const RULE_PREFIX = "ratelimit.service.rate_limit.";
const CALL_PREFIX = "ratelimit.service.call.should_rate_limit.";
const CANDIDATE_STORE = "ratelimit.candidate.";
const STORE_FAILURE = "ratelimit.service.store_failure.";
const CANDIDATE = "ratelimit.service.candidate.";

const HELP: Readonly<Record<string, string>> = {
  "ratelimit.service.config_load_success": "Configurations that were loaded.",
  "ratelimit.service.config_load_error":
    "Configurations that could not be loaded; the ones before stay in force.",
  "ratelimit.service.global_shadow_mode":
    "Requests that SHADOW_MODE alone let pass.",
  "ratelimit.service.domain_not_found":
    "Descriptors whose domain has no rules, of all domains.",
  [`${STORE_FAILURE}error`]:
    "Calls without an answer of the store that got an error.",
  [`${STORE_FAILURE}allow`]:
    "Calls without an answer of the store that passed.",
  [`${STORE_FAILURE}deny`]:
    "Calls without an answer of the store that were refused.",
  [`${STORE_FAILURE}local`]:
    "Calls without an answer of the store that this process decided.",
  [`${STORE_FAILURE}maybe_counted`]:
    "Calls without an answer of the store that it may have counted.",
  "ratelimit.memory.operations_when_full":
    "Operations that found memory full of counters near their limits.",
  "ratelimit.altcache.increments_lost":
    "Increments that memcached did not answer.",
  "ratelimit.redis_pool.breakers_open": "Parts of the store that are out.",
  "ratelimit.redis_pool.outages": "Times that a part of the store was out.",
  "ratelimit.redis_pool.cx_active": "Connections to the store.",
  "ratelimit.redis_pool.cx_total": "Connections to the store that were opened.",
  "ratelimit.redis_pool.cx_local_close":
    "Connections to the store that have ended.",
  "ratelimit.memcache.breakers_open": "Servers of memcached that are out.",
  "ratelimit.memcache.outages": "Times that a server of memcached was out.",
  "ratelimit.memcache.multiget": "Reads of memcached, by outcome.",
  "ratelimit.memcache.increment": "Increments in memcached, by outcome.",
  "ratelimit.memcache.add": "Counters that were made in memcached, by outcome.",
  "ratelimit.memcache.keys_requested": "Counters requested from memcached.",
  "ratelimit.memcache.keys_found": "Counters of those that memcached had.",
  "ratelimit.localcache.entryCount":
    "Counters in the cache of those over their limit.",
  "ratelimit.localcache.hitCount":
    "Look-ups since the start that the cache answered.",
  "ratelimit.localcache.missCount":
    "Look-ups since the start that the cache did not answer.",
  "ratelimit.localcache.lookupCount": "Look-ups in the cache since the start.",
  "ratelimit.localcache.overwriteCount":
    "Entries of the cache that were written again, since the start.",
  "ratelimit.localcache.expiredCount":
    "Entries of the cache whose time was over, since the start.",
  "ratelimit.localcache.evacuateCount":
    "Entries of the cache that made room for others, since the start.",
  "runtime.load_attempts": "Times that the configuration files were read.",
  "runtime.load_failures": "Times that they could not be read.",
  "runtime.num_values": "Configuration files that were read last.",
  "ratelimit.threads.restarts": "Threads that were started again.",
  "ratelimit.threads.N.calls": "Calls that the thread has answered.",
  "ratelimit.threads.N.connections": "gRPC connections of the thread.",
  "ratelimit.stats.overflow": "What was counted under names without room.",
  "ratelimit.stats.overflow_gauge": "The last value of a name without room.",
  "ratelimit.stats.overflow_timer": "Durations of names without room.",
  [`${CANDIDATE}config_load_success`]: "Candidates that were loaded.",
  [`${CANDIDATE}config_load_error`]:
    "Candidates that could not be loaded; the one before goes on.",
  [`${CANDIDATE}compared`]: "Descriptors that the candidate decided as well.",
  [`${CANDIDATE}same`]: "Descriptors that the candidate decided alike.",
  [`${CANDIDATE}would_refuse`]:
    "Descriptors that passed and the candidate refused.",
  [`${CANDIDATE}would_allow`]:
    "Descriptors that were refused and the candidate let pass.",
  [`${CANDIDATE}other_limit`]:
    "Descriptors for which the candidate has another limit.",
  [`${CANDIDATE}other_rule`]:
    "Descriptors for which the candidate has another rule.",
  [`${CANDIDATE}too_early`]:
    "Descriptors whose counter the candidate had not kept for a window yet.",
  [`${CANDIDATE}requests_compared`]:
    "Requests that the candidate decided as well.",
  [`${CANDIDATE}requests_would_refuse`]:
    "Requests that passed and the candidate refused.",
  [`${CANDIDATE}requests_would_allow`]:
    "Requests that were refused and the candidate let pass.",
  [`${CANDIDATE}requests_dropped`]:
    "Requests that were not compared, as too many waited.",
  [`${CANDIDATE}requests_failed`]:
    "Requests whose comparison failed, as the store did.",
  "ratelimit.process.resident_memory_bytes": "Memory that the process has.",
  "ratelimit.process.heap_used_bytes": "Memory of that which JavaScript uses.",
  "ratelimit.process.cpu_seconds_total":
    "Processor time that the process has used.",
  "ratelimit.process.start_time_seconds":
    "When the process started, in seconds since the epoch.",
  "ratelimit.process.event_loop_lag": "How much later than due timers fired.",
};

/** The help of a statistic that has none of its own. */
export const NO_HELP = "A statistic of ratelimit.";

/** Returns what a statistic tells, by its full name without tags. */
export function statHelp(name: string): string {
  if (name.startsWith(RULE_PREFIX)) {
    return RULE_HELP[name.slice(name.lastIndexOf(".") + 1)] ?? NO_HELP;
  }
  if (name.startsWith(CALL_PREFIX)) return "Calls without a decision, by why.";
  if (name.startsWith("ratelimit_server.")) {
    return name.endsWith(".response_time")
      ? "How long calls of gRPC methods took."
      : "Calls of gRPC methods.";
  }
  if (name.startsWith(CANDIDATE_STORE)) {
    const own = `ratelimit.${name.slice(CANDIDATE_STORE.length)}`;
    return `Of the candidate: ${statHelp(own)}`;
  }
  const kind = name.replace(/^(ratelimit\.redis)_per_second(?=_pool)/, "$1")
    .replace(/^(ratelimit\.threads\.)\d+(?=\.)/, "$1N");
  return HELP[kind] ?? NO_HELP;
}
