import type { Json, JsonObject } from '../../base/json.ts'
import { asList, asObject, parseJson } from '../../base/json.ts'
import type { Ids } from '../../base/random.ts'
import { tokenize } from '../../base/tokens.ts'
import type { Block } from '../answer.ts'
import { argumentPieces, logprobsOf } from '../chat/render.ts'
import type { RenderInput } from '../dialect.ts'
import { openaiSealStyle } from './check-items.ts'
import { itemsOf as requestItems, typeOf } from './input.ts'

/** An item of a response: its announced form, its final form, and the events between. */
export interface Item {
  readonly id: string
  readonly start: JsonObject
  readonly done: JsonObject
  readonly steps: readonly Step[]
}
export interface Step {
  readonly event: string
  readonly data: JsonObject
  /** True for a part of the response's text. */
  readonly word?: boolean
}
/** Returns the items of a response. A request that ends with a compaction item gets only the compacted state. */
export function itemsOf(blocks: readonly Block[], generated: RenderInput, incomplete: boolean): Item[] {
  const wanted = requestItems(generated.request.input).at(-1)
  if (wanted && typeOf(wanted) === 'compaction_trigger') return [compactionItem(generated)]
  const items: Item[] = []
  let spoken: Extract<Block, { type: 'text' | 'refusal' }>[] = []
  const flush = (last: boolean): void => {
    if (spoken.length > 0) items.push(messageItem(spoken, generated, incomplete && last))
    spoken = []
  }
  for (const block of blocks) {
    if (block.type === 'text' || block.type === 'refusal') {
      spoken.push(block)
      continue
    }
    flush(false)
    items.push(block.type === 'tool-call' ? callItem(block, generated) : reasoningItem(block, generated))
  }
  flush(true)
  return items
}

function reasoningItem(block: Extract<Block, { type: 'thinking' | 'redacted' }>, generated: RenderInput): Item {
  const id = generated.ids.item('rs')
  const text = block.type === 'thinking' ? block.text : ''
  const isRequested = asList(generated.request.include).includes('reasoning.encrypted_content')
  const sealed: JsonObject = isRequested
    ? { encrypted_content: block.type === 'thinking' ? block.signature : block.data }
    : {}
  const base = { id, type: 'reasoning', ...sealed }
  const at = { summary_index: 0 }
  const part = (shown: string): JsonObject => ({ type: 'summary_text', text: shown })
  const steps: Step[] =
    text === ''
      ? []
      : [
          { event: 'response.reasoning_summary_part.added', data: { part: part(''), ...at } },
          ...tokenize(text).map((delta) => ({
            event: 'response.reasoning_summary_text.delta',
            data: { delta, ...at },
            word: true,
          })),
          { event: 'response.reasoning_summary_text.done', data: { text, ...at } },
          { event: 'response.reasoning_summary_part.done', data: { part: part(text), ...at } },
        ]
  return {
    id,
    start: { ...base, summary: [] },
    done: { ...base, summary: text === '' ? [] : [part(text)] },
    steps,
  }
}

/** Returns the item with the compacted state of a conversation. */
export function compactionItem({ ids, seals }: RenderInput): Item {
  const id = ids.item('cmp')
  const item = { id, type: 'compaction', encrypted_content: seals.redact(openaiSealStyle) }
  return { id, start: item, done: item, steps: [] }
}

function callItem(block: Extract<Block, { type: 'tool-call' }>, { ids }: RenderInput): Item {
  if (block.native === 'tool_search') return searchItem(block, ids)
  const id = ids.item(block.custom ? 'ctc' : 'fc')
  const type = block.custom ? 'custom_tool_call' : 'function_call'
  const field = block.custom ? 'input' : 'arguments'
  const event = block.custom ? 'response.custom_tool_call_input' : 'response.function_call_arguments'
  const item = (status: string, text: string): JsonObject => ({
    id,
    type,
    status,
    [field]: text,
    call_id: block.id,
    name: block.name,
    ...(block.namespace === undefined ? {} : { namespace: block.namespace }),
  })
  return {
    id,
    start: item('in_progress', ''),
    done: item('completed', block.input),
    steps: [
      ...argumentPieces(block.input).map((delta) => ({ event: `${event}.delta`, data: { delta }, word: true })),
      { event: `${event}.done`, data: { [field]: block.input } },
    ],
  }
}

/** Returns a tool search that the client executes: its arguments are an object, and come whole. */
function searchItem(block: Extract<Block, { type: 'tool-call' }>, ids: Ids): Item {
  const id = ids.item('tsc')
  const item = (status: string): JsonObject => ({
    id,
    type: 'tool_search_call',
    status,
    arguments: asObject(parseJson(block.input)),
    call_id: block.id,
    execution: 'client',
  })
  return { id, start: item('in_progress'), done: item('completed'), steps: [] }
}

type Spoken = Extract<Block, { type: 'text' | 'refusal' }>

function messageItem(blocks: readonly Spoken[], generated: RenderInput, incomplete: boolean): Item {
  const id = generated.ids.item('msg')
  const message = (status: string, content: Json[]): JsonObject => ({
    id,
    type: 'message',
    status,
    content,
    role: 'assistant',
  })
  const status = incomplete ? 'incomplete' : 'completed'
  const parts = blocks.map((block, index) => partOf(block, index, generated))
  return {
    id,
    start: message('in_progress', []),
    done: message(
      status,
      parts.map(({ part }) => part),
    ),
    steps: parts.flatMap(({ steps }) => steps),
  }
}

function partOf(block: Spoken, index: number, generated: RenderInput): { part: JsonObject; steps: Step[] } {
  const at = { content_index: index }
  const alternatives = generated.prompt.logprobs
  const logprobs = (text: string): Json => logprobsOf(text, alternatives)?.content ?? []
  const refused = block.type === 'refusal'
  const part = (text: string): JsonObject =>
    refused
      ? { type: 'refusal', refusal: text }
      : { type: 'output_text', annotations: [], logprobs: logprobs(text), text }
  const name = refused ? 'response.refusal' : 'response.output_text'
  const steps: Step[] = [
    { event: 'response.content_part.added', data: { ...at, part: part('') } },
    ...tokenize(block.text).map((delta) => ({
      event: `${name}.delta`,
      data: { ...at, delta, ...(refused ? {} : { logprobs: logprobs(delta) }) },
      word: true,
    })),
    {
      event: `${name}.done`,
      data: { ...at, ...(refused ? { refusal: block.text } : { logprobs: logprobs(block.text), text: block.text }) },
    },
    { event: 'response.content_part.done', data: { ...at, part: part(block.text) } },
  ]
  return { part: part(block.text), steps }
}
