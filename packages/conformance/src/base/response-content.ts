import { isObject, type Json, type JsonObject, listOf, numberOf, objectOf, parseJson, textOf } from './json.ts'
import type { Exchange } from './recorded-traffic.ts'

/**
 * Reads the content of a recorded response from its bytes; returns undefined if the response is incomplete.
 * @param doneOptional the vendor ends streams with the finish reason, without `[DONE]`
 */
export function readRecording(
  { format, stream, answer }: Pick<Exchange, 'format' | 'stream' | 'answer'>,
  doneOptional = false,
): ResponseContent | undefined {
  switch (format) {
    case 'chat':
      return stream ? chatStream(answer, doneOptional) : chatBody(answer)
    case 'messages':
      return stream ? messagesStream(answer) : messagesBody(answer)
    case 'gemini':
      return stream ? readGemini(geminiChunks(answer)) : readGemini([parseJson(answer)], true)
    case 'responses':
      return stream ? readResponsesStream(answer) : readResponsesBody(parseJson(answer))
  }
}

export function chatUsage(value: Json | undefined): UsageTotals | undefined {
  const usage = objectOf(value)
  const input = numberOf(usage.prompt_tokens)
  const completion = numberOf(usage.completion_tokens)
  if (input === undefined || completion === undefined) return undefined
  const reasoning = numberOf(objectOf(usage.completion_tokens_details).reasoning_tokens)
  // DeepSeek and Mistral report cached input in other fields.
  const cacheRead =
    numberOf(objectOf(usage.prompt_tokens_details).cached_tokens) ??
    numberOf(usage.prompt_cache_hit_tokens) ??
    numberOf(usage.num_cached_tokens)
  // Some vendors exclude reasoning from the completion tokens; their total reveals it.
  const beside = (numberOf(usage.total_tokens) ?? 0) - input - completion
  const apart = beside > 0 && (reasoning === undefined || reasoning === beside)
  return {
    input,
    output: apart ? completion + beside : completion,
    ...(cacheRead === undefined ? {} : { cacheRead }),
    ...(reasoning === undefined ? {} : { reasoning }),
  }
}

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

/** Returns the reasoning of a chat message or delta, under any vendor's field name. */
export function chatReasoning(message: JsonObject): string {
  for (const key of ['reasoning_content', 'reasoning'])
    if (typeof message[key] === 'string' && message[key] !== '') return message[key]
  const details = listOf(message.reasoning_details).map(objectOf)
  const reported = details.map((detail) => textOf(detail.text) || textOf(detail.summary)).join('')
  if (reported !== '') return reported
  return listOf(message.content)
    .map(objectOf)
    .filter((part) => part.type === 'thinking')
    .flatMap((part) => listOf(part.thinking).map((piece) => textOf(objectOf(piece).text)))
    .join('')
}

const chatText = (content: Json | undefined): string =>
  typeof content === 'string'
    ? content
    : listOf(content)
        .map(objectOf)
        .filter((part) => part.type === 'text')
        .map((part) => textOf(part.text))
        .join('')

/**
 * Returns the tool calls of a chat message, including the deprecated `function_call` (some vendors send an empty one).
 */
export function chatCalls(message: JsonObject): { name: string; input: unknown }[] {
  const legacy = objectOf(message.function_call)
  return [
    ...listOf(message.tool_calls)
      .map(objectOf)
      .map((call) =>
        isObject(call.custom) && textOf(call.custom.name) !== ''
          ? { name: textOf(call.custom.name), input: textOf(call.custom.input) }
          : {
              name: textOf(objectOf(call.function).name),
              input: parsedInput(textOf(objectOf(call.function).arguments)),
            },
      ),
    ...(textOf(legacy.name) === ''
      ? []
      : [{ name: textOf(legacy.name), input: parsedInput(textOf(legacy.arguments)) }]),
  ]
}

function chatBody(text: string): ResponseContent | undefined {
  const body = objectOf(parseJson(text))
  const choice = listOf(body.choices).map(objectOf)[0]
  if (choice === undefined) return undefined
  const message = objectOf(choice.message)
  return withUsage(
    {
      text: chatText(message.content),
      refusal: textOf(message.refusal),
      reasoning: chatReasoning(message),
      tools: chatCalls(message),
    },
    chatUsage(body.usage),
  )
}

function chatStream(stream: string, doneOptional: boolean): ResponseContent | undefined {
  let text = ''
  let refusal = ''
  let reasoning = ''
  let details = ''
  let usage: UsageTotals | undefined
  let finished = false
  let done = false
  const calls: { key: string; name: string; input: string; custom: boolean }[] = []
  for (const data of eventData(stream)) {
    if (data.trim() === '[DONE]') {
      done = true
      continue
    }
    const chunk = parseJson(data)
    if (!isObject(chunk) || isObject(chunk.error)) return undefined
    usage = chatUsage(chunk.usage) ?? usage
    for (const choice of listOf(chunk.choices).map(objectOf)) {
      if ((choice.index ?? 0) !== 0) continue
      const delta = objectOf(choice.delta)
      text += chatText(delta.content)
      refusal += textOf(delta.refusal)
      reasoning += chatReasoning({ ...delta, reasoning_details: null })
      details += chatReasoning({ reasoning_details: delta.reasoning_details ?? null })
      if (typeof choice.finish_reason === 'string' && choice.finish_reason !== '') finished = true
      for (const piece of listOf(delta.tool_calls).map(objectOf)) {
        const call = isObject(piece.custom) ? piece.custom : objectOf(piece.function)
        // Without an index, the id identifies the call.
        const key = String(piece.index ?? piece.id ?? calls.length)
        let known = calls.find((candidate) => candidate.key === key)
        if (known === undefined) {
          known = { key, name: '', input: '', custom: isObject(piece.custom) }
          calls.push(known)
        }
        if (known.name === '') known.name = textOf(call.name)
        known.input += textOf(known.custom ? call.input : call.arguments)
      }
    }
  }
  if (!done && !(doneOptional && finished)) return undefined
  const tools = calls.map(({ name, input, custom }) => ({ name, input: custom ? input : parsedInput(input) }))
  // `reasoning_details` may repeat the streamed reasoning, for clients that send it back.
  return withUsage({ text, refusal, reasoning: reasoning || details, tools }, usage)
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

function messagesBody(text: string): ResponseContent | undefined {
  const body = objectOf(parseJson(text))
  if (body.type !== 'message') return undefined
  return withUsage(blocksOf(listOf(body.content).map(objectOf), body.stop_details), messagesUsage(body.usage))
}

function messagesStream(stream: string): ResponseContent | undefined {
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

/** Content of a response, independent of the format: clients of every format must receive it. */
export interface ResponseContent {
  readonly text: string
  readonly refusal: string
  readonly reasoning: string
  readonly tools: readonly { readonly name: string; readonly input: unknown }[]
  readonly usage?: UsageTotals
}
/** Inclusive totals: `input` includes cached input, `output` includes reasoning. */
export interface UsageTotals {
  readonly input: number
  readonly output: number
  readonly cacheRead?: number
  readonly reasoning?: number
}

/** Parses tool input for comparison: JSON is parsed, an empty text means no arguments. */
export const parsedInput = (text: string | undefined): unknown =>
  text === undefined || text.trim() === '' ? {} : (parseJson(text) ?? text)

/** Returns the data of every event of a recorded stream, in order. It deliberately shares no code with the gateway. */
export function eventData(stream: string): string[] {
  return stream
    .replaceAll('\r\n', '\n')
    .split('\n\n')
    .map((block) =>
      block
        .split('\n')
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5).replace(/^ /, ''))
        .join('\n'),
    )
    .filter((data) => data !== '')
}

const withUsage = (answer: Omit<ResponseContent, 'usage'>, usage: UsageTotals | undefined): ResponseContent =>
  usage === undefined ? answer : { ...answer, usage }

/** Gemini counts thoughts separately from candidates, and tool input separately from the prompt. */
function geminiUsage(value: Json | undefined): UsageTotals | undefined {
  const usage = objectOf(value)
  const prompt = numberOf(usage.promptTokenCount)
  if (prompt === undefined) return undefined
  const reasoning = numberOf(usage.thoughtsTokenCount)
  const cacheRead = numberOf(usage.cachedContentTokenCount)
  return {
    input: prompt + (numberOf(usage.toolUsePromptTokenCount) ?? 0),
    output: (numberOf(usage.candidatesTokenCount) ?? 0) + (reasoning ?? 0),
    ...(cacheRead === undefined ? {} : { cacheRead }),
    ...(reasoning === undefined ? {} : { reasoning }),
  }
}

/** Reads the model's parts, of all chunks of a stream in order. */
function partsOf(parts: readonly JsonObject[]): Omit<ResponseContent, 'usage' | 'refusal'> {
  const texts = (thought: boolean): string =>
    parts
      .filter((part) => (part.thought === true) === thought)
      .map((part) => textOf(part.text))
      .join('')
  return {
    text: texts(false),
    reasoning: texts(true),
    tools: callsOf(parts.map((part) => part.functionCall).filter(isObject)),
  }
}

/** Arguments may be streamed as pieces with a path: `$.city` or `$.list[0]`. */
function callsOf(pieces: readonly JsonObject[]): ResponseContent['tools'] {
  const calls: { name: string; input: JsonObject }[] = []
  let goesOn = false
  for (const piece of pieces) {
    if (!goesOn) calls.push({ name: textOf(piece.name), input: {} })
    const input = calls.at(-1)?.input ?? {}
    Object.assign(input, objectOf(piece.args))
    for (const bit of listOf(piece.partialArgs).map(objectOf)) addPiece(input, bit)
    goesOn = piece.willContinue === true
  }
  return calls
}

/** Returns the chunks of a response: events, or one JSON array for older clients. */
const geminiChunks = (answer: string): unknown[] =>
  answer.trimStart().startsWith('[') ? listOf(parseJson(answer)) : eventData(answer).map(parseJson)

function addPiece(input: JsonObject, { jsonPath, stringValue, numberValue, boolValue }: JsonObject): void {
  const steps = (textOf(jsonPath).match(/[^$.[\]'"]+/g) ?? []).map((step) => (/^\d+$/.test(step) ? Number(step) : step))
  const last = steps.pop() ?? ''
  let node: Record<string | number, Json> = input
  for (const [at, step] of steps.entries()) {
    node[step] ??= typeof (steps[at + 1] ?? last) === 'number' ? [] : {}
    node = node[step] as Record<string | number, Json>
  }
  node[last] = stringValue === undefined ? (numberValue ?? boolValue ?? null) : textOf(node[last]) + textOf(stringValue)
}

const plainEndings = new Set(['STOP', 'MAX_TOKENS'])

/**
 * Reads chunks as one response; a whole body is a stream of one chunk. A response is complete with a finish or block
 * reason.
 */
export function readGemini(chunks: readonly unknown[], whole = false): ResponseContent | undefined {
  const parts: JsonObject[] = []
  let usage: UsageTotals | undefined
  let over = false
  let refusal = ''
  for (const chunk of chunks) {
    if (!isObject(chunk) || isObject(chunk.error)) return undefined
    usage = geminiUsage(chunk.usageMetadata) ?? usage
    const feedback = objectOf(chunk.promptFeedback)
    over ||= feedback.blockReason !== undefined
    refusal += textOf(feedback.blockReasonMessage)
    const candidate = listOf(chunk.candidates)
      .map(objectOf)
      .find(({ index }) => (index ?? 0) === 0)
    if (candidate === undefined) continue
    parts.push(...listOf(objectOf(candidate.content).parts).map(objectOf))
    over ||= candidate.finishReason !== undefined
    // With an ordinary finish reason, the message has no meaning (`Model generated function call(s).`).
    if (!plainEndings.has(textOf(candidate.finishReason))) refusal += textOf(candidate.finishMessage)
  }
  // A whole response without a finish reason is complete if it has parts.
  return over || (whole && parts.length > 0) ? withUsage({ ...partsOf(parts), refusal }, usage) : undefined
}

function responsesUsage(value: Json | undefined): UsageTotals | undefined {
  const usage = objectOf(value)
  const input = numberOf(usage.input_tokens)
  const output = numberOf(usage.output_tokens)
  if (input === undefined || output === undefined) return undefined
  const cacheRead = numberOf(objectOf(usage.input_tokens_details).cached_tokens)
  const reasoning = numberOf(objectOf(usage.output_tokens_details).reasoning_tokens)
  return {
    input,
    output,
    ...(cacheRead === undefined ? {} : { cacheRead }),
    ...(reasoning === undefined ? {} : { reasoning }),
  }
}

function itemsOf(items: readonly JsonObject[]): Omit<ResponseContent, 'usage'> {
  const texts = (type: string, list: string, kind: string, key: string): string =>
    items
      .filter((item) => item.type === type)
      .flatMap((item) => listOf(item[list]).map(objectOf))
      .filter((part) => part.type === kind)
      .map((part) => textOf(part[key]))
      .join('')
  return {
    text: texts('message', 'content', 'output_text', 'text'),
    refusal: texts('message', 'content', 'refusal', 'refusal'),
    reasoning:
      texts('reasoning', 'summary', 'summary_text', 'text') + texts('reasoning', 'content', 'reasoning_text', 'text'),
    tools: items.flatMap(callOf),
  }
}

function callOf(item: JsonObject): ResponseContent['tools'] {
  // Tool names are unique only within their namespace.
  const name = typeof item.namespace === 'string' ? `${item.namespace}__${item.name}` : textOf(item.name)
  if (item.type === 'function_call') return [{ name, input: parsedInput(textOf(item.arguments)) }]
  if (item.type === 'custom_tool_call') return [{ name, input: textOf(item.input) }]
  // Only a search that the client executes is a tool call; the server's own searches are not.
  if (item.type === 'tool_search_call' && item.execution === 'client')
    return [{ name: 'tool_search', input: item.arguments ?? {} }]
  return []
}

const unfinished = new Set(['failed', 'cancelled', 'queued', 'in_progress'])

export function readResponsesBody(value: unknown): ResponseContent | undefined {
  const body = objectOf(value)
  if (!Array.isArray(body.output) || unfinished.has(textOf(body.status))) return undefined
  return withUsage(itemsOf(listOf(body.output).map(objectOf)), responsesUsage(body.usage))
}

/**
 * Reads the last event, which repeats the whole response. Some servers leave it empty and send the items one by one.
 */
function readResponsesStream(stream: string): ResponseContent | undefined {
  const items: JsonObject[] = []
  let answer: JsonObject | undefined
  for (const data of eventData(stream)) {
    const event = objectOf(parseJson(data))
    if (event.type === 'error' || event.type === 'response.failed') return undefined
    if (event.type === 'response.output_item.done') items.push(objectOf(event.item))
    if (event.type === 'response.completed' || event.type === 'response.incomplete') answer = objectOf(event.response)
  }
  if (answer === undefined) return undefined
  return readResponsesBody(listOf(answer.output).length > 0 ? answer : { ...answer, output: items })
}

/** Reads a whole response of Ollama, or the objects of a stream. A response is complete with `done`. */
export function readOllama(chunks: readonly unknown[]): ResponseContent | undefined {
  const objects = chunks.map(objectOf)
  const last = objects.at(-1)
  if (last?.done !== true) return undefined
  const messages = objects.map(({ message }) => objectOf(message))
  const texts = (key: string): string => messages.map((message) => textOf(message[key])).join('')
  const input = numberOf(last.prompt_eval_count)
  const output = numberOf(last.eval_count)
  return {
    text: texts('content'),
    // There is no field for a refusal.
    refusal: '',
    reasoning: texts('thinking'),
    tools: messages.flatMap(({ tool_calls }) =>
      listOf(tool_calls)
        .map((call) => objectOf(objectOf(call).function))
        .map((call) => ({ name: textOf(call.name), input: call.arguments ?? {} })),
    ),
    ...(input === undefined || output === undefined ? {} : { usage: { input, output } }),
  }
}
