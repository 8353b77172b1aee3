import type { Json, JsonObject } from '../../base/json.ts'
import { tokenize } from '../../base/tokens.ts'
import type { Prompt } from '../../contract/prompt.ts'
import type { UsageNumbers } from '../../contract/script.ts'
import { dataPiece, type Piece } from '../../wire/piece.ts'
import type { Answer, AnswerChoice, Block } from '../answer.ts'

/** Style of a response. */
export interface ChatStyle {
  /** Field that shows reasoning; undefined: reasoning is only counted. */
  readonly reasoningField: 'reasoning_content' | 'reasoning' | undefined
}

const finishWords: Readonly<Record<string, string>> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'tool_calls',
  'stop-sequence': 'stop',
  // A model's own refusal has the ordinary finish reason; only a content filter has another one.
  refusal: 'stop',
  'content-filter': 'content_filter',
  pause: 'stop',
}
const finishOf = (choice: AnswerChoice): string => finishWords[choice.finish] ?? choice.finish

const fingerprint = 'fp_fa4e0de1ab'
const tier = 'default'

const usageOf = (usage: UsageNumbers): JsonObject => ({
  prompt_tokens: usage.input,
  completion_tokens: usage.output,
  total_tokens: usage.input + usage.output,
  prompt_tokens_details: { cached_tokens: usage.cacheRead, audio_tokens: 0 },
  completion_tokens_details: {
    reasoning_tokens: usage.reasoning,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
})

const textOf = (blocks: readonly Block[], type: 'text' | 'refusal' | 'thinking'): string | null => {
  const found = blocks.flatMap((block) => (block.type === type && 'text' in block ? [block.text] : []))
  return found.length === 0 ? null : found.join('')
}

type Call = Extract<Block, { type: 'tool-call' }>
const callsOf = (blocks: readonly Block[]): Call[] => blocks.filter((block) => block.type === 'tool-call')

/** Returns the JSON response. */
export function chatBody(answer: Answer, prompt: Prompt, style: ChatStyle): JsonObject {
  return {
    id: answer.id,
    object: 'chat.completion',
    created: answer.created,
    model: answer.model,
    choices: answer.choices.map((choice, index) => {
      const calls = callsOf(choice.blocks)
      const refusal = textOf(choice.blocks, 'refusal')
      const thinking = textOf(choice.blocks, 'thinking')
      const text = textOf(choice.blocks, 'text')
      const content = text ?? (calls.length > 0 || refusal !== null ? null : '')
      return {
        index,
        message: {
          role: 'assistant',
          content,
          ...(style.reasoningField && thinking !== null ? { [style.reasoningField]: thinking } : {}),
          ...(calls.length > 0 ? { tool_calls: calls.map(callBody) } : {}),
          refusal,
          annotations: [],
        },
        logprobs: logprobsOf(content ?? '', prompt.logprobs),
        finish_reason: finishOf(choice),
      }
    }),
    usage: usageOf(answer.usage),
    service_tier: tier,
    system_fingerprint: fingerprint,
  }
}

const callBody = (call: Call): JsonObject =>
  call.custom
    ? { id: call.id, type: 'custom', custom: { name: call.name, input: call.input } }
    : { id: call.id, type: 'function', function: { name: call.name, arguments: call.input } }

export function logprobsOf(text: string, alternatives: number | undefined): JsonObject | null {
  return alternatives === undefined
    ? null
    : { content: tokenize(text).map((token) => logprobOf(token, alternatives)), refusal: null }
}

/** Returns plausible log probabilities: the same token always gets the same numbers. */
export function logprobOf(token: string, alternatives: number): JsonObject {
  const entry = (text: string, rank: number): JsonObject => ({
    token: text,
    logprob: -(0.01 + (text.length % 7) * 0.05 + rank * 1.25),
    bytes: [...new TextEncoder().encode(text)],
  })
  const others = [' maybe', ' well', ' so', ' then', ' and'].slice(0, Math.max(0, alternatives - 1))
  const top = alternatives > 0 ? [token, ...others].map(entry) : []
  return { ...entry(token, 0), top_logprobs: top }
}

/** Yields the stream, including `[DONE]`. */
export function* chatEvents(answer: Answer, prompt: Prompt, style: ChatStyle): Generator<Piece> {
  const chunk = (choices: Json[], usage: JsonObject | null = null): JsonObject => ({
    id: answer.id,
    object: 'chat.completion.chunk',
    created: answer.created,
    model: answer.model,
    service_tier: tier,
    system_fingerprint: fingerprint,
    choices,
    // The key exists only if usage was requested: null until the last chunk.
    ...(prompt.includeUsage ? { usage } : {}),
  })
  for (const [index, choice] of answer.choices.entries()) {
    const part = (delta: JsonObject, logprobs: JsonObject | null = null, finish: string | null = null): JsonObject =>
      chunk([{ index, delta, logprobs, finish_reason: finish }])
    yield* choiceEvents(choice, prompt, style, part)
    yield dataPiece(part({}, null, finishOf(choice)))
  }
  if (prompt.includeUsage) yield dataPiece(chunk([], usageOf(answer.usage)))
  yield dataPiece('[DONE]')
}

function* choiceEvents(
  choice: AnswerChoice,
  prompt: Prompt,
  style: ChatStyle,
  part: (delta: JsonObject, logprobs?: JsonObject | null) => JsonObject,
): Generator<Piece> {
  const calls = callsOf(choice.blocks)
  const spoken = choice.blocks.filter(
    (block) => block.type === 'text' || block.type === 'refusal' || (block.type === 'thinking' && style.reasoningField),
  )
  const toolFirst = spoken.length === 0 && calls.length > 0
  // A single call that comes first is in the role chunk, as recorded.
  const riding = toolFirst && calls.length === 1 ? calls[0] : undefined
  yield dataPiece(
    part({
      role: 'assistant',
      content: toolFirst ? null : '',
      ...(riding ? { tool_calls: [callStart(riding, 0)] } : {}),
      refusal: null,
    }),
  )
  for (const block of spoken) {
    if (block.type !== 'text' && block.type !== 'refusal' && block.type !== 'thinking') continue
    for (const token of tokenize(block.text)) {
      if (block.type === 'thinking')
        yield dataPiece(part({ [style.reasoningField ?? 'reasoning_content']: token }), true)
      else if (block.type === 'refusal') yield dataPiece(part({ refusal: token }), true)
      else yield dataPiece(part({ content: token }, logprobsOf(token, prompt.logprobs)), true)
    }
  }
  for (const [index, call] of calls.entries()) {
    if (call !== riding) yield dataPiece(part({ tool_calls: [callStart(call, index)] }))
    for (const token of argumentPieces(call.input)) {
      const fragment: JsonObject = call.custom ? { custom: { input: token } } : { function: { arguments: token } }
      yield dataPiece(part({ tool_calls: [{ index, ...fragment }] }), true)
    }
  }
}

const callStart = (call: Call, index: number): JsonObject =>
  call.custom
    ? { index, id: call.id, type: 'custom', custom: { name: call.name, input: '' } }
    : { index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }

/** Cuts arguments into fragments that ignore JSON tokens, as in recorded streams. */
export const argumentPieces = (input: string): string[] => input.match(/[\s\S]{1,7}/gu) ?? []
