import type { JsonObject } from '../base/json/json.ts'
import type { UpstreamFormat } from '../base/names.ts'
import type { RequestFeature } from './capabilities.ts'
import type {
  MediaPart,
  ModelRequest,
  Output,
  Part,
  SettingsChange,
  Tool,
  ToolCallPart,
  ToolChoice,
  ToolResultPart,
  Turn,
} from './ir.ts'

/** A request with one feature, and a function that extracts it. */
export interface RequestSample {
  readonly request: Partial<ModelRequest>
  readonly pick: (request: ModelRequest) => unknown
  /** The request without the feature, if it differs from the minimal request. Losses of this request are ignored. */
  readonly beside?: Partial<ModelRequest>
}
/** Possible owners of a native value or seal: the upstream's format or another one. */
export interface Owners {
  readonly upstream: UpstreamFormat
  readonly other: UpstreamFormat
}

const user = (...parts: Part[]): Turn => ({ role: 'user', parts })
const assistant = (...parts: Part[]): Turn => ({ role: 'assistant', parts })
export const text = (words: string): Part => ({ type: 'text', text: words })

const field = (path: string, value: unknown): RequestSample => {
  const [group = '', key] = path.split('.')
  const request = key === undefined ? { [group]: value } : { [group]: { [key]: value } }
  const pick = (from: ModelRequest): unknown => {
    const inner = (from as unknown as Record<string, unknown>)[group]
    return key === undefined ? inner : (inner as Record<string, unknown> | undefined)?.[key]
  }
  return { request, pick }
}
/**
 * Drops the fields that some formats derive: names in a result, the media type of a linked file, and whether reasoning
 * is a summary or redacted (its seal already determines that).
 */
const essence = (part: Part): unknown => {
  if (part.type === 'tool-result')
    return { ...part, name: undefined, parts: part.parts.map((inner) => ({ ...inner, name: undefined })) }
  if (part.type === 'reasoning') return { ...part, summary: undefined, redacted: undefined, extra: undefined }
  if (part.type !== 'media') return part
  return part.source.type === 'url' || part.source.type === 'file' ? { ...part, mediaType: undefined } : part
}
const turns = (...list: Turn[]): RequestSample => ({
  request: { turns: list },
  pick: (request) => request.turns.map((turn) => ({ ...turn, parts: turn.parts.map(essence) })),
})

const schema: JsonObject = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
const weather: Tool = { type: 'function', name: 'weather', description: 'The weather.', schema }
const time: Tool = { type: 'function', name: 'time', description: 'The time.', schema }
export const shell: Tool = { type: 'custom', name: 'shell', description: 'Runs a command.' }

/** A function without `strict` is not strict. */
const tool = (list: Tool[]): RequestSample => ({
  request: { tools: { list } },
  pick: ({ tools }) =>
    tools?.list.map((one) => {
      if (one.type !== 'function') return one
      const { strict, ...rest } = one
      return strict ? one : rest
    }),
})
const choice = (value: ToolChoice): RequestSample => ({
  request: { tools: { list: [weather, time], choice: value } },
  beside: { tools: { list: [weather, time] } },
  pick: ({ tools }) => tools?.choice,
})

const question = user(text('What is the weather?'))
const shellCall: ToolCallPart = { type: 'tool-call', id: 'call_1', name: 'shell', input: 'ls -l', custom: true }
export const call: ToolCallPart = { type: 'tool-call', id: 'call_1', name: 'weather', input: '{"city":"Oslo"}' }
const result = (...parts: Part[]): ToolResultPart => ({ type: 'tool-result', callId: 'call_1', parts })
const called = (part: ToolResultPart, made: ToolCallPart = call): RequestSample =>
  turns(question, assistant(made), user(part))

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
export const image: MediaPart = {
  type: 'media',
  kind: 'image',
  source: { type: 'base64', data: pixel },
  mediaType: 'image/png',
}
const pdf: MediaPart = {
  type: 'media',
  kind: 'document',
  source: { type: 'base64', data: 'JVBERi0xLjQK' },
  mediaType: 'application/pdf',
}
const questionAbout = (part: Part): RequestSample => turns(user(text('What is this?'), part))
const url = (kind: MediaPart['kind'], ending: string): MediaPart => ({
  type: 'media',
  kind,
  source: { type: 'url', url: `https://example.com/file.${ending}` },
})
/** Sample of a media part with one field in addition to its content. */
const beside = (part: MediaPart, key: 'detail' | 'name', value: string): RequestSample => ({
  request: questionAbout({ ...part, [key]: value }).request,
  beside: questionAbout(part).request,
  pick: (request) => request.turns.flatMap(({ parts }) => parts.map((one) => (one.type === 'media' ? one[key] : ''))),
})

type JsonFormat = Extract<NonNullable<Output['format']>, { type: 'json' }>
/** Sample of a JSON output format with the field `key`. */
const json = (key: 'schema' | 'name' | 'strict', more: Omit<JsonFormat, 'type'>): RequestSample => {
  const { [key]: _, ...rest } = more
  return {
    request: { output: { format: { type: 'json', ...more } } },
    ...(key === 'schema' ? {} : { beside: { output: { format: { type: 'json', ...rest } } } }),
    pick: ({ output }) => (output?.format?.type === 'json' ? output.format[key] : undefined),
  }
}
const answered = (...parts: Part[]): RequestSample =>
  turns(user(text('Hello.')), assistant(...parts), user(text('And then?')))
const cached = (ttl: '5m' | '1h'): RequestSample =>
  turns(user({ type: 'text', text: 'A long text.', cache: { ttl } }, text('What does it say?')))

/** Sample of a settings change between two questions. */
const changed = (change: SettingsChange, tools: ModelRequest['tools'] = { list: [weather, time] }): RequestSample => ({
  request: {
    tools,
    reasoning: { effort: 'high' },
    turns: [
      question,
      { role: 'system', parts: [], changes: [change] },
      assistant(text('Rain.')),
      user(text('And then?')),
    ],
  },
  beside: {
    tools,
    reasoning: { effort: 'high' },
    turns: [question, assistant(text('Rain.')), user(text('And then?'))],
  },
  pick: (request) =>
    request.turns.flatMap(({ changes }) =>
      (changes ?? []).map((one) => ({
        ...one,
        addedTools: one.addedTools?.map((added) => ({ ...added, strict: undefined })),
      })),
    ),
})

/** One request for each feature, added to the minimal request `{model, turns: [one question]}`. */
export const requestSamples: { readonly [F in RequestFeature]: (owners: Owners) => RequestSample } = {
  'sampling.temperature': () => field('sampling.temperature', 0.5),
  'sampling.topP': () => field('sampling.topP', 0.9),
  'sampling.topK': () => field('sampling.topK', 40),
  'sampling.seed': () => field('sampling.seed', 7),
  'sampling.presencePenalty': () => field('sampling.presencePenalty', 0.5),
  'sampling.frequencyPenalty': () => field('sampling.frequencyPenalty', 0.5),
  'sampling.logitBias': () => field('sampling.logitBias', { '1734': -100 }),
  'sampling.stop': () => field('sampling.stop', ['END']),
  'sampling.maxTokens': () => field('sampling.maxTokens', 2000),
  'sampling.choices': () => field('sampling.choices', 2),
  'tools.function': () => tool([weather]),
  'tools.strict': () => tool([{ ...weather, strict: true }]),
  'tools.custom': () => tool([shell]),
  'tools.grammar': () => tool([{ ...shell, grammar: { syntax: 'regex', definition: 'a+' } }]),
  'tools.native': ({ other }) => tool([weather, { type: 'native', format: other, value: { search: {} } }]),
  'tools.auto': () => choice('auto'),
  'tools.none': () => choice('none'),
  'tools.required': () => choice('required'),
  'tools.named': () => choice({ name: 'weather' }),
  'tools.allowed': () => choice({ allowed: ['weather', 'time'], mode: 'auto' }),
  'tools.serial': () => ({
    request: { tools: { list: [weather], parallel: false } },
    pick: ({ tools }) => tools?.parallel,
  }),
  'turns.call': () => turns(question, assistant(text('I look.'), call), user(result(text('Rain.')))),
  'turns.customCall': () => ({
    ...called(result(text('Done.')), shellCall),
    // The replacement of the custom tool by a function is reported for the tool list.
    request: { ...called(result(text('Done.')), shellCall).request, tools: { list: [shell] } },
  }),
  'turns.result': () => called(result(text('Rain.'))),
  'turns.resultImage': () => called(result(text('See.'), image)),
  'turns.resultDocument': () => ({
    ...called(result(text('See.'), { ...pdf, name: 'report.pdf' })),
    beside: questionAbout({ ...pdf, name: 'report.pdf' }).request,
  }),
  'turns.resultError': () => called({ ...result(text('No such city.')), isError: true }),
  'media.imageData': () => questionAbout(image),
  'media.imageUrl': () => questionAbout(url('image', 'png')),
  'media.imageDetail': () => beside(image, 'detail', 'low'),
  'media.audioData': () =>
    questionAbout({ type: 'media', kind: 'audio', source: { type: 'base64', data: 'AAAA' }, mediaType: 'audio/wav' }),
  'media.audioUrl': () => questionAbout(url('audio', 'mp3')),
  'media.videoData': () =>
    questionAbout({ type: 'media', kind: 'video', source: { type: 'base64', data: 'AAAA' }, mediaType: 'video/mp4' }),
  'media.videoUrl': () => questionAbout(url('video', 'mp4')),
  'media.documentData': () => ({
    ...questionAbout(pdf),
    pick: (request) =>
      request.turns.flatMap(({ parts }) => parts.map((one) => (one.type === 'media' ? one.source : one))),
  }),
  'media.documentUrl': () => questionAbout(url('document', 'pdf')),
  'media.documentText': () =>
    questionAbout({
      type: 'media',
      kind: 'document',
      source: { type: 'text', text: 'A text.' },
      mediaType: 'text/plain',
    }),
  'media.documentName': () => beside(pdf, 'name', 'report.pdf'),
  'media.storedFile': ({ other }) =>
    questionAbout({ ...pdf, source: { type: 'file', seal: { issuer: other, data: 'files/1' } } }),
  'reasoning.effort': () => field('reasoning.effort', 'high'),
  'reasoning.budgetTokens': () => field('reasoning.budgetTokens', 2048),
  'reasoning.adaptive': () => field('reasoning.adaptive', true),
  'reasoning.off': () => field('reasoning.off', true),
  'reasoning.summary': () => ({
    request: { reasoning: { effort: 'high', summary: 'auto' } },
    pick: ({ reasoning }) => reasoning?.summary,
  }),
  'turns.ownReasoning': ({ upstream }) =>
    answered({ type: 'reasoning', text: 'I think.', seal: { issuer: upstream, data: 'c2VhbA==' } }, text('So.')),
  'turns.ownRedacted': ({ upstream }) =>
    answered(
      { type: 'reasoning', text: '', redacted: true, seal: { issuer: upstream, data: 'c2VhbA==' } },
      text('So.'),
    ),
  // Chat and Gemini upstreams sign the call, the others the reasoning before it.
  'turns.ownLoop': ({ upstream }) => {
    const data = upstream === 'chat' ? '{"google":{"thought_signature":"c2VhbA=="}}' : 'c2VhbA=='
    const seal = { issuer: upstream, data }
    const done = user(result(text('Rain.')))
    return upstream === 'chat' || upstream === 'gemini'
      ? turns(question, assistant({ ...call, seal }), done)
      : turns(question, assistant({ type: 'reasoning', text: 'I think.', seal }, call), done)
  },
  'turns.openReasoning': () => answered({ type: 'reasoning', text: 'I think.' }, text('So.')),
  // A foreign signature is never sent, so only the text is compared.
  'turns.foreignReasoning': ({ other }) => ({
    ...answered({ type: 'reasoning', text: 'I think.', seal: { issuer: other, data: 'c2VhbA==' } }, text('So.')),
    pick: (request) =>
      request.turns.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'reasoning' ? [part.text] : []))),
  }),
  'turns.foreignCallSeal': ({ other }) =>
    called(result(text('Rain.')), { ...call, seal: { issuer: other, data: 'c2VhbA==' } }),
  'output.json': () => ({ request: { output: { format: { type: 'json' } } }, pick: ({ output }) => output?.format }),
  'output.schema': () => json('schema', { schema }),
  'output.schemaName': () => json('name', { schema, name: 'place' }),
  'output.strict': () => json('strict', { schema, name: 'place', strict: true }),
  'output.modalities': () => field('output.modalities', ['text', 'image']),
  'output.audio': () => ({
    request: { output: { modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'wav' } } },
    pick: ({ output }) => output?.audio,
  }),
  'output.logprobs': () => field('output.logprobs', 3),
  'output.verbosity': () => field('output.verbosity', 'low'),
  'turns.system': () => turns({ role: 'system', parts: [text('Be brief.')] }, question),
  'turns.laterSystem': () =>
    turns(question, { role: 'system', parts: [text('Be brief.')] }, assistant(text('Rain.')), user(text('And then?'))),
  'turns.developer': () => turns({ role: 'developer', parts: [text('Be brief.')] }, question),
  'turns.laterEffort': () => changed({ effort: 'low' }),
  'turns.addedTools': () => changed({ addedTools: [time] }, { list: [weather, { ...time, deferred: true }] }),
  'turns.removedTools': () => changed({ removedTools: ['weather'] }),
  'turns.name': () => turns({ ...question, name: 'Ada' }),
  'turns.citations': () => ({
    ...answered({
      type: 'text',
      text: 'Rain.',
      citations: [{ url: 'https://example.com', title: 'Example', start: 0, end: 5 }],
    }),
    pick: (request) =>
      request.turns.flatMap(({ parts }) => parts.map((part) => (part.type === 'text' ? part.citations?.[0]?.url : ''))),
  }),
  'turns.refusal': () => answered({ type: 'refusal', text: 'I will not.' }),
  'cache.5m': () => cached('5m'),
  'cache.1h': () => cached('1h'),
  metadata: () => field('metadata', { team: 'blue' }),
  'user.id': () => field('user.id', 'u-1'),
  'user.safetyId': () => field('user.safetyId', 's-1'),
  'user.cacheKey': () => field('user.cacheKey', 'k-1'),
  serviceTier: () => field('serviceTier', 'flex'),
  native: ({ other }) =>
    questionAbout({ type: 'native', format: other, value: { type: 'input_of_tomorrow', value: 1 } }),
  unknown: ({ other }) => ({
    request: { extra: { [other]: { tomorrow: 1 } } },
    pick: ({ extra }) => extra?.[other]?.tomorrow,
  }),
}
