import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { filesBelow, root, workspaceDirs } from '../base/workspace.mjs'

/**
 * Every use of the wall clock in shipped code, with count and reason. Durations, deadlines, cooldowns and lifetimes use `monotonicNow` of
 * core or `performance.now`, because a change of the system time must not end or prolong them.
 */
const allowed: Readonly<Record<string, readonly [count: number, reason: string]>> = {
  'packages/cli/src/prices/prices.ts': [1, 'the age of a price in days'],
  'packages/cli/src/workers/shared-state.ts': [1, 'cooldowns end at times of day'],
  'packages/cli/src/tokens/commands.ts': [1, 'shows which tokens have expired: a date'],
  'packages/cli/src/tokens/settings.ts': [1, 'makes a date of expiry of a token out of a span'],
  'packages/cli/src/tokens/text.ts': [1, 'shows whether a token has expired: a date'],
  'packages/console/src/recent-calls/recent-call.ts': [1, 'the arrival of a rejected call'],
  'packages/console/src/ui/playground/operations/runs.ts': [1, 'the time of a call in the list of results'],
  'packages/console/src/ui/admin/days.ts': [1, 'the days of a preset end today'],
  'packages/console/src/ui/admin/token-state.ts': [1, 'shows whether a token has expired: a date'],
  'packages/node/src/logs/json-line.ts': [2, 'the time of a log line'],
  'packages/node/src/logs/pretty-line.ts': [1, 'the time of a log line'],
  'packages/core/src/upstreams/aws/sign.ts': [1, 'AWS signs the time of day, and its credentials expire at one'],
  'packages/core/src/routing/health/circuit-breaker.ts': [4, 'HealthState stores times of day'],
  'packages/core/src/routing/health/cooldowns.ts': [
    6,
    'HealthState stores times of day; the one in memory converts them to durations',
  ],
  'packages/core/src/lanes/generation-translation.ts': [1, 'the `created` field of a response'],
  'packages/core/src/operations/count-tokens.ts': [1, 'the `created` field of a response'],
  'packages/core/src/operations/generate.ts': [1, 'the `created_at` field of a response without a model'],
  'packages/core/src/operations/models.ts': [1, 'the `created` of models that no provider dates'],
  'packages/core/src/operations/responses/compaction/compact.ts': [1, 'the `created_at` field of a response'],
  'packages/core/src/operations/responses/socket/prewarm.ts': [1, 'the `created_at` field of a response'],
  'packages/core/src/operations/objects/handle.ts': [
    2,
    'when an object was created or changed, in a record that processes share',
  ],
  'packages/core/src/operations/objects/find-object.ts': [2, 'the same for the lifetime of an object'],
  'packages/core/src/operations/objects/lifetime.ts': [1, 'clients choose the end of an object as a time of day'],
  'packages/core/src/operations/realtime/calls/call-control.ts': [1, 'the same for a realtime call'],
  'packages/core/src/operations/objects/batches/handle-batch.ts': [2, 'the same for a batch and its files'],
  'packages/core/src/operations/objects/batches/work.ts': [
    1,
    'the age of a batch that another process may have created',
  ],
  'packages/core/src/operations/responses/background.ts': [
    1,
    'the age of a response that another process may have begun',
  ],
  'packages/core/src/operations/objects/resumable-upload.ts': [2, 'the same for uploads'],
  'packages/core/src/operations/responses/object-records.ts': [1, 'the age of a record that processes share'],
  'packages/core/src/operations/model-operation-writer.ts': [1, 'the `created` field of a response'],
  'packages/core/src/calls/reply.ts': [2, 'rate limit headers that name a date'],
  'packages/core/src/accounting/call-record.ts': [1, 'the timestamp of a call'],
  'packages/core/src/routing/request-traits.ts': [1, 'the `created` field of a response'],
  'packages/core/src/upstreams/upstream-error.ts': [1, 'Retry-After may be a date'],
  'packages/core/src/upstreams/access-token.ts': [2, 'tokens expire at a time of day; kept by both clocks'],
  'packages/otel/src/spans.ts': [1, 'the timestamp of a trace; what follows is measured'],
  'packages/tokens/src/limits/admission.ts': [1, 'what is left until a budget resets, which is a date'],
  'packages/tokens/src/prices/prices.ts': [1, 'prices that are valid from a day on'],
  'packages/tokens/src/create-tokens.ts': [1, 'dates of expiry, and budgets by the calendar'],
  'packages/tokens/src/storage/memory/meters.ts': [1, 'budgets by the calendar'],
  'packages/tokens/src/storage/redis/fallback-meters.ts': [1, 'the timestamp of a reservation without limits'],
  'packages/tokens/src/storage/redis/meters.ts': [1, 'the day of sums'],
  'packages/tokens/src/storage/redis/local-shares.ts': [1, 'when a budget resets, which is a date'],
  'packages/tokens/src/storage/folder/pending-calls.ts': [1, 'the timestamp of a call that waits to be counted'],
  'packages/tokens/src/base/steady-clock.ts': [1, 'where the steady clock begins'],
}

/** The conformance kit, the benchmarks and the repository's tools are not part of a gateway. */
const kits = new Set(['packages/conformance', 'packages/bench', 'packages/repo-tools'])
const isSource = (file: string): boolean =>
  /\.[cm]?[jt]sx?$/.test(file) && !/\.test\.|\.test-support\.|\/testing\//.test(file)
const comments = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm
const uses = /\bDate\.now\b|\bnew Date\(\)|\bDate\(\)/g

it('sources use the wall clock only for the time of day', () => {
  const found: Record<string, number> = {}
  for (const dir of workspaceDirs(['packages']).filter((dir) => !kits.has(dir)))
    for (const file of filesBelow(`${dir}/src`).filter(isSource)) {
      const text = readFileSync(join(root, file), 'utf8').replace(comments, '')
      const count = text.match(uses)?.length ?? 0
      if (count > 0) found[file] = count
    }
  expect(found).toEqual(Object.fromEntries(Object.entries(allowed).map(([file, [count]]) => [file, count])))
})
