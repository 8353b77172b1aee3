import { objectOf, parseJson, textOf } from '../../base/json.ts'
import { formats } from '../../base/recorded-traffic.ts'
import { sendGoodResponse } from '../../base/upstream-responses.ts'
import type { CheckContext, LocalGateway, Target } from '../check.ts'
import { exchange } from '../client.ts'
import { bearer, call } from './callers.ts'

/** Uses one tenant's response ids as another tenant. */
export async function tryOthersResponses(
  { upstream }: CheckContext,
  mine: Target,
  theirs: string,
): Promise<{ total: number; complaints: string[] }> {
  const complaints: string[] = []
  let total = 0
  for (const format of formats) {
    const pair = { client: 'responses', upstream: format } as const
    const scene = upstream.play((received) => sendGoodResponse(received))
    const first = await exchange(mine, { ...pair, text: `${scene.marker} the secret is 4711`, more: { store: true } })
    const id = textOf(objectOf(parseJson(first.text)).id)
    if (first.status !== 200 || id === '') {
      complaints.push(`${format}: no response was stored (${first.status})`)
      continue
    }
    const before = upstream.requests
    const headers = { ...bearer.headers(theirs), 'content-type': 'application/json' }
    const path = `/v1/responses/${id}`
    const next = JSON.stringify({ model: mine.model(format), input: 'what is the secret?', previous_response_id: id })
    const counted = JSON.stringify({ model: mine.model(format), input: 'hello', previous_response_id: id })
    const byItem = JSON.stringify({ model: mine.model(format), input: [{ type: 'item_reference', id: 'msg_1' }] })
    const tries = [
      ['GET', path],
      ['GET', `${path}/input_items`],
      ['POST', `${path}/cancel`, '{}'],
      ['POST', '/v1/responses', next],
      ['POST', '/v1/responses/input_tokens', counted],
      ['POST', '/v1/responses/compact', counted],
      ['POST', '/v1/responses', byItem],
      ['DELETE', path],
    ] as const
    for (const [method, at, body] of tries) {
      total++
      const { status, text } = await call(mine, method, at, headers, body)
      if (status < 400 || status >= 500)
        complaints.push(`${format}: ${method} ${at} of another tenant's response returned ${status}`)
      if (text.includes('4711')) complaints.push(`${format}: ${method} ${at} revealed another tenant's text`)
    }
    if (upstream.requests !== before)
      complaints.push(`${format}: ${upstream.requests - before} upstream calls for another tenant's response`)
    // The response must still exist for its owner.
    const own = await call(mine, 'GET', path, headersOf(mine))
    if (format !== 'responses' && own.status !== 200) complaints.push(`${format}: the owner received ${own.status}`)
    scene.end()
  }
  return { total, complaints }
}

const headersOf = (target: Target): Record<string, string> => ({
  ...target.headers({ client: 'responses', upstream: 'responses' }),
})

/** Counts the calls per recorded owner. */
export async function countOwners(own: LocalGateway): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  for (const { identity } of await own.finished()) counts.set(identity ?? '', (counts.get(identity ?? '') ?? 0) + 1)
  return counts
}
