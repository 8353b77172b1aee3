import { objectOf, parseJson, textOf } from '../../base/json.ts'
import { sendGoodResponse } from '../../base/upstream-responses.ts'
import { referenceMatrix } from '../../laws/reference-matrix.ts'
import type { Check, CheckContext } from '../check.ts'
import { exchange } from '../client.ts'
import { call } from './callers.ts'

/** Continues a response in another process: the store in memory ended with the first. */
async function afterRestart({ upstream, fresh }: CheckContext): Promise<{ total: number; complaints: string[] }> {
  const pair = { client: 'responses', upstream: 'responses' } as const
  const first = await fresh({})
  if (first === undefined) return { total: 0, complaints: [] }
  const scene = upstream.play((received) => sendGoodResponse(received))
  const made = await exchange(first, { ...pair, text: `${scene.marker} hello`, more: { store: true } })
  scene.end()
  await first.local.close()
  const id = textOf(objectOf(parseJson(made.text)).id)
  if (made.status !== 200 || id === '') return { total: 1, complaints: [`no response was created (${made.status})`] }
  const second = await fresh({})
  if (second === undefined) return { total: 0, complaints: [] }
  const before = upstream.requests
  const body = JSON.stringify({ model: second.model('responses'), input: 'go on', previous_response_id: id })
  const headers = { ...second.headers(pair), 'content-type': 'application/json' }
  const { status, text } = await call(second, 'POST', '/v1/responses', headers, body)
  const complaints: string[] = []
  if (status !== 400 || !text.includes('references.responses'))
    complaints.push(`after a restart: an earlier response returned ${status}`)
  if (upstream.requests !== before) complaints.push('after a restart: the upstream received an earlier response id')
  return { total: 1, complaints }
}

export const references: Check = {
  row: 44,
  group: 'Auth and secrets',
  title: 'References to stored state',
  promise:
    'every kind × place × format: no upstream receives a reference that the caller does not own, unstreamed, streamed, translated, after a restart',
  async run(setting) {
    if (setting.target.local === undefined) return { skipped: 'needs a gateway whose store can be removed' }
    const matrix = await referenceMatrix(setting.short)
    const restart = await afterRestart(setting)
    const total = matrix.total + restart.total
    const complaints = [...matrix.complaints, ...restart.complaints]
    return {
      held: complaints.length === 0,
      figure: `${total - complaints.length}/${total} references decided by ownership`,
      notes: complaints,
    }
  },
}
