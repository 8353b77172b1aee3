import { isObject, type Json, type JsonObject, listOf, numberOf, objectOf, parseJson, textOf } from '../json.ts'
import { eventData, parsedInput, type ResponseContent, type UsageTotals, withUsage } from './content.ts'

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

export function chatBody(text: string): ResponseContent | undefined {
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

export function chatStream(stream: string, doneOptional: boolean): ResponseContent | undefined {
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
