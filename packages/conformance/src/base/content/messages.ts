import { type Json, type JsonObject, listOf, numberOf, objectOf, parseJson, textOf } from '../json.ts'
import { eventData, parsedInput, type ResponseContent, type UsageTotals, withUsage } from './content.ts'

export function messagesUsage(value: Json | undefined): UsageTotals | undefined {
  const usage = objectOf(value)
  const fresh = numberOf(usage.input_tokens)
  const output = numberOf(usage.output_tokens)
  if (fresh === undefined || output === undefined) return undefined
  const cacheRead = numberOf(usage.cache_read_input_tokens)
  const reasoning = numberOf(objectOf(usage.output_tokens_details).thinking_tokens)
  return {
    input: fresh + (cacheRead ?? 0) + (numberOf(usage.cache_creation_input_tokens) ?? 0),
    output,
    ...(cacheRead === undefined ? {} : { cacheRead }),
    ...(reasoning === undefined ? {} : { reasoning }),
  }
}

function blocksOf(blocks: readonly JsonObject[], stopDetails: Json | undefined): Omit<ResponseContent, 'usage'> {
  const textsOf = (type: string, key: string): string =>
    blocks
      .filter((block) => block.type === type)
      .map((block) => textOf(block[key]))
      .join('')
  return {
    text: textsOf('text', 'text'),
    refusal: textOf(objectOf(stopDetails).explanation),
    reasoning: textsOf('thinking', 'thinking'),
    tools: blocks
      .filter((block) => block.type === 'tool_use')
      .map((block) => ({ name: textOf(block.name), input: block.input ?? {} })),
  }
}

export function messagesBody(text: string): ResponseContent | undefined {
  const body = objectOf(parseJson(text))
  if (body.type !== 'message') return undefined
  return withUsage(blocksOf(listOf(body.content).map(objectOf), body.stop_details), messagesUsage(body.usage))
}

export function messagesStream(stream: string): ResponseContent | undefined {
  const blocks: JsonObject[] = []
  const inputs = new Map<number, string>()
  let usage: JsonObject = {}
  let stopDetails: Json | undefined
  let stopped = false
  for (const data of eventData(stream)) {
    const event = objectOf(parseJson(data))
    const at = numberOf(event.index) ?? 0
    const delta = objectOf(event.delta)
    const block = blocks[at]
    if (event.type === 'error') return undefined
    if (event.type === 'message_start') usage = { ...objectOf(objectOf(event.message).usage) }
    if (event.type === 'message_delta') {
      usage = { ...usage, ...objectOf(event.usage) }
      stopDetails = delta.stop_details ?? stopDetails
    }
    if (event.type === 'content_block_start') blocks[at] = { ...objectOf(event.content_block) }
    if (event.type === 'message_stop') stopped = true
    if (event.type !== 'content_block_delta' || block === undefined) continue
    if (delta.type === 'text_delta') block.text = textOf(block.text) + textOf(delta.text)
    if (delta.type === 'thinking_delta') block.thinking = textOf(block.thinking) + textOf(delta.thinking)
    if (delta.type === 'input_json_delta') inputs.set(at, (inputs.get(at) ?? '') + textOf(delta.partial_json))
  }
  if (!stopped) return undefined
  for (const [at, input] of inputs) {
    const block = blocks[at]
    if (block !== undefined && input !== '') block.input = parsedInput(input) as Json
  }
  return withUsage(
    blocksOf(
      blocks.filter((block) => block !== undefined),
      stopDetails,
    ),
    messagesUsage(usage),
  )
}
