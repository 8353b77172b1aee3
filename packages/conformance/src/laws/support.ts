import {
  type ClientCodec,
  type CodecContext,
  createReport,
  type ExchangeContext,
  type JsonObject,
  type ModelEvent,
  type ModelRequest,
  type ModelResponse,
  type Part,
  type SseEvent,
  type TargetTraits,
  type Tool,
  type Turn,
} from '@modelgate/core/test-support'
import fc from 'fast-check'
import { parsedInput } from '../base/content/content.ts'
import { parseJson } from '../base/json.ts'

const target: TargetTraits = { model: 'demo', quirks: {} }

/** Creates a context with a fixed clock and sequential ids. */
export function createContext(): CodecContext & { readonly target: TargetTraits } {
  let ids = 0
  return { report: createReport(), newId: (prefix) => `${prefix}made${ids++}`, now: () => 1_800_000_000, target }
}

/** A request for every optional part of a response. */
const modelRequest: ModelRequest = {
  model: 'demo',
  turns: [{ role: 'user', parts: [{ type: 'text', text: 'hello' }] }],
  stream: true,
  reasoning: { effort: 'high' },
  tools: { list: [{ type: 'function', name: 'get_weather' }] },
  output: { includeUsage: true },
}
export const createExchange = (): ExchangeContext & { readonly target: TargetTraits } => ({
  ...createContext(),
  request: modelRequest,
})

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }).map((value) => `t${value}t`)
const name = fc.stringMatching(/^[a-z][a-z_]{0,10}[a-z]$/)
const json = fc.oneof(
  fc.constant('{}'),
  fc
    .dictionary(fc.stringMatching(/^[a-z]{1,6}$/), fc.oneof(text, fc.integer({ min: -1000, max: 1000 }), fc.boolean()))
    .map((value) => JSON.stringify(value)),
)
const schema = fc.constantFrom<JsonObject>(
  { type: 'object', properties: {} },
  { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
)
const sometimes = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined, freq: 2 })

/** Removes keys that are undefined: wire objects and the IR distinguish only present and absent. */
type Present<T> = { [K in keyof T]: Exclude<T[K], undefined> }
function present<T extends object>(value: T): Present<T> {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as Present<T>
}

/** A conversation of user turns, assistant turns and occasional tool loops that ends with the user. */
const conversation: fc.Arbitrary<Turn[]> = fc
  .array(
    fc.record({
      user: text,
      picture: fc.boolean(),
      answer: text,
      calls: fc.array(fc.tuple(name, json), { maxLength: 2 }),
    }),
    { maxLength: 3 },
  )
  .chain((rounds) => text.map((last) => ({ rounds, last })))
  .map(({ rounds, last }) => {
    const turns: Turn[] = []
    for (const [round, { user, picture, answer, calls }] of rounds.entries()) {
      const parts: Part[] = [{ type: 'text', text: user }]
      if (picture)
        parts.push({
          type: 'media',
          kind: 'image',
          mediaType: 'image/png',
          source: { type: 'base64', data: 'iVBORw0KGgo=' },
        })
      turns.push({ role: 'user', parts })
      const id = (call: number): string => `call_${round}_${call}`
      turns.push({
        role: 'assistant',
        parts: [
          { type: 'text', text: answer },
          ...calls.map(([tool, input], call): Part => ({ type: 'tool-call', id: id(call), name: tool, input })),
        ],
      })
      if (calls.length > 0)
        turns.push({
          role: 'user',
          parts: calls.map(
            (_, call): Part => ({
              type: 'tool-result',
              callId: id(call),
              parts: [{ type: 'text', text: `${user} ${call}` }],
            }),
          ),
        })
    }
    // Some formats merge two consecutive user turns, so a response separates them.
    if (turns.at(-1)?.role === 'user') turns.push({ role: 'assistant', parts: [{ type: 'text', text: 'ok' }] })
    turns.push({ role: 'user', parts: [{ type: 'text', text: last }] })
    return turns
  })

const tools = fc
  .uniqueArray(fc.record({ name, description: text, schema, strict: sometimes(fc.boolean()) }), {
    minLength: 1,
    maxLength: 3,
    selector: (tool) => tool.name,
  })
  .chain((list) =>
    fc
      .record({
        choice: sometimes(
          fc.oneof(
            fc.constantFrom('auto' as const, 'none' as const, 'required' as const),
            fc.constant({ name: list[0]?.name ?? '' }),
          ),
        ),
        parallel: sometimes(fc.boolean()),
      })
      .map((rest) =>
        present({
          list: list.map((tool, at) => present({ type: 'function' as const, ...tool, at: `/tools.list/${at}` })),
          ...rest,
        }),
      ),
  )

/** Groups of optional request fields. */
const groups = fc.record({
  sampling: sometimes(
    fc
      .record({
        temperature: sometimes(fc.constantFrom(0, 0.5, 1)),
        topP: sometimes(fc.constantFrom(0.25, 1)),
        topK: sometimes(fc.integer({ min: 1, max: 50 })),
        seed: sometimes(fc.integer({ min: 0, max: 1e6 })),
        presencePenalty: sometimes(fc.constantFrom(-1, 0.5)),
        frequencyPenalty: sometimes(fc.constantFrom(-1, 0.5)),
        stop: sometimes(fc.uniqueArray(text, { minLength: 1, maxLength: 3 })),
        maxTokens: sometimes(fc.integer({ min: 1, max: 4000 })),
      })
      .map(present),
  ),
  reasoning: sometimes(
    fc.constantFrom('low' as const, 'medium' as const, 'high' as const).map((effort) => ({ effort })),
  ),
  output: sometimes(
    fc
      .record({
        format: sometimes(
          fc.constantFrom(undefined, { type: 'json' as const, name: 'place', schema: { type: 'object' } }),
        ),
        logprobs: sometimes(fc.integer({ min: 0, max: 5 })),
        verbosity: sometimes(fc.constantFrom('low' as const, 'high' as const)),
      })
      .map(present),
  ),
  user: sometimes(fc.record({ id: sometimes(name), cacheKey: sometimes(name) }).map(present)),
  metadata: sometimes(fc.dictionary(name, text, { minKeys: 1, maxKeys: 2 })),
})

/** Requests in the IR, each field with its own pointer, so that a loss can be traced back to it. */
export const requests: fc.Arbitrary<ModelRequest> = fc
  .record({ turns: conversation, system: sometimes(text), stream: fc.boolean(), tools: sometimes(tools), groups })
  .map(({ turns, system, stream, tools: toolbox, groups: rest }) => {
    const filled = Object.fromEntries(
      Object.entries(rest).filter(([, group]) => group !== undefined && Object.keys(group).length > 0),
    )
    const request: ModelRequest = {
      model: 'demo',
      turns: [
        ...(system === undefined
          ? []
          : [{ role: 'system' as const, parts: [{ type: 'text' as const, text: system }] }]),
        ...turns,
      ],
      stream,
      ...(toolbox === undefined ? {} : { tools: toolbox }),
      ...filled,
    }
    return { ...request, at: Object.fromEntries(fieldsOf(request).map((field) => [field, `/${field}`])) }
  })

/** Returns the paths of the IR's fields, such as `sampling.topK`. */
export const fieldsOf = (request: ModelRequest): string[] =>
  (['sampling', 'tools', 'reasoning', 'output', 'user'] as const)
    .flatMap((group) => Object.keys(request[group] ?? {}).map((field) => `${group}.${field}`))
    .concat(request.metadata === undefined ? [] : ['metadata'])

export const fieldAt = (request: ModelRequest, field: string): unknown => {
  const [group = '', name = ''] = field.split('.')
  const value = (request as unknown as Record<string, unknown>)[group]
  return name === '' ? value : (value as Record<string, unknown> | undefined)?.[name]
}

/**
 * Returns true for the choice `auto`, which is the default, and if `parallelTools` means nothing: several calls are the
 * default, and without tools their number is irrelevant.
 */
export const isMeaningless = ({ tools }: ModelRequest, field: string): boolean =>
  (field === 'tools.choice' && tools?.choice === 'auto') ||
  (field === 'tools.parallel' && (tools?.parallel === true || tools?.choice === 'none'))

/** Removes strict: false, which is every format's default, and strict: true where its loss is reported. */
export const comparableValue = (field: string, value: unknown, reported: readonly string[]): unknown =>
  field !== 'tools.list'
    ? value
    : (value as Tool[]).map((tool) => {
        const { at, ...definition } = tool
        if (definition.type !== 'function') return definition
        const { strict, ...rest } = definition
        return strict === true && !reported.includes(`${at}/strict`) ? definition : rest
      })

/** Returns every text, call and result of a conversation, in order. */
export const conversationTexts = (request: ModelRequest): unknown[] =>
  request.turns.flatMap(({ parts }) =>
    parts.map((part) =>
      part.type === 'tool-result'
        ? ['result', part.callId, part.parts.map((inner) => ('text' in inner ? inner.text : inner.type)).join('')]
        : part.type === 'tool-call'
          ? ['call', part.id, part.name, parseJson(part.input)]
          : [part.type, 'text' in part ? part.text : ''],
    ),
  )

/** Responses in the IR. */
export const responses: fc.Arbitrary<ModelResponse> = fc
  .record({
    reasoning: sometimes(text),
    answer: sometimes(text),
    calls: fc.array(fc.tuple(name, json), { maxLength: 3 }),
    cut: fc.boolean(),
    input: fc.integer({ min: 1, max: 10_000 }),
    cached: fc.integer({ min: 0, max: 1 }),
    output: fc.integer({ min: 1, max: 10_000 }),
  })
  .map(({ reasoning, answer, calls, cut, input, cached, output }) => {
    const parts: Part[] = []
    if (reasoning !== undefined) parts.push({ type: 'reasoning', text: reasoning })
    if (answer !== undefined || calls.length === 0) parts.push({ type: 'text', text: answer ?? 'nothing' })
    for (const [at, [tool, json]] of calls.entries())
      parts.push({ type: 'tool-call', id: `call_${at}`, name: tool, input: json })
    return {
      id: 'answer-1',
      model: 'demo',
      created: 1_800_000_000,
      choices: [{ parts, finish: { reason: calls.length > 0 ? 'tool-calls' : cut ? 'length' : 'stop' } }],
      usage: { input: { total: input, cacheRead: cached }, output: { total: output } },
    } satisfies ModelResponse
  })

/** Content of a response, in terms that every format shares. */
export interface Gist {
  text: string
  reasoning: string
  calls: { name: string; input: unknown }[]
  finish: string
  input: number | undefined
  output: number | undefined
}

export function gistOf(response: ModelResponse): Gist {
  const parts = response.choices[0]?.parts ?? []
  return {
    text: parts.map((part) => (part.type === 'text' ? part.text : '')).join(''),
    reasoning: parts.map((part) => (part.type === 'reasoning' ? part.text : '')).join(''),
    calls: parts.flatMap((part) =>
      part.type === 'tool-call' ? [{ name: part.name, input: parsedInput(part.input) }] : [],
    ),
    finish: response.choices[0]?.finish.reason ?? 'none',
    input: response.usage?.input.total,
    output: response.usage?.output.total,
  }
}

/** Returns the events of a response, as an upstream's decoder would emit them. */
export function eventsOf(response: ModelResponse, pieces: number): ModelEvent[] {
  const { id, model, created, choices, usage } = response
  const events: ModelEvent[] = [{ type: 'response-start', id, model, created }]
  const choice = choices[0]
  for (const [part, value] of (choice?.parts ?? []).entries()) {
    const at = { choice: 0, part }
    const [empty, type, whole] =
      value.type === 'tool-call'
        ? [{ ...value, input: '' }, 'input' as const, value.input]
        : value.type === 'reasoning'
          ? [{ ...value, text: '' }, 'reasoning' as const, value.text]
          : value.type === 'text'
            ? [{ ...value, text: '' }, 'text' as const, value.text]
            : [value, 'text' as const, '']
    events.push({ type: 'part-start', ...at, value: empty })
    const letters = [...whole]
    const step = Math.max(1, Math.ceil(letters.length / pieces))
    for (let from = 0; from < letters.length; from += step)
      events.push({ type: 'part-delta', ...at, delta: { type, text: letters.slice(from, from + step).join('') } })
    events.push({ type: 'part-end', ...at })
  }
  if (choice !== undefined) events.push({ type: 'choice-end', choice: 0, finish: choice.finish })
  if (usage !== undefined) events.push({ type: 'usage', usage })
  events.push({ type: 'response-end' })
  return events
}

/** Folds a decoded stream into a response. Throws if the events break the IR's rules. */
export function fold(events: readonly ModelEvent[]): ModelResponse {
  const start = events[0]
  if (start?.type !== 'response-start')
    throw new Error(`The stream does not begin with response-start, but with ${start?.type}`)
  const parts: Part[] = []
  const open = new Set<number>()
  const response: ModelResponse = { id: start.id, model: start.model, created: start.created, choices: [] }
  let over = false
  for (const event of events.slice(1)) {
    if (over) throw new Error(`${event.type} after the end`)
    switch (event.type) {
      case 'part-start':
        if (event.part !== parts.length) throw new Error(`part ${event.part} starts with index ${parts.length}`)
        parts.push({ ...event.value })
        open.add(event.part)
        break
      case 'part-delta': {
        const part = parts[event.part]
        if (part === undefined || !open.has(event.part))
          throw new Error(`a delta for part ${event.part}, which is not open`)
        const { delta } = event
        if (delta.type === 'input' && part.type === 'tool-call') part.input += delta.text
        if ((delta.type === 'text' || delta.type === 'reasoning') && 'text' in part) part.text += delta.text
        break
      }
      case 'part-end':
        if (!open.delete(event.part)) throw new Error(`part ${event.part} ends twice`)
        break
      case 'choice-end':
        if (open.size > 0) throw new Error('the choice ends with an open part')
        response.choices.push({ parts, finish: event.finish })
        break
      case 'usage':
        response.usage = event.usage
        if (event.serviceTier !== undefined) response.serviceTier = event.serviceTier
        break
      case 'error':
        throw new Error(`the stream failed: ${event.error.message}`)
      case 'response-end':
        over = true
        break
      default:
    }
  }
  if (!over) throw new Error('the stream has no end')
  return response
}

/** Runs all events through a state machine, including its end. */
export function run<In, Out>(machine: { push(input: In): Out[]; end(): Out[] }, inputs: readonly In[]): Out[] {
  return [...inputs.flatMap((input) => machine.push(input)), ...machine.end()]
}

/** Returns the stream of a response in a codec's wire format. */
export const streamOf = (
  codec: Pick<ClientCodec, 'encodeStream'>,
  response: ModelResponse,
  pieces: number,
): SseEvent[] => run(codec.encodeStream(createExchange()), eventsOf(response, pieces))
