import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../base/json/json.ts'
import type { RequestFeature } from '../capabilities.ts'
import { requestSamples } from '../capability-requests.test-support.ts'
import type { Loss, ModelRequest } from '../ir.ts'
import { createReport } from '../loss-report.ts'
import { converseCodec } from './index.ts'

/** The request of a client of another format. */
const least: ModelRequest = {
  model: 'm',
  turns: [{ role: 'user', parts: [{ type: 'text', text: 'Hello.' }] }],
  stream: false,
  at: { turns: '/elsewhere', 'user.id': '/elsewhere' },
}

function encode(more: Partial<ModelRequest>, model: string): { body: JsonObject; losses: readonly Loss[] } {
  const report = createReport()
  const context = { report, newId: (prefix: string) => `${prefix}1`, now: () => 1, target: { model, quirks: {} } }
  return { body: converseCodec.encodeRequest({ ...least, ...more }, context), losses: report.losses }
}

type Outcome = 'kept' | 'silent' | Loss['severity']

/** Bedrock requires declarations of the tools of earlier calls. This test does not cover calls of undeclared tools. */
const declared: Partial<ModelRequest> = { tools: { list: [{ type: 'function', name: 'weather' }] } }

/** Returns the outcome of a feature: its worst loss, or, without a loss, whether the body carries it. */
function observe(feature: RequestFeature, model: string): Outcome {
  const sample = requestSamples[feature]({ upstream: 'converse', other: 'gemini' })
  const base = feature.startsWith('turns.') ? declared : {}
  const request = { ...base, ...sample.request }
  const without = encode({ ...base, ...sample.beside }, model)
  const known = new Set(without.losses.map(({ path, detail }) => `${path} ${detail}`))
  const { body, losses } = encode(request, model)
  const own = losses.filter(({ path, detail }) => !known.has(`${path} ${detail}`))
  const worst = (['fatal', 'warn', 'note'] as const).find((word) => own.some(({ severity }) => severity === word))
  const says = JSON.stringify(body) !== JSON.stringify(without.body)
  return worst ?? (says ? 'kept' : 'silent')
}

const features = Object.keys(requestSamples) as RequestFeature[]
/** Groups the features by their outcome for a model. */
function outcomes(model: string): Readonly<Record<Outcome, readonly RequestFeature[]>> {
  const found: Record<Outcome, RequestFeature[]> = { kept: [], silent: [], fatal: [], warn: [], note: [] }
  for (const feature of features) found[observe(feature, model)].push(feature)
  return found
}

const everywhereKept: readonly RequestFeature[] = [
  'sampling.temperature',
  'sampling.topP',
  'sampling.stop',
  'sampling.maxTokens',
  'tools.function',
  'turns.call',
  'turns.result',
  'turns.resultImage',
  'turns.ownReasoning',
  'turns.ownRedacted',
  'turns.ownLoop',
  'media.imageData',
  'media.audioData',
  'media.videoData',
  'turns.system',
  'turns.developer',
  'metadata',
  'serviceTier',
]
const refused: readonly RequestFeature[] = [
  'sampling.choices',
  'media.imageUrl',
  'media.audioUrl',
  'media.videoUrl',
  'media.documentUrl',
  'media.storedFile',
]

describe.each([
  'us.amazon.nova-lite-v1:0',
  'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
  'vendor.tomorrow',
  'writer.palmyra-x5-v1:0',
  'qwen.qwen3-32b-v1:0',
])('requests to %s', (model) => {
  const found = outcomes(model)

  it('carry every feature or report its loss', () => {
    // A model decides by itself whether to call tools, and always enforces its output schema. If the schema is not sent and reported,
    // its fields need no report.
    const ofSchema = found.kept.includes('output.schema') ? [] : ['output.schemaName']
    expect(found.silent).toEqual(['tools.auto', ...ofSchema, 'output.strict'])
  })

  it('carry the features that all models accept', () => {
    expect(found.kept).toEqual(expect.arrayContaining([...everywhereKept]))
  })

  it('are rejected if a part of the question cannot be sent', () => {
    expect([...found.fatal].sort()).toEqual([...refused].sort())
  })
})

describe('features that only some models accept', () => {
  it.each<[RequestFeature, string, Outcome]>([
    ['sampling.topK', 'us.amazon.nova-lite-v1:0', 'kept'],
    ['sampling.topK', 'anthropic.claude-3-haiku-20240307-v1:0', 'kept'],
    ['sampling.topK', 'meta.llama3-70b-instruct-v1:0', 'warn'],
    ['tools.required', 'us.amazon.nova-lite-v1:0', 'kept'],
    ['tools.required', 'us.meta.llama3-3-70b-instruct-v1:0', 'warn'],
    ['tools.strict', 'openai.gpt-oss-120b-1:0', 'kept'],
    ['tools.strict', 'us.amazon.nova-lite-v1:0', 'warn'],
    ['output.schema', 'qwen.qwen3-32b-v1:0', 'kept'],
    ['output.schema', 'us.deepseek.r1-v1:0', 'warn'],
    ['turns.resultError', 'vendor.tomorrow', 'kept'],
    ['turns.resultError', 'writer.palmyra-x5-v1:0', 'warn'],
    ['cache.5m', 'us.amazon.nova-lite-v1:0', 'kept'],
    ['cache.1h', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'kept'],
    ['cache.1h', 'us.amazon.nova-lite-v1:0', 'note'],
    ['cache.5m', 'openai.gpt-oss-120b-1:0', 'note'],
    ['reasoning.effort', 'openai.gpt-oss-120b-1:0', 'kept'],
    ['reasoning.effort', 'us.amazon.nova-2-lite-v1:0', 'kept'],
    ['reasoning.effort', 'us.amazon.nova-lite-v1:0', 'warn'],
    ['reasoning.budgetTokens', 'us.anthropic.claude-3-7-sonnet-20250219-v1:0', 'note'],
    ['reasoning.budgetTokens', 'openai.gpt-oss-120b-1:0', 'warn'],
    ['reasoning.adaptive', 'us.anthropic.claude-opus-4-7', 'note'],
    ['reasoning.off', 'us.amazon.nova-2-lite-v1:0', 'kept'],
    ['reasoning.off', 'openai.gpt-oss-120b-1:0', 'warn'],
  ])('sends %s to %s with the outcome %s', (feature, model, outcome) => {
    expect(observe(feature, model)).toBe(outcome)
  })
})
