import { lazy } from '../../base/async.ts'
import type { Allowance, QuotaState } from '../../base/errors.ts'
import type { JsonObject } from '../../base/json/json.ts'
import type { TargetTraits, WireCodec, WireEdit } from '../codec.ts'
import { modelPlaces, routerPlaces, toolPlaces } from '../shared/model-places.ts'
import { resetIn } from '../shared/rate-limit-headers.ts'
import { decodeError, encodeError, hasThread, threadRefused } from './error.ts'
import { tapResponse, tapStream } from './tap.ts'

/** The part of Anthropic Messages that every call needs. */
export const messagesWire: WireCodec = {
  format: 'messages',
  loadRequestCheck: lazy(() => import('./validate.ts').then(({ checkRequest }) => checkRequest)),
  loadModelList: lazy(() => import('./model-list.ts')),
  decodeError,
  encodeError,
  wireEdit,
  isResponse: ({ content }) => Array.isArray(content),
  tapResponse,
  tapStream,
  statefulFields: ['thread'],
  tierFields: ['speed', 'service_tier'],
  affinity: { keys: ['metadata.user_id'], tools: 'tools', prefix: ['system'], turns: 'messages' },
  textFields: { response: ['text', 'thinking', 'input'], event: ['text', 'thinking', 'partial_json'], mark: '_delta"' },
  outputBound: { fields: ['max_tokens'] },
  encodeAllowance,
  modelPlaces: modelPlaces({
    names: [...routerPlaces.names, ...toolPlaces.names],
    chooses: routerPlaces.chooses,
    // Tools may be added within a conversation.
    sameMembers: {
      ...routerPlaces.sameMembers,
      ...toolPlaces.sameMembers,
      'messages[].content[].tool.definition': 'tools',
      // A compaction block keeps such changes.
      'messages[].content[].tool_changes[].tool.definition': 'tools',
    },
  }),
}

/**
 * Rejects a thread unless the upstream stores threads. Anthropic stores a thread under the id of its last response. Other servers would
 * silently respond without the earlier turns.
 */
function wireEdit(body: JsonObject, { quirks }: TargetTraits): WireEdit | undefined {
  if (!hasThread(body)) return undefined
  if (quirks.threads !== true) throw threadRefused()
  return { set: {}, storesResponse: true }
}

/**
 * Encodes the caller's remaining quota as Anthropic's headers, such as `anthropic-ratelimit-requests-remaining`. Resets are points in
 * time.
 */
function encodeAllowance(allowance: Allowance, now: number): Record<string, string> {
  const { requests, tokens, inputTokens, outputTokens } = allowance
  const headers: Record<string, string> = {}
  const setHeaders = (name: string, quota: QuotaState | undefined): void => {
    if (quota === undefined) return
    headers[`anthropic-ratelimit-${name}-limit`] = String(quota.limit)
    headers[`anthropic-ratelimit-${name}-remaining`] = String(quota.remaining)
    // Whole seconds, as Anthropic sends them, rounded up so that no client retries too early.
    const reset = new Date(Math.ceil((now + resetIn(quota)) / 1000) * 1000)
    headers[`anthropic-ratelimit-${name}-reset`] = reset.toISOString().replace('.000', '')
  }
  setHeaders('requests', requests)
  setHeaders('tokens', tokens)
  setHeaders('input-tokens', inputTokens)
  setHeaders('output-tokens', outputTokens)
  return headers
}
