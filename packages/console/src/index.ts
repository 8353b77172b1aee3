export type { Authorize } from './authorization.ts'
export type { CallAttempt, CallFacts } from './calls.ts'
export { type ConsoleOptions, consolePages } from './console-pages.ts'
export type { ConsolePeers } from './recent-calls/peers.ts'
export type {
  CaptureLimits,
  RecentAttemptBodies,
  RecentBodies,
  RecentBody,
} from './recent-calls/recent-bodies.ts'
export type {
  CallSummary,
  RecentAttempt,
  RecentCall,
  RecentError,
  RecentLoss,
  RecentSkip,
  RecentUsage,
} from './recent-calls/recent-call.ts'
export type { RecentCallDetails, RecentCallsOptions } from './recent-calls/recent-calls.ts'
export type { UsageOptions, UsageReport, UsageTokens } from './usage/usage-tokens.ts'
