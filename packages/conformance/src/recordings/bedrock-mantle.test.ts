import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bedrockMantle } from '@modelgate/core'
import { expect, test } from 'vitest'
import { simpleRequest } from '../base/client-formats.ts'
import { readRecording } from '../base/content/recording.ts'
import { gatewayTo, requestTo } from '../base/gateways.ts'
import { isObject } from '../base/json.ts'
import { formats, haveRecordings, recordedExchanges } from '../base/recorded-traffic.ts'
import { serveBytes } from '../base/upstream-fetch.ts'
import { expectSame, useOf } from './checks.ts'

const folder =
  process.env.MODELGATE_SHARED ?? fileURLToPath(new URL('../../../../../shared', import.meta.url)).replace(/\/$/, '')

/** Returns the URL of a recorded call; undefined for calls of other hosts. */
function urlOf(path: string): URL | undefined {
  const { request } = JSON.parse(readFileSync(join(folder, 'fixtures', path), 'utf8')) as { request?: { url?: string } }
  // Recorders replaced names with placeholders.
  const url = request?.url?.replaceAll(/<\w+>/g, 'us-west-2')
  return url?.includes('//bedrock-mantle.') === true ? new URL(url) : undefined
}

test.skipIf(!haveRecordings)(
  'sends recorded responses of Bedrock in OpenAI’s formats to clients of all four formats',
  async () => {
    let bodies = 0
    for (const exchange of recordedExchanges()) {
      const url = exchange.vendor === 'bedrock' ? urlOf(exchange.path) : undefined
      const use = useOf(exchange)
      if (url === undefined || use.kind !== 'answer') continue
      const region = url.host.split('.')[1] ?? ''
      const surface = url.pathname.startsWith('/openai/') ? 'openai' : 'v1'
      const upstream = bedrockMantle({ region, apiKey: 'key', surface })
      const { stream } = exchange
      const model = exchange.model ?? 'unknown'
      for (const format of formats) {
        const served = serveBytes(exchange.answer, { stream })
        let called: string | undefined
        const gateway = gatewayTo(exchange.format, {
          // Selects the format, as a user of this upstream would.
          upstream: { ...upstream, formats: { [exchange.format]: upstream.formats[exchange.format] } },
          fetch: (async (input: string, init: RequestInit) => {
            called = input
            return served.fetch(input, init)
          }) as typeof fetch,
        })
        const body = { ...simpleRequest(format, stream), ...(format === 'gemini' ? {} : { model }) }
        const reply = await gateway.fetch(requestTo(format, JSON.stringify(body), {}, { model, stream }))
        const text = await reply.text()
        const output = readRecording({ format, stream, answer: text })
        if (output === undefined) throw new Error(`${exchange.path} ${format} ${reply.status}: ${text.slice(0, 300)}`)
        expectSame(output, use.read)
        expect(called).toBe(url.href)
        if (format === exchange.format) expect(text, exchange.path).toBe(exchange.answer)
      }
      if (isObject(exchange.request)) bodies++
    }
    expect(bodies).toBeGreaterThanOrEqual(10)
  },
)
