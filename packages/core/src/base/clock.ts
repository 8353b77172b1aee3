/**
 * Milliseconds on a clock that is never set: the only clock for durations, deadlines, cooldowns and lifetimes. `Date.now()` steps
 * when the system's time is corrected, which ends running calls or stops their time limits. It is for times of day only (event
 * timestamps, HTTP dates, calendar periods).
 *
 * The origin is arbitrary: two values of one process can be compared, nothing else. Both clocks cost the same, and every runtime
 * has both. Cloudflare Workers advance both only after I/O.
 */
export const monotonicNow = (): number => performance.now()
