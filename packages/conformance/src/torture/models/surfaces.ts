import type { Route } from '@modelgate/core'
import {
  codecOf,
  type ModelPlaces,
  type OperationName,
  placesOf as operationPlaces,
  routes,
} from '@modelgate/core/test-support'
import { type ClientFormat, clientFormatRows, isClientFormat } from '../../base/client-formats.ts'
import { type Format, formats } from '../../base/recorded-traffic.ts'
import type { Part } from '../input/malformed-forms.ts'

type Json = Readonly<Record<string, unknown>>

/** A request that names no other model, with the shapes of the body parts that contain places. */
interface Sample {
  readonly body?: (model: string) => Json
  readonly parts?: (model: string) => readonly Part[]
  /** Members that a part requires, by path. */
  readonly around?: Readonly<Record<string, Json>>
  /** Members that conflict with one of the sample's. */
  readonly replaces?: Readonly<Record<string, string>>
}

/** An endpoint with one model. */
export interface Surface extends Sample {
  readonly name: string
  readonly path: string
  readonly format: ClientFormat
  readonly places: ModelPlaces
  /** Lane of the upstream of the model. `explain` shows the upstream request. */
  readonly lane: 'wire' | 'translate' | 'explain'
  readonly model: string
  /** True if the path names the model. */
  readonly inPath: boolean
}

/** The models that the caller may use: one per upstream. */
export const listedModels = formats.map((format) => `${format}-model`)

const functionTool = { type: 'function', name: 'f', parameters: {} }
const claudeTool = { name: 'f', input_schema: { type: 'object' } }
const contents = [{ role: 'user', parts: [{ text: 'hi' }] }]
const wav: Part = { name: 'file', value: 'RIFF', filename: 'a.wav' }
const png: Part = { name: 'image', value: 'PNG', filename: 'a.png' }
const plugins = { 'plugins[]': { id: 'web' } }

const gemini: Sample = {
  body: () => ({ contents }),
  around: { ...plugins, 'tools[]': { functionDeclarations: [{ name: 'f' }] }, generateContentRequest: { contents } },
}
const messages: Sample = {
  body: (model) => ({ model, messages: [{ role: 'user', content: 'hi' }], max_tokens: 9 }),
  around: {
    ...plugins,
    'tools[]': claudeTool,
    'messages[]': { role: 'user' },
    'messages[].content[]': { type: 'tool_addition' },
    'messages[].content[].tool': { type: 'tool_definition' },
    'messages[].content[].tool.definition': claudeTool,
  },
}
const responses: Sample = {
  body: (model) => ({ model, input: 'hi' }),
  around: {
    ...plugins,
    'tools[]': functionTool,
    'input[]': { type: 'additional_tools', role: 'developer' },
    'input[].tools[]': functionTool,
  },
}

const turns = [{ role: 'user', content: [{ text: 'hi' }] }]
const converse: Sample = { body: () => ({ messages: turns }), around: plugins }

const ollama = { ...plugins, 'tools[]': { type: 'function', function: { name: 'f' } } }

/** Samples by operation, format and dialect. */
export const samples: Readonly<Record<string, Sample>> = {
  'generate chat': {
    body: (model) => ({ model, messages: [{ role: 'user', content: 'hi' }] }),
    around: { ...plugins, 'tools[]': { type: 'function', function: { name: 'f' } } },
  },
  'generate messages': messages,
  'generate gemini': gemini,
  'generate responses': responses,
  'generate ollama': { body: (model) => ({ model, messages: [{ role: 'user', content: 'hi' }] }), around: ollama },
  'generate ollama ollama-generate': { body: (model) => ({ model, prompt: 'hi' }), around: ollama },
  'generate converse': converse,
  'compact responses': responses,
  'count-tokens messages': { ...messages, body: (model) => ({ model, messages: [{ role: 'user', content: 'hi' }] }) },
  'count-tokens gemini': { ...gemini, replaces: { generateContentRequest: 'contents' } },
  'count-tokens responses': responses,
  'count-tokens converse': { body: () => ({ input: { converse: { messages: turns } } }) },
  'completions chat openai': { body: (model) => ({ model, prompt: 'hi' }) },
  'embeddings chat openai': { body: (model) => ({ model, input: 'hi' }) },
  'embeddings gemini gemini': {
    body: () => ({ content: { parts: [{ text: 'hi' }] } }),
    around: { 'requests[]': { content: { parts: [{ text: 'hi' }] } } },
  },
  'embeddings gemini gemini-batch': {
    body: () => ({ requests: [{ content: { parts: [{ text: 'hi' }] } }] }),
    around: { 'requests[]': { content: { parts: [{ text: 'hi' }] } } },
  },
  'embeddings ollama ollama': { body: (model) => ({ model, input: 'hi' }) },
  'embeddings ollama ollama-embeddings': { body: (model) => ({ model, prompt: 'hi' }) },
  'images gemini imagen': { body: () => ({ instances: [{ prompt: 'a cat' }] }) },
  'rerank chat jina': { body: (model) => ({ model, query: 'a', documents: ['b', 'c'] }) },
  'rerank chat cohere': { body: (model) => ({ model, query: 'a', documents: ['b', 'c'] }) },
  'moderations chat openai': { body: (model) => ({ model, input: 'hi' }) },
  'images chat openai': { body: (model) => ({ model, prompt: 'a cat' }) },
  'image-edits chat openai': {
    parts: (model) => [{ name: 'model', value: model }, { name: 'prompt', value: 'a cat' }, png],
  },
  'image-variations chat openai': { parts: (model) => [{ name: 'model', value: model }, png] },
  'transcriptions chat openai': { parts: (model) => [{ name: 'model', value: model }, wav] },
  'translations chat openai': { parts: (model) => [{ name: 'model', value: model }, wav] },
  'speech chat openai': { body: (model) => ({ model, input: 'hi', voice: 'alloy' }) },
  'realtime-sessions chat client-secrets': {
    body: (model) => ({ session: { type: 'realtime', model } }),
    around: { session: { type: 'realtime', model: 'chat-model' }, 'session.tools[]': functionTool },
  },
  'realtime-sessions chat sessions': { body: (model) => ({ model }), around: { 'tools[]': functionTool } },
  'realtime-sessions chat transcription-sessions': {
    body: (model) => ({ input_audio_transcription: { model } }),
    around: { input_audio_transcription: { model: 'chat-model' }, 'tools[]': functionTool },
  },
  'realtime-sessions chat translation-secrets': {
    body: (model) => ({ session: { model } }),
    around: { session: { model: 'chat-model' }, 'session.tools[]': functionTool },
  },
}

export const sampleKey = ({ operation, format, dialect }: Route): string =>
  [operation, format, ...(dialect === undefined ? [] : [dialect])].join(' ')

/** Operations whose requests have a body, but call no upstream. */
const withoutUpstream: ReadonlySet<string> = new Set(['cancel-response', 'get-model', 'static-response'])

/** Bodies of InvokeModel have the form of another operation, which handles them. */
const ofOtherForm = 'invoke'

/** Routes whose request bodies may name a model. Those of families have the same handlers and dialects. */
export const namingRoutes: readonly Route[] = routes.filter(
  ({ method, operation, family, object, format }) =>
    method === 'POST' &&
    !withoutUpstream.has(operation) &&
    operation !== ofOtherForm &&
    family === undefined &&
    object === undefined &&
    isClientFormat(format),
)

function placesOf({ operation, format, dialect = '' }: Route): ModelPlaces {
  if (operation === 'generate' || operation === 'compact' || operation === 'count-tokens')
    return codecOf(format).modelPlaces
  return operationPlaces(operation as OperationName, dialect)
}

/** Every endpoint with each upstream, and with explain where possible. */
export const surfaces: readonly Surface[] = [
  ...new Map(namingRoutes.map((route) => [sampleKey(route), route])),
].flatMap(([key, route]) => {
  const sample = samples[key]
  if (sample === undefined) return []
  const { format, operation } = route
  if (!isClientFormat(format)) return []
  const surface = (upstream: Format, explained = false): Surface => {
    const model = `${upstream}-model`
    const path = route.path.replace('{model}', model)
    return {
      ...sample,
      name: `${key} > ${upstream}${explained ? ' (explained)' : ''}`,
      path: explained ? `${path}?modelgate=explain` : path,
      format,
      places: placesOf(route),
      lane: explained ? 'explain' : upstream === format ? 'wire' : 'translate',
      model,
      inPath: route.path.includes('{model}'),
    }
  }
  const explained = formats.filter((upstream) => upstream === clientFormatRows[format].upstream)
  return [
    ...formats.map((upstream) => surface(upstream)),
    ...(operation === 'generate' ? explained.map((upstream) => surface(upstream, true)) : []),
  ]
})
