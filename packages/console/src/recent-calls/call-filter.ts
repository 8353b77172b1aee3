import { GatewayError } from '@modelgate/core'
import type { RecentCall } from './recent-call.ts'

/** Returns whether a call is wanted. */
export type CallFilter = (call: RecentCall) => boolean

/** Query parameters that select calls. */
export const filterNames = ['token', 'model', 'upstream', 'status'] as const

/**
 * Reads a filter from query parameters. Texts match parts of names, without case: `token` the caller's id or name, `model` the client's or the
 * upstream's name, `upstream` that of any attempt. `status` is a code (`429`), a class (`5xx`) or `failed`.
 *
 * @throws GatewayError `invalid_request` for an invalid status
 */
export function readFilter(query: URLSearchParams): CallFilter {
  const wanted = (name: (typeof filterNames)[number]): string => (query.get(name) ?? '').trim().toLowerCase()
  const token = wanted('token')
  const model = wanted('model')
  const upstream = wanted('upstream')
  const hasStatus = readStatus(wanted('status'))
  return (call) =>
    hasStatus(call) &&
    (token === '' || contains(call.caller?.id, token) || contains(call.caller?.name, token)) &&
    (model === '' || contains(call.model, model) || contains(call.upstreamModel, model)) &&
    (upstream === '' ||
      contains(call.upstream, upstream) ||
      call.attempts.some((tried) => contains(tried.upstream, upstream)))
}

const contains = (text: string | undefined, part: string): boolean => text?.toLowerCase().includes(part) === true

function readStatus(wanted: string): CallFilter {
  if (wanted === '') return () => true
  if (wanted === 'failed') return ({ status, outcome }) => status >= 400 || outcome !== 'finished'
  if (/^[1-5]xx$/.test(wanted)) return ({ status }) => Math.floor(status / 100) === Number(wanted[0])
  if (/^[1-5]\d\d$/.test(wanted)) return ({ status }) => status === Number(wanted)
  throw new GatewayError(
    'invalid_request',
    `Invalid status '${wanted.slice(0, 20)}': use a code such as 429, a class such as 5xx, or 'failed'.`,
    { param: 'status' },
  )
}
