import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { createFakeProvider } from './index.ts'
import { isObject, parseJson } from './json.ts'
import { call, eventsOf, paths, requestTo } from './test-calls.ts'
import type { Json, JsonObject } from './types.ts'

const shared = process.env.MODELGATE_SHARED ?? fileURLToPath(new URL('../../../../shared', import.meta.url))
const folder = join(shared, 'fixtures')
const present = existsSync(join(folder, 'INDEX.tsv'))
if (!present) console.log(`recordings.test.ts: skipped, no recorded traffic at ../shared (set MODELGATE_SHARED)`)

interface Exchange {
  readonly path: string
  readonly format: 'chat' | 'messages'
  readonly features: string
  readonly body: JsonObject
  readonly answer: string
  readonly stream: boolean
}

function* recorded(): Generator<Exchange> {
  const [head = '', ...lines] = readFileSync(join(folder, 'INDEX.tsv'), 'utf8').split('\n')
  const columns = head.split('\t')
  for (const line of lines) {
    const cells = line.split('\t')
    const cell = (name: string): string => cells[columns.indexOf(name)] ?? ''
    const format = { 'openai-chat': 'chat', 'anthropic-messages': 'messages' }[cell('format')]
    const own = cell('vendor') === (format === 'chat' ? 'openai' : 'anthropic')
    if (!own || cell('status') !== '200' || cell('features').includes('doc_example')) continue
    const exchange = JSON.parse(readFileSync(join(folder, cell('path')), 'utf8'))
    const { body } = exchange.request
    if (!isObject(body) || (format !== 'chat' && format !== 'messages')) continue
    const answer = exchange.response.body
    yield {
      path: cell('path'),
      format,
      features: cell('features'),
      body,
      answer: typeof answer === 'string' ? answer : JSON.stringify(answer),
      stream: cell('mode') === 'stream',
    }
  }
}

describe.skipIf(!present)('recorded traffic', () => {
  const exchanges = present ? [...recorded()] : []

  it('every request that the real provider answered is answered by the fake', async () => {
    const refused: string[] = []
    for (const { path, format, body, features } of exchanges) {
      const response = await createFakeProvider({ models: [String(body.model)] }).fetch(requestTo(paths[format], body))
      const answer = await response.text()
      if (response.status === 200 || /Invalid `(signature|data)`/.test(answer)) continue
      refused.push(`${path} [${features}] ${answer.slice(0, 400)}`)
    }
    expect(refused).toEqual([])
    expect(exchanges.length).toBeGreaterThan(500)
  })

  it('nothing the fake sends has a shape that was never recorded', async () => {
    const seen = new Set<string>()
    for (const { answer, stream, format } of exchanges) {
      for (const value of stream
        ? eventsOf(answer.replaceAll('\r', '')).map(({ data }) => data as Json)
        : [parseJson(answer)]) {
        for (const shape of shapesOf(format, value)) seen.add(shape)
      }
    }
    const tool = { type: 'object', properties: { city: { type: 'string' } } }
    const tools = {
      chat: [{ type: 'function', function: { name: 'f', parameters: tool } }],
      messages: [{ name: 'f', input_schema: tool }],
    }
    const provider = createFakeProvider()
    const strange: string[] = []
    for (const format of ['chat', 'messages'] as const) {
      const options = format === 'chat' ? { stream_options: { include_usage: true } } : {}
      // Refusals are left out: too few were recorded, and the specification has the shapes.
      for (const text of ['Hi', '[[tools:2]]', '[[tools:1]]', '[[finish:length]]', '[[think]]']) {
        if (format === 'chat' && text === '[[think]]') continue
        for (const stream of [true, false]) {
          const more = { tools: tools[format], stream, ...(stream ? options : {}) }
          const answer = await (await call(provider, format, text, more)).text()
          const values = stream ? eventsOf(answer).map(({ data }) => data as Json) : [parseJson(answer)]
          for (const shape of values.flatMap((value) => [...shapesOf(format, value)])) {
            if (!seen.has(shape)) strange.push(`${text}: ${shape}`)
          }
        }
      }
    }
    expect(strange).toEqual([])
  })
})

/** The key sets of an answer's parts, each below its place. */
function* shapesOf(place: string, value: Json | undefined): Generator<string> {
  if (Array.isArray(value)) for (const item of value) yield* shapesOf(`${place}[]`, item)
  if (!isObject(value)) return
  const type = typeof value.type === 'string' ? `(${value.type})` : ''
  // A tool's arguments and a padding field are no part of the shape.
  const keys = Object.keys(value).filter((key) => key !== 'obfuscation')
  yield `${place}${type}: ${keys.sort().join(' ')}`
  for (const key of keys) if (key !== 'input') yield* shapesOf(`${place}${type}.${key}`, value[key])
}
