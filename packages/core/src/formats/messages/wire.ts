import type { Allowance, QuotaState } from '../../base/allowance.ts'
import type { JsonObject } from '../../base/json/types.ts'
import { lazy } from '../../base/lazy.ts'
import type { TargetTraits, WireCodec, WireEdit } from '../codec.ts'
import { modelPlaces, routerPlaces, toolPlaces } from '../shared/model-places.ts'
import { resetIn } from '../shared/rate-limit-headers.ts'
import { decodeError, encodeError, hasThread, threadRefused } from './error.ts'
import { tapResponse, tapStream } from './tap.ts'
import { unitsIn } from './usage-decode.ts'

/** The part of Anthropic Messages that every call needs. */
export const messagesWire: WireCodec = {
  format: 'messages',
  validation: lazy(() => import('./validate.ts').then(({ checkRequest }) => checkRequest)),
  decodeError,
  encodeError,
  wireEdit,
  isAnswer: ({ content }) => Array.isArray(content),
  tapResponse,
  tapStream,
  heldState: ['thread'],
  affinity: { keys: ['metadata.user_id'], prefix: ['tools', 'system'], turns: 'messages' },
  textFields: { answer: ['text', 'thinking', 'input'], event: ['text', 'thinking', 'partial_json'], mark: '_delta"' },
  unitsIn,
  outputBound: { fields: ['max_tokens'] },
  encodeAllowance,
  modelPlaces: modelPlaces({
    names: [...routerPlaces.names, ...toolPlaces.names],
    chooses: routerPlaces.chooses,
    // Tools may be added in the middle of a conversation.
    alike: {
      ...routerPlaces.alike,
      ...toolPlaces.alike,
      'messages[].content[].tool.definition': 'tools',
      // What a compaction has kept of such changes.
      'messages[].content[].tool_changes[].tool.definition': 'tools',
    },
  }),
}

/** A thread is stored at Anthropic under the id of its last response. Other servers would silently answer without the earlier turns. */
export function wireEdit(body: JsonObject, { quirks }: TargetTraits): WireEdit | undefined {
  if (!hasThread(body)) return undefined
  if (quirks.threads !== true) throw threadRefused()
  return { set: {}, storesAnswer: true }
}

/** What a caller has left, in Anthropic's headers: `anthropic-ratelimit-requests-remaining`. The reset is a point in time. */
export function encodeAllowance(allowance: Allowance, now: number): Record<string, string> {
  const { requests, tokens, inputTokens, outputTokens } = allowance
  const headers: Record<string, string> = {}
  const tell = (name: string, left: QuotaState | undefined): void => {
    if (left === undefined) return
    headers[`anthropic-ratelimit-${name}-limit`] = String(left.limit)
    headers[`anthropic-ratelimit-${name}-remaining`] = String(left.remaining)
    // Whole seconds, as theirs: rounded up, so that nobody comes too early.
    const reset = new Date(Math.ceil((now + resetIn(left)) / 1000) * 1000)
    headers[`anthropic-ratelimit-${name}-reset`] = reset.toISOString().replace('.000', '')
  }
  tell('requests', requests)
  tell('tokens', tokens)
  tell('input-tokens', inputTokens)
  tell('output-tokens', outputTokens)
  return headers
}
