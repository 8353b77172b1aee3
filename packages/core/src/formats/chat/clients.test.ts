import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../ir.ts'
import { isObject } from '../shared/reader.ts'
import { testContext } from './context.test-support.ts'
import { chatCodec } from './index.ts'

const shared = process.env.MODELGATE_SHARED ?? fileURLToPath(new URL('../../../../../../shared', import.meta.url))
const folder = `${shared}/client-requests`
const present = existsSync(folder)
if (!present) console.log('Recorded client requests are not beside the checkout (or in MODELGATE_SHARED): skipped.')

/** Every chat request that a real client was seen to send. */
function readRequests(): [name: string, body: JsonObject][] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .flatMap((file) => {
      const { requests } = JSON.parse(readFileSync(`${folder}/${file}`, 'utf8')) as { requests: JsonObject[] }
      return requests.flatMap(({ url, body }): [string, JsonObject][] =>
        String(url).endsWith('/chat/completions') && isObject(body) ? [[file, body]] : [],
      )
    })
}

describe.skipIf(!present)('what real clients send', () => {
  const requests = present ? readRequests() : []

  test.each(requests)('%s passes, and nothing of it is lost on the way through', (_, body) => {
    expect(() => chatCodec.validateRequest(body)).not.toThrow()
    const context = testContext({ quirks: { reasoningField: 'reasoning_content' } })
    const first = chatCodec.decodeRequest(structuredClone(body), context)
    const second = chatCodec.decodeRequest(chatCodec.encodeRequest(first, context), context)
    expect(context.losses).toEqual([])
    expect(withoutPlaces(second.turns)).toEqual(withoutPlaces(first.turns))
    expect(withoutPlaces(second.tools)).toEqual(withoutPlaces(first.tools))
    expect(second.sampling).toEqual(first.sampling)
    expect(second.extra).toEqual(first.extra)
  })
})

const withoutPlaces = (value: unknown): unknown =>
  value === undefined ? undefined : JSON.parse(JSON.stringify(value, (key, item) => (key === 'at' ? undefined : item)))
