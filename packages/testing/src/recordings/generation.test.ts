import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../base/json.ts'
import { isObject, parseJson } from '../base/json.ts'
import type { FakeFormat } from '../contract/request.ts'
import { createFakeProvider } from '../index.ts'
import { call, eventsOf, formats, pathOf, requestTo } from '../provider/requests.test-support.ts'

const shared = process.env.MODELGATE_SHARED ?? fileURLToPath(new URL('../../../../../shared', import.meta.url))
const folder = join(shared, 'fixtures')
const present = existsSync(join(folder, 'INDEX.tsv'))
if (!present) console.log(`generation.test.ts: skipped, no recorded traffic at ../shared (set MODELGATE_SHARED)`)

interface Exchange {
  readonly name: string
  readonly format: FakeFormat
  readonly path: string
  readonly features: string
  readonly body: JsonObject
  readonly answer: string
  readonly stream: boolean
}

/** Recordings that count as authentic for each format. */
const real: Readonly<Record<string, readonly [FakeFormat, vendor: string]>> = {
  'openai-chat': ['chat', 'openai'],
  'anthropic-messages': ['messages', 'anthropic'],
  gemini: ['gemini', 'google'],
  'openai-responses': ['responses', 'openai'],
}
/** Errors about state of the recorded provider: its own seals, stored items and cached contents. */
const knownElsewhere =
  /Invalid `(signature|data)`|Corrupted thought signature|encrypted content .* could not be verified|Previous response with id|CachedContent not found/

function* recorded(): Generator<Exchange> {
  const [head = '', ...lines] = readFileSync(join(folder, 'INDEX.tsv'), 'utf8').split('\n')
  const columns = head.split('\t')
  for (const line of lines) {
    const cells = line.split('\t')
    const cell = (name: string): string => cells[columns.indexOf(name)] ?? ''
    const [format, vendor] = real[cell('format')] ?? []
    if (!format || cell('vendor') !== vendor || cell('status') !== '200') continue
    if (cell('features').includes('doc_example')) continue
    const exchange = JSON.parse(readFileSync(join(folder, cell('path')), 'utf8'))
    const { body, url } = exchange.request
    if (!isObject(body)) continue
    const answer = exchange.response.body
    yield {
      name: cell('path'),
      format,
      path: format === 'gemini' ? url.replace(/^https?:\/\/[^/]*/, '').replace(/\bkey=[^&]*/, '') : pathOf(format),
      features: cell('features'),
      body,
      answer: typeof answer === 'string' ? answer : JSON.stringify(answer),
      stream: cell('mode') === 'stream',
    }
  }
}

describe.skipIf(!present)('recorded traffic', () => {
  const exchanges = present ? [...recorded()] : []

  it('is accepted by the fake wherever the real provider accepted it', async () => {
    const refused: string[] = []
    for (const { name, path, body, features } of exchanges) {
      const response = await createFakeProvider().fetch(requestTo(path, body))
      const answer = await response.text()
      if (response.status === 200 || knownElsewhere.test(answer)) continue
      refused.push(`${name} [${features}] ${answer.slice(0, 400)}`)
    }
    expect(refused).toEqual([])
    expect(exchanges.length).toBeGreaterThan(1000)
  })

  it('contains every shape that the fake sends', async () => {
    const seen = new Set<string>()
    for (const { answer, stream, format } of exchanges) {
      for (const value of stream ? streamed(answer) : [parseJson(answer)]) {
        for (const shape of shapesOf(format, value)) seen.add(shape)
      }
    }
    const tool = { type: 'object', properties: { city: { type: 'string' } } }
    const tools = {
      chat: [{ type: 'function', function: { name: 'f', parameters: tool } }],
      messages: [{ name: 'f', input_schema: tool }],
      gemini: [{ functionDeclarations: [{ name: 'f', parameters: tool }] }],
      responses: [{ type: 'function', name: 'f', description: 'F', parameters: tool, strict: false }],
    }
    const provider = createFakeProvider()
    const strange: string[] = []
    for (const format of formats) {
      const options = format === 'chat' ? { stream_options: { include_usage: true } } : {}
      const include = format === 'responses' ? { include: ['reasoning.encrypted_content'] } : {}
      // Refusals are excluded: too few were recorded, and the specification has the shapes.
      for (const text of [
        'Hi',
        '[[tools:2]]',
        '[[tools:1]]',
        '[[finish:length]]',
        '[[think]]',
        '[[think]] [[tools:1]]',
      ]) {
        if (format === 'chat' && text.includes('think')) continue
        // Two recordings of incomplete responses predate some of the API's keys.
        if (format === 'responses' && text.includes('length')) continue
        for (const stream of [true, false]) {
          const more = { tools: tools[format], stream, ...include, ...(stream ? options : {}) }
          const answer = await (await call(provider, format, text, more)).text()
          const values = stream ? eventsOf(answer).map(({ data }) => data as Json) : [parseJson(answer)]
          for (const shape of values.flatMap((value) => [...shapesOf(format, value)])) {
            if (!seen.has(shape)) strange.push(`${text}: ${shape}`)
          }
        }
      }
    }
    expect([...new Set(strange)]).toEqual([])
  })

  it('has the events of a Responses stream in the same order as the fake', async () => {
    const grams = (answer: string): string[] => {
      const types = eventsOf(answer).map(({ event }) => String(event))
      // Repeated events count once: the length of the text does not matter.
      const steps = types.filter((type, index) => type !== types[index - 1])
      return steps.map((step, index) => `${steps[index - 1] ?? 'start'} > ${step}`)
    }
    const seen = new Set(
      exchanges
        .filter(({ format, stream }) => format === 'responses' && stream)
        .flatMap(({ answer }) => grams(answer.replaceAll('\r', ''))),
    )
    const tools = [{ type: 'function', name: 'f', parameters: { type: 'object', properties: {} }, strict: false }]
    const provider = createFakeProvider()
    for (const text of ['Hi', '[[tools:2]]', '[[think]] Hi', '[[think]] [[tools:1]]', '[[finish:length]]']) {
      const answer = await (await call(provider, 'responses', text, { stream: true, tools })).text()
      expect(grams(answer).filter((gram) => !seen.has(gram))).toEqual([])
    }
  })
})

/** Returns the values of a stream: of its events, or of the array that Google sends without `alt=sse`. */
function streamed(answer: string): Json[] {
  const array = parseJson(answer)
  return Array.isArray(array) ? array : eventsOf(answer).map(({ data }) => data as Json)
}

/** Keys with the caller's own content, which is not part of a shape. */
const foreign = new Set(['input', 'args', 'parameters', 'schema', 'tools'])
/** Keys that depend on the model and the day. */
const passing = new Set([
  'obfuscation',
  'billing',
  'moderation',
  'prompt_cache_retention',
  'serviceTier',
  'finishMessage',
])

/** Yields the key sets of a response's parts, each below its path. */
function* shapesOf(place: string, value: Json | undefined): Generator<string> {
  if (Array.isArray(value)) for (const item of value) yield* shapesOf(`${place}[]`, item)
  if (!isObject(value)) return
  const type = typeof value.type === 'string' ? `(${value.type})` : ''
  const keys = Object.keys(value).filter((key) => !passing.has(key))
  yield `${place}${type}: ${keys.sort().join(' ')}`
  for (const key of keys) if (!foreign.has(key)) yield* shapesOf(`${place}${type}.${key}`, value[key])
}
