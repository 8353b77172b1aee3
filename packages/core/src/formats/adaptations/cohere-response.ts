import { isObject, type Json, type JsonObject } from '../../base/json/json.ts'
import type { Report } from '../ir.ts'
import { loss } from '../shared/report.ts'
import { objectsIn } from './chat-stream.ts'

/** Cohere's finish reasons. */
const finishes: { readonly [finish: string]: string } = {
  stop: 'COMPLETE',
  length: 'MAX_TOKENS',
  tool_calls: 'TOOL_CALL',
  function_call: 'TOOL_CALL',
  content_filter: 'ERROR',
  error: 'ERROR',
}

export const finishOf = (finish: Json | undefined): string =>
  typeof finish === 'string' && Object.hasOwn(finishes, finish) ? (finishes[finish] ?? 'COMPLETE') : 'COMPLETE'

/** Returns a chat completion as a response of Cohere's chat. What has no place in it is reported. */
export function editResponse(body: JsonObject, report: Report): JsonObject {
  const [choice = {}] = objectsIn(body.choices)
  const message = isObject(choice.message) ? choice.message : {}
  reportUnshown(message, '/choices/0/message', report)
  const thought = textIn(message, 'reasoning_content', 'reasoning')
  const text = textOf(message.content)
  const refusal = textIn(message, 'refusal')
  const content: Json[] = []
  if (thought !== '') content.push({ type: 'thinking', thinking: thought })
  if (text !== '') content.push({ type: 'text', text })
  if (refusal !== '') content.push({ type: 'text', text: refusal })
  const calls = objectsIn(message.tool_calls).map(({ id = '', function: called }) => ({
    id,
    type: 'function',
    function: isObject(called) ? called : {},
  }))
  return {
    id: body.id ?? '',
    finish_reason: finishOf(choice.finish_reason),
    message: {
      role: 'assistant',
      ...(content.length === 0 ? {} : { content }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
    ...(isObject(body.usage) ? { usage: usageOf(body.usage) } : {}),
  }
}

/** Returns the first text of some members. */
export function textIn(object: JsonObject, ...names: readonly string[]): string {
  for (const name of names) {
    const value = object[name]
    if (typeof value === 'string' && value !== '') return value
  }
  return ''
}

/** Returns the text of a content, which may be a list of parts. */
const textOf = (content: Json | undefined): string =>
  typeof content === 'string'
    ? content
    : objectsIn(content)
        .map((part) => textIn(part, 'text'))
        .join('')

export function usageOf(usage: JsonObject): JsonObject {
  const { prompt_tokens: input = 0, completion_tokens: output = 0, prompt_tokens_details: details } = usage
  const tokens: JsonObject = { input_tokens: input, output_tokens: output }
  const cached = isObject(details) ? details.cached_tokens : undefined
  return { billed_units: tokens, tokens, ...(typeof cached === 'number' ? { cached_tokens: cached } : {}) }
}

/** Members of a message that Cohere's clients have no place for. Sealed reasoning is one of them. */
const unshown = ['annotations', 'audio', 'images', 'reasoning_details'] as const

/** Reports them. Empty ones lose nothing. */
export function reportUnshown(message: JsonObject, at: string, report: Report): void {
  for (const name of unshown) {
    const value = message[name]
    if (value == null || (Array.isArray(value) && value.length === 0)) continue
    const detail = `${name} has no counterpart in the client's API`
    report.add({ ...loss(`${at}/${name}`, detail, 'unsupported', 'note'), side: 'answer' })
  }
}
